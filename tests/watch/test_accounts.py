"""Lists of several accounts as one stream, over a transport that answers from a script, on the virtual clock."""

import asyncio
import json
import logging
from datetime import timedelta
from typing import Any

import pytest

from brokerage_async import Client, errors
from brokerage_async.models import AccountBalance, Position
from brokerage_async.protocol.request import Request
from brokerage_async.protocol.response import Response
from brokerage_async.watch import (
    AccountsWatcher,
    BalanceKey,
    Change,
    PositionKey,
    WatchStateError,
)
from tests.fake_transport import FakeTransport, fail, ok
from tests.watch.memory_state import MemoryState
from tests.watch.scripted_service import NOON, quiet

pytestmark = pytest.mark.virtual_time

AAPL, SPY = PositionKey("A1", "AAPL", "Equity"), PositionKey("B2", "SPY", "Equity")


class Accounts(FakeTransport):
    """Answers for each account with its rows, a status, or after seconds."""

    def __init__(self) -> None:
        super().__init__(self._answer)
        self.rows: dict[str, Any] = {"A1": [position("A1", "AAPL")], "B2": [position("B2", "SPY")]}
        self.asked: dict[str, list[float]] = {}
        self.targets: list[str] = []
        self.most_at_once = self._at_once = 0

    async def send(self, request: Request) -> Response:
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            account = request.url.split("/accounts/")[1].split("/")[0]
            if isinstance(seconds := self.rows.get(account), float):
                self.targets.append(request.url)
                await asyncio.sleep(seconds)
                return ok({"items": []})
            return await super().send(request)
        finally:
            self._at_once -= 1

    def _answer(self, request: Request) -> Response:
        account = request.url.split("/accounts/")[1].split("/")[0]
        self.asked.setdefault(account, []).append(self.times[-1])
        self.targets.append(request.url)
        answer = self.rows[account]
        return fail(answer, f"code_{answer}") if isinstance(answer, int) else ok({"items": answer})


def position(account: str, symbol: str, quantity: str = "10", **fields: Any) -> dict[str, Any]:
    return {
        "account-number": account, "symbol": symbol, "instrument-type": "Equity", "quantity": quantity,
        "updated-at": f"2026-03-02T12:00:0{quantity[0]}Z", **fields,
    }  # fmt: skip


def balance(account: str, cash: str, **fields: Any) -> dict[str, Any]:
    return {"account-number": account, "currency": "USD", "cash-balance": cash, **fields}


@pytest.fixture
def service() -> Accounts:
    return Accounts()


def brief(change: Change[Any]) -> tuple[str, Any, tuple[str, ...]]:
    return change.kind, change.key, change.fields


async def take(watcher: AccountsWatcher[Any], count: int) -> list[tuple[str, Any, tuple[str, ...]]]:
    return [brief(await anext(watcher)) for _ in range(count)]


async def test_positions_of_several_accounts_are_one_stream(service: Accounts, client: Client) -> None:
    async with client.watch.positions(["A1", "B2", "A1"], interval=2) as watcher:
        assert sorted(await take(watcher, 2)) == [("added", AAPL, ()), ("added", SPY, ())]
        service.rows["A1"] = [position("A1", "AAPL", "7"), position("A1", "TSLA")]
        assert await take(watcher, 2) == [
            ("changed", AAPL, ("quantity", "updated_at")),
            ("added", PositionKey("A1", "TSLA", "Equity"), ()),
        ]
        service.rows["B2"] = []
        change = await anext(watcher)
        assert (change.kind, change.key, change.after) == ("removed", SPY, None)
        assert isinstance(change.before, Position)
        assert change.at == NOON + timedelta(seconds=4)
        assert {key.symbol for key in watcher.snapshot} == {"AAPL", "TSLA"}
    assert service.asked == {"A1": [0, 2, 4], "B2": [0, 2, 4]}
    assert set(service.targets) == {
        f"https://service/accounts/{each}/positions?net-positions=true" for each in ("A1", "B2")
    }


