"""``client.bulk`` against the simulated service, in memory and on virtual time."""

import asyncio
import math
import random
from datetime import date, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import Limits, RetryPolicy, errors, models
from brokerage_async.bulk.api import _by_requested
from brokerage_async.protocol.response import Response
from brokerage_async.simulator import Simulator

pytestmark = pytest.mark.virtual_time

LATENCY = 0.05


def simulator(**options: Any) -> Any:
    return Simulator(**{"equities": 1_000, "equity_options": 300, "chain_rows": 500, "warrants": 20, **options})


def equity_symbols(sim: Any) -> Any:
    return [row.symbol for row in sim.brokerage.state.catalogue.equities.definitions]


def requests_of(sim: Any, operation: Any) -> Any:
    return [entry for entry in sim.ledger.requests if entry.operation == operation]


def symbols_of(entry: Any) -> Any:
    return parse_qs(urlsplit(entry.target).query).get("symbol[]", [])


def now() -> Any:
    return asyncio.get_running_loop().time()


async def test_equities_by_symbol() -> None:
    sim = simulator(latency=LATENCY)
    symbols = ["NOPE", *reversed(equity_symbols(sim)), "NADA"]
    async with sim.client() as client:
        await client.authorize()
        began = now()
        result = await client.bulk.equities(symbols)

    assert list(result.found) == symbols[1:-1]
    assert all(key == equity.symbol for key, equity in result.found.items())
    assert isinstance(result.found["AAPL"], models.Equity)
    assert result.missing == ["NOPE", "NADA"]
    requests = requests_of(sim, "instruments.equities")
    assert len(requests) == math.ceil(len(symbols) / 100)
    assert now() - began == pytest.approx(math.ceil(len(requests) / 8) * LATENCY)


async def test_repeated_symbols_are_requested_once() -> None:
    sim = simulator()
    async with sim.client() as client:
        result = await client.bulk.equities(["AAPL", "MSFT"] * 500, batch_size=3)
    assert list(result.found) == ["AAPL", "MSFT"]
    assert [symbols_of(entry) for entry in requests_of(sim, "instruments.equities")] == [["AAPL", "MSFT"]]


async def test_equity_options_by_symbol() -> None:
    sim = simulator()
    definitions = sim.brokerage.state.catalogue.equity_options.definitions
    symbols = [row.symbol for row in definitions]
    async with sim.client() as client:
        current = await client.bulk.equity_options(symbols, batch_size=50)
        every = await client.bulk.equity_options(symbols, batch_size=50, with_expired=True)
    assert list(every.found) == symbols
    assert set(current.found) | set(current.missing) == set(symbols)
    assert all(symbol in option.symbol for symbol, option in every.found.items())


async def test_url_length_is_bounded() -> None:
    sim = simulator()
    symbols = [f"AAPL  {number:015}" for number in range(1_000)]
    async with sim.client() as client:
        result = await client.bulk.equity_options(symbols, batch_size=1_000)
    assert result.missing == symbols
    targets = [entry.target for entry in requests_of(sim, "instruments.equity_options")]
    assert 4_000 < max(map(len, targets)) < 6_100


async def test_warrants_one_by_one() -> None:
    sim = simulator()
    symbols = [row.symbol for row in sim.brokerage.state.catalogue.warrants.definitions]
    async with sim.client() as client:
        result = await client.bulk.warrants([*symbols, "NOPE", "A/B C", "..", ""], batch_size=10)
    assert list(result.found) == symbols
    assert result.missing == ["NOPE", "A/B C"]
    assert set(result.failed) == {"..", ""}
    assert len(requests_of(sim, "instruments.warrant")) == len(symbols) + 2


async def test_futures_option_chains() -> None:
    sim = simulator()
    async with sim.client() as client:
        fetch = client.bulk.futures_option_chains(["ES", "XX", "CL"])
        chains = {code: chain async for code, chain in fetch}
    assert set(chains) == {"ES", "CL"}
    assert len(chains["ES"]) == 500
    assert fetch.missing == ["XX"]


