"""The tree of exceptions: base classes, attributes, pickling and copying."""

import copy
import pickle
from typing import Any

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


@for_each("kind", CLASSES)
def test_every_error_carries_its_context_and_travels(kind: Any) -> None:
    bare = kind()
    assert (bare.message, str(bare), bare.errors, bare.attempts) == ("", "", (), 0)
    assert (bare.operation, bare.code, bare.status, bare.retry_after) == (None, None, None, None)
    error = kind("it failed", **CONTEXT)
    assert isinstance(error, errors.BrokerageError)
    assert {name: getattr(error, name) for name in CONTEXT} == CONTEXT
    assert error.message == "it failed"
    assert str(error) == "orders.submit: it failed\n  - first\n  - legs[0].quantity: second"
    error.add_note("seen at noon")
    protocols = range(pickle.HIGHEST_PROTOCOL + 1)
    pickled = [pickle.loads(pickle.dumps(error, protocol)) for protocol in protocols]
    for again in (*pickled, copy.copy(error), copy.deepcopy(error)):
        assert (type(again), str(again), again.args) == (kind, str(error), error.args)
        assert again.__dict__ == error.__dict__


@for_each("kind", [kind for kind in CLASSES if issubclass(kind, errors.APIError)])
@for_each("from_service", [True, False])
@for_each("status", [None, 200, 302, *range(400, 430), 451, 499, 503])
def test_only_a_documented_refusal_proves_that_nothing_changed(kind: Any, from_service: bool, status: Any) -> None:
    refusal = from_service and status in (400, 401, 403, 404, 406, 422)
    proven = (refusal or status == 429) and kind is not errors.ServerError
    assert kind("x", status=status, from_service=from_service).maybe_processed is not proven


def test_what_became_of_a_request_is_assumed_or_told_and_details_are_values() -> None:
    lost = (errors.TransportError, errors.ResponseLostError, errors.DeadlineExceededError)
    assert [kind("x").maybe_processed for kind in lost] == [True] * 3
    assert [kind("x", maybe_processed=None).maybe_processed for kind in lost] == [True] * 3  # unknown is no proof
    own = {"retry-after": "1"}
    assert errors.APIError("x", headers=own).headers is not own
    assert errors.RequestNotSentError("x").maybe_processed is False
    error = errors.DeadlineExceededError("x", maybe_processed=False, attempts=0)
    assert error.maybe_processed is pickle.loads(pickle.dumps(error)).maybe_processed is False
    assert errors.APIError("x", status=403).from_service is False
    found = errors.NotFoundError("no such order", status=404, code="record_not_found", from_service=True)
    again = pickle.loads(pickle.dumps(found))
    assert again.from_service is True
    assert repr(again) == "NotFoundError('no such order', status=404, code='record_not_found', from_service=True)"
    assert errors.TokenError("x").transient is False
    assert errors.TokenError("x", transient=True).transient is True
    assert errors.ResponseDecodeError("x", json_path="$.data").json_path == "$.data"
    assert errors.UnprocessableError("x", data={"order": 1}).data == {"order": 1}
    unknown = errors.OrderOutcomeUnknownError("x", account_number="5WT00001", external_identifier="e-1", attempts=1)
    assert (unknown.account_number, unknown.external_identifier, unknown.attempts) == ("5WT00001", "e-1", 1)
    assert pickle.loads(pickle.dumps(unknown)).external_identifier == "e-1"
    assert str(errors.ErrorDetail("a", "first", "price")) == "price: first"
    assert (str(errors.ErrorDetail("a", None, "price")), str(errors.ErrorDetail("a"))) == ("price: a", "a")
    assert str(errors.ErrorDetail()) == "unspecified"
    assert {errors.ErrorDetail("a"), errors.ErrorDetail("a")} == {errors.ErrorDetail("a")}
    assert errors.BrokerageError("x", errors=[errors.ErrorDetail("a")]).errors == (errors.ErrorDetail("a"),)
