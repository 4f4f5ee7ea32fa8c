"""The tree of exceptions: base classes, attributes, pickling and copying."""

import copy
import pickle
from typing import Any

import pytest

from brokerage_async import errors
from tests.tables import for_each

CLASSES = [getattr(errors, name) for name in errors.__all__ if name != "ErrorDetail"]
CONTEXT = {
    "operation": "orders.submit",
    "method": "POST",
    "path": "/accounts/{account_number}/orders",
    "attempts": 2,
    "code": "some_code",
    "status": 499,
    "errors": (errors.ErrorDetail("a", "first"), errors.ErrorDetail("b", "second", "legs[0].quantity")),
    "retry_after": 1.5,
}


@for_each(
    "parent, children",
    [
        (errors.BrokerageError, {
            "ConfigurationError", "InvalidRequestError", "TransportError", "IncompleteFetchError",
            "ResponseDecodeError", "TokenError", "APIError", "OrderError", "StreamError",
        }),
        (errors.StreamError, {"StreamRefusedError", "MessageTooLargeError", "SlowConsumerError"}),
        (errors.TransportError, {"RequestNotSentError", "ResponseLostError", "DeadlineExceededError"}),
        (errors.APIError, {
            "BadRequestError", "AuthenticationError", "PermissionDeniedError", "NotFoundError",
            "VersionNotSupportedError", "UnprocessableError", "RateLimitError", "ServerError",
        }),
        (errors.UnprocessableError, {"PreflightError", "OrderNotCancellableError"}),
    ],
)  # fmt: skip
def test_the_tree(parent: Any, children: Any) -> None:
    assert {child.__name__ for child in parent.__subclasses__() if child.__module__ == errors.__name__} == children


@pytest.mark.parametrize("kind", CLASSES)
class TestEveryError:
    def test_carries_its_context(self, kind: Any) -> None:
        error = kind("it failed", **CONTEXT)
        assert {name: getattr(error, name) for name in CONTEXT} == CONTEXT
        assert error.message == "it failed"
        assert str(error) == "orders.submit: it failed\n  - first\n  - legs[0].quantity: second"

    def test_needs_no_context(self, kind: Any) -> None:
        error = kind()
        assert (error.message, str(error), error.errors, error.attempts) == ("", "", (), 0)
        assert (error.operation, error.code, error.status, error.retry_after) == (None, None, None, None)

    @for_each("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_survives_pickling(self, kind: Any, protocol: int) -> None:
        error = kind("it failed", **CONTEXT)
        error.add_note("seen at noon")
        again = pickle.loads(pickle.dumps(error, protocol))
        assert type(again) is kind
        assert (str(again), again.args, again.__dict__) == (str(error), error.args, error.__dict__)

    def test_survives_copying(self, kind: Any) -> None:
        error = kind("it failed", **CONTEXT)
        for again in (copy.copy(error), copy.deepcopy(error)):
            assert (type(again), str(again), again.__dict__) == (kind, str(error), error.__dict__)

    def test_is_caught_as_a_brokerage_error(self, kind: Any) -> None:
        with pytest.raises(errors.BrokerageError):
            raise kind("it failed")


class TestMaybeProcessed:
    @for_each(
        "kind, expected",
        [
            (errors.TransportError, True),
            (errors.RequestNotSentError, False),
            (errors.ResponseLostError, True),
            (errors.DeadlineExceededError, True),
        ],
    )
    def test_is_assumed_unless_known_otherwise(self, kind: Any, expected: bool) -> None:
        assert kind("x").maybe_processed is expected

    def test_can_be_told(self) -> None:
        error = errors.DeadlineExceededError("x", maybe_processed=False, attempts=0)
        assert error.maybe_processed is False
        assert pickle.loads(pickle.dumps(error)).maybe_processed is False


class TestFromService:
    def test_is_false_unless_known_otherwise(self) -> None:
        assert errors.APIError("x", status=403).from_service is False

    def test_survives_pickling_and_shows_in_the_repr(self) -> None:
        error = errors.NotFoundError("no such order", status=404, code="record_not_found", from_service=True)
        again = pickle.loads(pickle.dumps(error))
        assert again.from_service is True
        assert repr(again) == "NotFoundError('no such order', status=404, code='record_not_found', from_service=True)"

    @for_each("kind", [kind for kind in CLASSES if issubclass(kind, errors.APIError)])
    @for_each("from_service", [True, False])
    @for_each("status", [None, 200, 302, *range(400, 430), 451, 499, 503])
    def test_only_a_documented_refusal_proves_that_nothing_changed(
        self, kind: Any, from_service: bool, status: Any
    ) -> None:
        refusal = from_service and status in (400, 401, 403, 404, 406, 422)
        proven = (refusal or status == 429) and kind is not errors.ServerError
        assert kind("x", status=status, from_service=from_service).maybe_processed is not proven


def test_errors_carry_details_as_values() -> None:
    assert errors.TokenError("x").transient is False
    assert errors.TokenError("x", transient=True).transient is True
    assert errors.ResponseDecodeError("x", json_path="$.data").json_path == "$.data"
    assert errors.UnprocessableError("x", data={"order": 1}).data == {"order": 1}
    unknown = errors.OrderOutcomeUnknownError("x", account_number="5WT00001", external_identifier="e-1", attempts=1)
    assert (unknown.account_number, unknown.external_identifier, unknown.attempts) == ("5WT00001", "e-1", 1)
    assert pickle.loads(pickle.dumps(unknown)).external_identifier == "e-1"
    assert str(errors.ErrorDetail("a", "first", "price")) == "price: first"
    assert str(errors.ErrorDetail("a", None, "price")) == "price: a"
    assert str(errors.ErrorDetail("a")) == "a"
    assert str(errors.ErrorDetail()) == "unspecified"
    assert {errors.ErrorDetail("a"), errors.ErrorDetail("a")} == {errors.ErrorDetail("a")}
    assert errors.BrokerageError("x", errors=[errors.ErrorDetail("a")]).errors == (errors.ErrorDetail("a"),)