async def test_positions_new_timestamp_alone_is_no_change_but_is_in_the_snapshot(
    service: Accounts, client: Client
) -> None:
    async with client.watch.positions(["A1"]) as watcher:
        await take(watcher, 1)
        service.rows["A1"] = [position("A1", "AAPL", **{"updated-at": "2026-03-02T12:59:00Z"})]
        await quiet(watcher, 30)
        updated_at = watcher.snapshot[AAPL].updated_at
        assert updated_at.minute == 59


async def test_positions_marks_are_asked_for_and_polled_apart(service: Accounts, client: Client) -> None:
    async with client.watch.positions(["A1"]) as plain, client.watch.positions(["A1"], include_marks=True) as marked:
        await take(plain, 1)
        await take(marked, 1)
        service.rows["A1"] = [position("A1", "AAPL", mark="1500.1")]
        assert await take(marked, 1) == [("changed", AAPL, ("mark",))]
    assert sum(target.endswith("?include-marks=true&net-positions=true") for target in service.targets) == 2


async def test_balances_are_keyed_by_currency_and_a_new_day_alone_is_no_change(
    service: Accounts, client: Client
) -> None:
    service.rows["A1"] = [balance("A1", "10.5"), balance("A1", "3", currency="EUR")]
    async with client.watch.balances(["A1"]) as watcher:
        keys = [BalanceKey("A1", "USD"), BalanceKey("A1", "EUR")]
        assert await take(watcher, 2) == [("added", key, ()) for key in keys]
        stamps = {"updated-at": "2026-03-03T09:00:00Z", "snapshot-date": "2026-03-03"}
        service.rows["A1"] = [balance("A1", "10.5", **stamps), balance("A1", "3", currency="EUR")]
        await quiet(watcher, 30)
        service.rows["A1"] = [balance("A1", "9.5", **stamps), balance("A1", "3", currency="EUR")]
        change = await anext(watcher)
        assert brief(change) == ("changed", keys[0], ("cash_balance",))
        assert isinstance(change.after, AccountBalance)


async def test_positions_same_symbol_of_two_types_has_two_keys(service: Accounts, client: Client) -> None:
    option = position("A1", "ES", **{"instrument-type": "Future"})
    service.rows["A1"] = [position("A1", "ES"), option, {"account-number": "A1", "quantity": 1}]
    async with client.watch.positions(["A1"]) as watcher:
        assert [key for _, key, _ in await take(watcher, 2)] == [("A1", "ES", "Equity"), ("A1", "ES", "Future")]
        await quiet(watcher, 30)
    assert PositionKey.of(Position(account_number="A1", symbol="AAPL")) == ("A1", "AAPL", "")
    assert PositionKey.of(Position(symbol="AAPL")) is PositionKey.of(Position(account_number="A1")) is None
    assert BalanceKey.of(AccountBalance(currency="USD")) is None


async def test_balances_in_one_object_are_read_as_well(service: Accounts, client: Client) -> None:
    service._answer = lambda request: ok(balance("A1", "10.5"))  # type: ignore[method-assign]
    service.script = [service._answer]
    async with client.watch.balances(["A1"]) as watcher:
        assert await take(watcher, 1) == [("added", BalanceKey("A1", "USD"), ())]


async def test_slow_account_delays_no_other(service: Accounts, client: Client) -> None:
    service.rows["B2"] = 25.0
    async with client.watch.positions(["B2", "A1"], interval=2) as watcher:
        assert await take(watcher, 1) == [("added", AAPL, ())]
        service.rows["A1"] = []
        assert await take(watcher, 1) == [("removed", AAPL, ())]
        assert asyncio.get_running_loop().time() == 2


