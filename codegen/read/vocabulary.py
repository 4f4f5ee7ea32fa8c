"""Vocabulary of the schema files: ``x-`` keys, their values, and the form of names."""

from ..naming import has_form
from .document import Document, Node

WIRE_FORMS = (
    "integer", "number", "string", "epoch-ms", "epoch-day", "zero", "nan", "non-finite", "empty", "date-text", "loose",
    "minus-one", "mapping",
)  # fmt: skip

#: Forms of property names, by the value of ``x-keys`` in their file.
KEYS = {
    "dashes": "lower-case words joined by dashes",
    "underscores": "lower-case words joined by underscores",
    "camel-case": "words joined by capitals",
}

#: The keys with a fixed set of values, and all keys.
_CHOICES = {
    "x-effect": ("read", "preflight", "mutate"),
    "x-scope": ("read", "trade"),
    "x-provenance": ("documented", "recorded", "published", "client", "library"),
    "x-result": ("one", "many"),
    "x-keys": tuple(KEYS),
    **dict.fromkeys(
        ("x-always", "x-open-enum", "x-ignore-case", "x-paginated", "x-flatten-body", "x-shared", "x-personal"), (True,)
    ),
}
EXTENSIONS = {
    *_CHOICES, "x-aliases", "x-body-name", "x-caps", "x-default-start", "x-enum-varnames", "x-environments",
    "x-every-response", "x-examples", "x-host", "x-hosts", "x-identity", "x-links", "x-observed", "x-page-size",
    "x-path", "x-python-name", "x-restates", "x-rules", "x-section", "x-service-rules", "x-takes", "x-transitions",
    "x-version", "x-wire",
}  # fmt: skip


def provenance_of(node: Node, owner: Node | None = None) -> str:
    """Return the provenance of a node: its own, else its owner's, else ``documented``."""
    inherited = "documented" if owner is None else provenance_of(owner)
    return str(node.members.get("x-provenance", inherited))


def check_section(node: Node) -> None:
    """Record a documented operation or component without the section that describes it."""
    if not node.string("x-section") and provenance_of(node) == "documented":
        node.problem("x-section is missing: name the section of the service document, or set x-provenance")


def check_vocabulary(document: Document) -> None:
    """Record unknown ``x-`` keys, values outside their set, and invalid names."""
    for node in document.objects():
        if node.path and node.path[-1] == "properties":
            keys = node.document.root(node.file).string("x-keys")
            form = keys if keys in KEYS else "dashes"
            for name in node.members:
                if not has_form(form, str(name)):
                    node.problem(f"property must be {KEYS[form]}, got {name!r}")
        elif not node.path or node.path[-1] not in ("schemas", "paths", "parameters", "responses", "callbacks"):
            _check_extensions(node)
        if node.reference() is not None:
            document.resolve(node, node.value["$ref"])
    for file in document.files:
        schemas = document.root(file).get("schemas")
        for name in schemas.value if schemas else ():
            if schemas and not has_form("component", str(name)):
                schemas.problem(f"component name must be a class name such as OrderLeg, got {name!r}")


def _check_extensions(node: Node) -> None:
    for key, value in node.members.items():
        if not isinstance(key, str) or not key.startswith("x-"):
            continue
        if key not in EXTENSIONS:
            node.problem(f"unknown key {key!r}: the x- keys are {', '.join(sorted(EXTENSIONS))}")
        elif key in _CHOICES and value not in _CHOICES[key]:
            node.problem(f"{key} must be one of {', '.join(map(str, _CHOICES[key]))}, got {value!r}")
        elif key == "x-wire":
            for form in value if isinstance(value, list) else [value]:
                if form not in WIRE_FORMS:
                    node.problem(f"x-wire must list forms out of {', '.join(WIRE_FORMS)}, got {form!r}")
