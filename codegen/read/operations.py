"""Reader of the paths of the schema: one Operation per path and method."""

import re
from datetime import date

from ..naming import has_form, snake
from ..spec import Enum, Model, Operation, Parameter
from .document import Node
from .rules import read_rules
from .types import read_type
from .vocabulary import check_section, provenance_of

#: Python types of the items of a bare array that are not components.
SCALAR_RESULTS = {"string": "str"}
METHODS = ("get", "post", "put", "patch", "delete")


def read_operations(root: Node, models: dict[str, Model], enums: dict[str, Enum]) -> tuple[Operation, ...]:
    """Return all operations in path order."""
    operations: list[Operation] = []
    for path, item in root.items("paths"):
        if item.members.get("x-path", path) != path:
            item.problem(f"x-path must be {path!r}, the path in openapi.yaml, got {item.members['x-path']!r}")
        for method, node in item.items():
            if method == "x-path":
                continue
            if method not in METHODS:
                item.problem(f"method must be one of {', '.join(METHODS)}, got {method!r}")
                continue
            operation = _read_operation(path, method, node, models)
            if any(operation.name == other.name for other in operations):
                node.problem(f"duplicate operationId {operation.name!r}")
            operations.append(operation)
    listed = {*models, *enums}
    for operation in operations:
        for used in (operation.result, operation.body, *(parameter.type.name for parameter in operation.parameters)):
            if used is not None and used not in {*listed, *SCALAR_RESULTS.values()}:
                root.problem(f"components.schemas must list {used!r}, used by {operation.name}")
    for model in models.values():
        for field in model.fields:
            if field.type.name is not None and field.type.name not in listed:
                root.problem(f"components.schemas must list {field.type.name!r}, used by {model.name}")
    return tuple(operations)


def _read_operation(path: str, method: str, node: Node, models: dict[str, Model]) -> Operation:
    name = node.string("operationId")
    if not has_form("operation", name):
        node.problem(f"operationId must have the form namespace.method, got {name!r}")
        name = f"unnamed.{method}_{snake(path)}"
    for key in ("summary", "x-effect"):
        if not node.string(key):
            node.problem(f"{key} is missing")
    check_section(node)
    parameters = _read_parameters(path, node)
    statuses = [status for status, _ in node.items("responses")]
    status, shape, result, returns = _read_result(node)
    identity = models[result].identity if result in models and shape in ("page", "many") else None
    if shape == "page" and identity is None:
        node.problem(f"{result} needs x-identity, because its lists come in pages: [] if nothing identifies a row")
    body = None
    if (request := node.get("requestBody")) is not None:
        schema = json_schema(request)
        body = None if schema is None else schema.component
        if body is None:
            request.problem("content.application/json.schema must be a $ref to a component")
    if node.members.get("x-flatten-body") and body in models and any(field.required for field in models[body].fields):
        node.problem(f"x-flatten-body requires optional fields only: {body} has required ones")
    host = node.members.get("x-host")
    if host is not None and host not in node.document.root().members.get("x-hosts", {}):
        node.problem(f"x-host must be listed in x-hosts of openapi.yaml, got {host!r}")
    return Operation(
        name=name,
        method=method.upper(),
        path=path,
        summary=node.string("summary"),
        description=node.string("description"),
        section=node.string("x-section"),
        effect=node.string("x-effect"),
        scope=node.members.get("x-scope"),
        shape=shape,
        result=result,
        returns=returns,
        status=status,
        errors=tuple(sorted(int(each) for each in statuses if each.isdigit() and int(each) >= 400)),
        parameters=parameters,
        body=body,
        body_name=node.string("x-body-name", "body"),
        body_required=bool(body and request and request.members.get("required")),
        flatten_body=bool(node.members.get("x-flatten-body")),
        rules=read_rules(node, {parameter.wire for parameter in parameters}),
        service_rules=read_rules(node, {parameter.wire for parameter in parameters}, "x-service-rules"),
        identity=identity or (),
        production_only=node.members.get("x-environments") == ["production"],
        host=host,
        deprecated=node.members.get("deprecated") is True,
        is_public={} in node.members.get("security", ()),
        provenance=provenance_of(node),
        version=_read_date(node, "x-version"),
        page_size=node.members.get("x-page-size"),
        one_or_many="x-result" in node.members,
        default_start=_read_date(node, "x-default-start"),
    )


