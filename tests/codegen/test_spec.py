"""The schema as plain values."""

from codegen.read.load import load
from codegen.spec import Field, Model, Operation, Spec, Type
from tests.codegen.support import TOY


def operation(name: str, body: str | None) -> Operation:
    """Return an operation with a body and nothing else of interest."""
    return Operation(
        name=name, method="POST", path="/", summary="", description="", section="", effect="mutate", scope=None,
        shape="none", result=None, returns="", status=200, errors=(), parameters=(), body=body,
    )  # fmt: skip


def model(name: str, *nested: str) -> Model:
    fields = tuple(
        Field(name=each.lower(), wire=each.lower(), type=Type(kind="model", name=each), description="")
        for each in nested
    )
    return Model(name=name, description="", section="", fields=fields)


def request_models(models: list[Model], *bodies: str | None) -> list[str]:
    operations = tuple(operation(f"a.{number}", body) for number, body in enumerate(bodies))
    spec = Spec(models={each.name: each for each in models}, enums={}, operations=operations, namespaces={}, digest="")
    return [each.name for each in spec.request_models()]


def test_request_models_nested_models_come_first_and_once() -> None:
    submit = operation("orders.submit", None)
    assert (submit.namespace, submit.python_name) == ("orders", "submit")
    models = [model("Order", "Leg", "Rule"), model("Leg"), model("Rule", "Leg"), model("Answer"), model("Edit", "Leg")]
    assert request_models(models, "Order", None, "Edit", "Order") == ["Leg", "Rule", "Order", "Edit"]
    assert request_models([model("Tree", "Tree")], "Tree") == ["Tree"]
    assert [each.name for each in load(TOY).request_models()] == ["NewLabel", "NewPlant", "BedEdit"]