async def test_failing_account_is_retried_on_its_own(service: Accounts, client: Client) -> None:
    service.rows["B2"] = 503
    failures: list[Exception] = []
    async with client.watch.positions(["B2", "A1"], interval=2, on_error=failures.append) as watcher:
        assert await take(watcher, 1) == [("added", AAPL, ())]
        await quiet(watcher, 21)
        assert service.asked["A1"] == [*range(0, 22, 2)]
        assert len(service.asked["B2"]) == len(failures) == 4
        service.rows["B2"] = [position("B2", "SPY")]
        assert await take(watcher, 1) == [("added", SPY, ())]
    assert watcher.failed == {}


@pytest.mark.parametrize(("status", "kind"), [(403, errors.PermissionDeniedError), (404, errors.NotFoundError)])
async def test_denied_account_is_given_up_and_the_others_go_on(
    service: Accounts, client: Client, caplog: pytest.LogCaptureFixture, status: int, kind: type[Exception]
) -> None:
    caplog.set_level(logging.ERROR, "brokerage_async.watch")
    async with client.watch.positions(["B2", "A1"], interval=2) as watcher:
        await take(watcher, 2)
        service.rows["B2"] = status
        await quiet(watcher, 3)
        service.rows["A1"] = [position("A1", "AAPL", "3")]
        assert [kind for kind, _, _ in await take(watcher, 1)] == ["changed"]
        assert {account: type(error) for account, error in watcher.failed.items()} == {"B2": kind}
        assert set(watcher.snapshot) == {AAPL, SPY}
        service.rows["A1"] = 403
        with pytest.raises(errors.PermissionDeniedError):
            await anext(watcher)
        with pytest.raises(StopAsyncIteration):
            await anext(watcher)
    (record,) = caplog.records
    assert record.getMessage() == f"an account is no longer watched: {kind.__name__} positions.list {status}"
    assert len(service.asked["B2"]) == 2


async def test_changes_found_before_the_end_are_reported_before_the_error(service: Accounts, client: Client) -> None:
    service.rows["B2"] = 403
    failures: list[Exception] = []
    async with client.watch.positions(["A1", "B2"], on_error=failures.append) as watcher:
        assert await take(watcher, 1) == [("added", AAPL, ())]
        service.rows["A1"] = 400
        with pytest.raises(errors.BadRequestError):
            await anext(watcher)
    assert [type(error) for error in failures] == [errors.PermissionDeniedError]


async def test_callback_that_raises_ends_the_iteration(service: Accounts, client: Client) -> None:
    def stop(error: Exception) -> None:
        raise RuntimeError("enough") from error

    for status in (403, 503):
        service.rows["B2"] = status
        async with client.watch.positions(["A1", "B2"], on_error=stop) as watcher:
            with pytest.raises(RuntimeError, match="enough"):
                await take(watcher, 3)


async def test_error_of_the_callback_outlives_a_later_denial(service: Accounts, client: Client) -> None:
    def stop_at_503(error: Exception) -> None:
        if isinstance(error, errors.ServerError):
            raise RuntimeError("enough")

    service.rows["B2"] = 503
    async with client.watch.positions(["A1", "B2"], interval=2, on_error=stop_at_503) as watcher:
        await take(watcher, 1)
        service.rows["B2"] = 403
        await asyncio.sleep(10)
        with pytest.raises(RuntimeError, match="enough"):
            await anext(watcher)


async def test_seed_and_later_changes_only(service: Accounts, client: Client) -> None:
    async with client.watch.positions(["A1", "B2"], initial=False) as watcher:
        await quiet(watcher, 3)
        snapshot = watcher.snapshot
        assert set(snapshot) == {AAPL, SPY}
    service.rows["A1"] = [position("A1", "AAPL", **{"updated-at": "2026-03-02T13:00:00Z"})]
    service.rows["B2"] = 4.0
    async with client.watch.positions(["A1", "B2"], interval=2, seed=snapshot) as watcher:
        await quiet(watcher, 3.5)  # nothing of B2 counts as closed while it has not answered
        assert await take(watcher, 1) == [("removed", SPY, ())]
    async with client.watch.positions(["A1"], seed=list(snapshot.values())) as watcher:
        await quiet(watcher, 3)