def _read_date(node: Node, key: str) -> str | None:
    """Return a date that is written as a string, such as ``"20261012"``."""
    value = node.members.get(key)
    if value is not None:
        try:
            date.fromisoformat(value)
        except (TypeError, ValueError):
            node.problem(f"{key} must be a date in quotes, got {value!r}")
    return None if value is None else str(value)


def _read_parameters(path: str, node: Node) -> tuple[Parameter, ...]:
    parameters = []
    for written in node.elements("parameters"):
        wire = written.string("name")
        schema = written.unresolved("schema")
        location = written.string("in")
        if location not in ("path", "query"):
            written.problem(f"in must be path or query, got {location!r}")
        if schema is None:
            written.problem("schema is missing")
            continue
        if not written.string("description"):
            written.problem("description is missing")
        parameter = Parameter(
            name=written.string("x-python-name") or snake(wire),
            wire=wire,
            location=location,
            type=read_type(schema),
            description=written.string("description"),
            required=bool(written.members.get("required")),
            provenance=provenance_of(written, node),
            joined=written.members.get("explode") is False,
        )
        if parameter.type.kind in ("model", "object"):
            schema.problem(f"unsupported kind {parameter.type.kind} for a parameter")
        if parameter.joined and (not parameter.type.array or location != "query"):
            written.problem("explode: false requires an array in the query")
        if wire.endswith("[]") != (parameter.type.array and not parameter.joined):
            written.problem("name must end in [] for an array with a repeated key, and for nothing else")
        parameters.append(parameter)
    in_path = {parameter.wire for parameter in parameters if parameter.location == "path"}
    for missing in sorted(set(re.findall(r"{([^}]+)}", path)) ^ in_path):
        node.problem(f"{missing!r} must be both in the path {path} and among its parameters")
    return tuple(parameters)


def json_schema(node: Node) -> Node | None:
    """Return the schema of the JSON content of a request body or response, if any."""
    return node.get("content", "application/json", "schema")


def _read_result(node: Node) -> tuple[int, str, str | None, str]:
    """Return status, shape, model and description of the success response."""
    successes = [(status, success) for status, success in node.items("responses") if status[:1] == "2"]
    if not successes:
        node.problem("must have a success response")
        return 200, "none", None, ""
    status, success = successes[0]
    if any(other.members.get("content") != success.members.get("content") for _, other in successes):
        node.problem("success responses must have the same content")
    returns = success.string("description")
    schema = json_schema(success)
    if schema is None:
        return int(status), "none", None, returns
    if schema.component is not None:
        return int(status), "bare", schema.component, returns
    if schema.string("type") == "array":
        items = schema.get("items")
        found = None if items is None else items.component or SCALAR_RESULTS.get(items.string("type"))
        if found is None:
            schema.problem(f"items must be a $ref to a component, or of type {', '.join(SCALAR_RESULTS)}")
        return int(status), "bare_many", found, returns
    read = [read_envelope(form) for form in [*schema.elements("oneOf")] or [schema]]
    shapes = {shape for shape, _ in read}
    result = next((name for _, name in read if name), None)
    if len({name for _, name in read}) != 1:
        schema.problem("alternatives must contain the same model")
    if len(read) > 1 and node.members.get("x-result") is None:
        node.problem("x-result is missing: choose one or many for a response with alternatives")
    shape = node.members.get("x-result") or ("page" if node.members.get("x-paginated") else next(iter(shapes)))
    if ("page" in shapes) != bool(node.members.get("x-paginated")):
        node.problem("x-paginated and PageEnvelope must be used together")
    return int(status), str(shape), result, returns


def read_envelope(form: Node) -> tuple[str, str | None]:
    """Return the shape of an answer in an envelope, and its component."""
    kinds = {"ItemEnvelope": "one", "ListEnvelope": "many", "PageEnvelope": "page"}
    envelope = next((node.component for node in form.elements("allOf")), None)
    data = form.get("properties", "data")
    if envelope not in kinds or data is None:
        form.problem(f"must be a component, or allOf one of {', '.join(kinds)} with properties.data")
        return "one", None
    if envelope != "ItemEnvelope":
        data = data.get("properties", "items", "items")
    if data is None or data.component is None:
        form.problem("data must contain a $ref to a component")
        return kinds[envelope], None
    return kinds[envelope], data.component