async def test_dividends_and_earnings() -> None:
    sim = simulator()
    start, end = date(2024, 1, 1), date(2024, 12, 31)
    async with sim.client() as client:
        dividends = await client.bulk.dividends(["MSFT", "NOPE"])
        earnings = await client.bulk.earnings_reports(["AAPL", "MSFT"], start, end_date=end)
        since = await client.bulk.earnings_reports(["AAPL"], start)
    assert all(isinstance(item, models.Dividend) for item in dividends.found["MSFT"])
    assert dividends.missing == ["NOPE"]
    assert all(start <= report.occurred_date <= end for reports in earnings.found.values() for report in reports)
    assert len(since.found["AAPL"]) > len(earnings.found["AAPL"]) > 0


async def test_sessions_over_years_are_fetched_nine_months_at_a_time() -> None:
    sim = simulator()
    async with sim.client() as client:
        sessions = await client.bulk.sessions(date(2024, 1, 1), date(2026, 6, 30), instrument_collection="CME")
    days = [session.session_date for session in sessions]
    assert len(requests_of(sim, "market_time.sessions")) == 4
    assert all(before < after for before, after in pairwise(days))
    assert date(2024, 1, 1) <= days[0] < date(2024, 1, 5)
    assert days[-1] == date(2026, 6, 30)
    assert max(after - before for before, after in pairwise(days)) <= timedelta(days=5)


class Poisoned:
    """The in-memory transport of a service that refuses every request for certain symbols."""

    def __init__(self, sim: Any, symbols: Any) -> None:
        self.inner, self.symbols = sim.transport(), symbols

    async def send(self, request: Any) -> Any:
        if self.symbols.intersection(parse_qs(urlsplit(request.url).query).get("symbol[]", [])):
            return Response(status=422, body=b'{"error": {"code": "validation_error", "message": "no"}}')
        return await self.inner.send(request)

    async def close(self) -> None:
        await self.inner.close()


async def test_offending_symbols_are_isolated() -> None:
    sim = simulator()
    symbols = equity_symbols(sim)
    offending = {symbols[17], symbols[18], symbols[700]}
    async with sim.client(transport=Poisoned(sim, offending)) as client:
        result = await client.bulk.equities(symbols)
    assert set(result.failed) == offending
    assert all(isinstance(error, errors.UnprocessableError) for error in result.failed.values())
    assert list(result.found) == [symbol for symbol in symbols if symbol not in offending]
    assert result.missing == []


async def test_transient_failure_costs_a_retry_only() -> None:
    sim = simulator(latency=LATENCY)
    sim.faults.add("GET", "/instruments/equities", "status(503)", times=3)
    sim.faults.add("GET", "/instruments/equities", "drop_after", times=2)
    async with sim.client() as client:
        result = await client.bulk.equities(equity_symbols(sim))
    assert (len(result.found), result.failed) == (1_000, {})
    assert len(requests_of(sim, "instruments.equities")) == 10 + 5


async def test_revoked_grant_ends_the_fetch() -> None:
    sim = simulator()
    sim.revoke()
    async with sim.client() as client:
        with pytest.raises(errors.TokenError) as caught:
            await client.bulk.equities(equity_symbols(sim))
    assert not caught.value.transient


async def test_closed_client_or_deadline_ends_the_fetch() -> None:
    sim = simulator(latency=LATENCY)
    async with sim.client(deadline=LATENCY / 4) as client:
        with pytest.raises(errors.DeadlineExceededError):
            await client.bulk.equities(["AAPL"])
    with pytest.raises(errors.ConfigurationError, match="closed"):
        await client.bulk.equities(["AAPL", "MSFT"])


async def test_read_lane_bounds_a_bulk_fetch_and_trades_pass() -> None:
    sim = simulator(latency=LATENCY)
    async with sim.client(limits=Limits(reads=2)) as client:
        await client.authorize()
        began = now()
        fetch = asyncio.create_task(everything(client, sim))
        await asyncio.sleep(LATENCY / 2)
        order = models.NewOrder(
            order_type="Market", time_in_force="Day",
            legs=(models.NewOrderLeg(action="Buy to Open", instrument_type="Equity", symbol="AAPL", quantity=1),),
        )  # fmt: skip
        await client.orders.dry_run(sim.account_numbers[0], order)
        assert now() - began == pytest.approx(1.5 * LATENCY)
        await fetch
        assert now() - began == pytest.approx(5 * LATENCY)