async def test_busy_account_does_not_starve_the_others(service: Accounts, client: Client) -> None:
    service.rows = {each: [position(each, f"S{number}") for number in range(9)] for each in ("A1", "B2")}
    async with client.watch.positions(["A1", "B2"]) as watcher:
        await take(watcher, 1)
        await asyncio.sleep(1)
        assert {key.account_number for _, key, _ in await take(watcher, 2)} == {"A1", "B2"}


async def test_polls_at_the_same_time_are_bounded_and_shared(service: Accounts, client: Client) -> None:
    accounts = [f"C{number}" for number in range(10)]
    service.rows = {each: [] for each in accounts}
    service.latency = 0.1
    watchers = [client.watch.positions(accounts[part:], interval=5) for part in (0, 3, 6)]
    for watcher in watchers:
        await quiet(watcher, 4)
    assert service.most_at_once == 4
    assert all(len(times) == len({time // 5 for time in times}) for times in service.asked.values())
    for watcher in watchers:
        await watcher.aclose()


async def test_intervals_are_polite_by_default_and_never_below_a_second(service: Accounts, client: Client) -> None:
    for options, polls in [({}, 3), ({"interval": 0.1}, 11), ({"interval": 0.1, "min_interval": 0.5}, 21)]:
        service.asked.clear()
        async with client.watch.balances(["A1"], initial=False, **options) as watcher:
            await quiet(watcher, 10.2)
        assert len(service.asked["A1"]) == polls


async def test_close_wakes_a_waiting_task_though_others_watch_on(client: Client) -> None:
    async with client.watch.positions(["A1", "B2"], interval=60) as other:
        watcher = client.watch.positions(["A1", "B2"], interval=60)
        await take(other, 2)
        await take(watcher, 2)
        waiting = asyncio.create_task(take(watcher, 1))
        await asyncio.sleep(1)
        await watcher.aclose()
        with pytest.raises(StopAsyncIteration):
            await anext(watcher)
        with pytest.raises(StopAsyncIteration):
            await waiting
        assert asyncio.get_running_loop().time() == 1


async def test_positions_with_a_state_go_on_where_the_consumer_stood(service: Accounts, client: Client) -> None:
    state = MemoryState()
    async with client.watch.positions(["A1", "B2"], state=state, initial=False) as watcher:
        await quiet(watcher, 30)
        assert state.begun == {"A1", "B2"}
        service.rows["A1"] = [position("A1", "AAPL", "7")]
        change = await anext(watcher)
        assert (change.kind, change.key) == ("changed", AAPL)
        waiting = asyncio.create_task(anext(watcher))
        service.rows["A1"] = [position("A1", "AAPL", "8", **{"updated-at": "2026-03-02T12:59:00Z"})]
        await asyncio.sleep(20)
        assert not waiting.done()
        await change.ack()
        assert (await waiting).before == change.after
    service.rows["B2"] = []
    async with client.watch.positions(["B2", "A1"], state=state, initial=False) as watcher:
        again, gone = await anext(watcher), await anext(watcher)
        assert (again.key, gone.key, gone.kind) == (AAPL, SPY, "removed")
        await again.ack()
        await gone.ack()
        await quiet(watcher, 30)
        assert list(watcher.snapshot) == [AAPL]


async def test_states_of_other_accounts_and_lists_are_rejected(client: Client) -> None:
    state = MemoryState()
    async with client.watch.positions(["A1"], state=state) as watcher:
        await anext(watcher)
    assert json.loads(state.feed or "") == {
        "watch": "positions", "origin": "https://service", "environment": "sandbox", "accounts": ["A1"],
    }  # fmt: skip
    for other in (
        client.watch.positions(["A1", "B2"], state=state),
        client.watch.positions(["A1"], include_marks=True, state=state),
        client.watch.balances(["A1"], state=state),
        client.watch.orders("me", ["A1"], state=state),
        client.watch.quote_alerts(state=state),
        client.watch.market(state=state),
    ):
        with pytest.raises(WatchStateError, match="belongs to"):
            await anext(other)
        await other.aclose()
