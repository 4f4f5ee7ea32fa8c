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
    """Return a model with one field for each nested model."""
    fields = tuple(
        Field(name=each.lower(), wire=each.lower(), type=Type(kind="model", name=each), description="")
        for each in nested
    )
    return Model(name=name, description="", section="", fields=fields)


def test_request_models_nested_models_come_first_and_once() -> None:
    submit = operation("orders.submit", None)
    assert (submit.namespace, submit.python_name) == ("orders", "submit")
    models = [model("Order", "Leg", "Rule"), model("Leg"), model("Rule", "Leg"), model("Answer"), model("Edit", "Leg")]
    spec = Spec(
        models={each.name: each for each in models},
        enums={},
        operations=(
            operation("a.a", "Order"),
            operation("a.b", None),
            operation("a.c", "Edit"),
            operation("a.d", "Order"),
        ),
        namespaces={},
        digest="",
    )
    assert [each.name for each in spec.request_models()] == ["Leg", "Rule", "Order", "Edit"]
    spec = Spec(
        models={"Tree": model("Tree", "Tree")},
        enums={},
        operations=(operation("a.a", "Tree"),),
        namespaces={},
        digest="",
    )
    assert [each.name for each in spec.request_models()] == ["Tree"]
    assert [each.name for each in load(TOY).request_models()] == ["NewLabel", "NewPlant", "BedEdit"]