async def everything(client: Any, sim: Any) -> Any:
    return await client.bulk.equities(equity_symbols(sim))


async def test_rate_limit_without_headers_completes_with_few_rejections() -> None:
    sim = simulator(equities=10_000, latency=LATENCY, rate_limit=20)
    async with sim.client(retry=RetryPolicy(jitter=random.Random(0).random)) as client:
        result = await client.bulk.equities(equity_symbols(sim))
    assert (len(result.found), result.failed) == (10_000, {})
    assert len(requests_of(sim, "instruments.equities")) / 100 <= 1.3


async def test_throttling_beyond_the_retries_of_a_call_does_not_end_the_fetch() -> None:
    sim = simulator(latency=LATENCY)
    sim.faults.add("GET", "/instruments/equities", "rate_limited", times=9)
    async with sim.client(retry=RetryPolicy(max_attempts=2)) as client:
        result = await client.bulk.equities(equity_symbols(sim), concurrency=1)
    assert len(result.found) == 1_000


async def test_break_leaves_nothing_in_flight() -> None:
    sim = simulator(latency=LATENCY)
    async with sim.client() as client:
        await client.authorize()
        async with client.bulk.equities(equity_symbols(sim), batch_size=10) as fetch:
            async for _ in fetch:
                break
        assert client.session.engine.limiter["reads"].in_flight == 0


SYMBOL = st.text("aB/. 1", min_size=1, max_size=4)


@given(st.lists(SYMBOL, unique=True), st.data())
def test_by_requested_keys_are_requested_symbols(asked: Any, data: st.DataObject) -> None:
    rows = {symbol: models.Equity(symbol=symbol) for symbol in data.draw(st.lists(SYMBOL, unique=True))}
    found = _by_requested(asked, rows.values())
    for symbol in asked:
        if symbol in rows:
            assert found[symbol] is rows[symbol]
    assert set(found) <= set(asked)


def test_by_requested_other_spelling_keeps_the_requested_key() -> None:
    rows = [models.Equity(symbol=symbol) for symbol in ("AAPL", "./ESZ6 EW3U6  260918P9100", "BRK/B", "UNASKED")]
    asked = ["aapl", "./ESZ6 EW3U6 260918P9100", "BRK/B", "MSFT"]
    found = _by_requested(asked, [*rows, models.Equity()])
    assert {key: equity.symbol for key, equity in found.items()} == {
        "aapl": "AAPL",
        "./ESZ6 EW3U6 260918P9100": "./ESZ6 EW3U6  260918P9100",
        "BRK/B": "BRK/B",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        lambda bulk: bulk.equities(5),
        lambda bulk: bulk.equities("AAPL"),
        lambda bulk: bulk.equities([1]),
        lambda bulk: bulk.equities(["AAPL"], concurrency=None),
        lambda bulk: bulk.equities(["AAPL"], batch_size=0),
        lambda bulk: bulk.equity_options(["AAPL"], with_expired="yes"),
        lambda bulk: bulk.warrants(["AAPL"], batch_size=0),
        lambda bulk: bulk.dividends(["AAPL"], batch_size=None),
        lambda bulk: bulk.earnings_reports(["AAPL"], "2026-01-01"),
        lambda bulk: bulk.earnings_reports(["AAPL"], date(2026, 1, 1), end_date="2026-02-01"),
        lambda bulk: bulk.sessions("2026-01-01", date(2026, 1, 1)),
        lambda bulk: bulk.sessions(date(2026, 1, 2), date(2026, 1, 1)),
        lambda bulk: bulk.sessions(date(2026, 1, 1), date(2026, 1, 2), concurrency=0),
    ],
)
async def test_invalid_arguments_raise_before_anything_is_sent(wrong: Any) -> None:
    sim = simulator()
    async with sim.client() as client:
        with pytest.raises((errors.InvalidRequestError, errors.ConfigurationError)):
            await wrong(client.bulk)
    assert list(sim.ledger.requests) == []
