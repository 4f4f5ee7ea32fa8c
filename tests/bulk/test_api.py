"""``client.bulk`` against the simulated service, in memory and on virtual time."""

import asyncio
import math
import random
from datetime import date, timedelta
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerage_async import RetryPolicy, errors, models
from brokerage_async._generated.endpoints import Endpoints
from brokerage_async.bulk import Bulk, over_range, split_range
from brokerage_async.protocol.validation.rules import add_months
from brokerage_async.simulator import Simulator
from tests.http.calls import raised_by

pytestmark = pytest.mark.virtual_time

LATENCY = 0.05


def simulator(**options: Any) -> Any:
    return Simulator(**{"equities": 1_000, "equity_options": 300, "chain_rows": 500, "warrants": 20, **options})


def equity_symbols(sim: Any) -> Any:
    return [row.symbol for row in sim.brokerage.state.catalogue.equities.definitions]


def requests_of(sim: Any, operation: Any) -> Any:
    return [entry for entry in sim.ledger.requests if entry.operation == operation]


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


async def test_equity_options_by_symbol_in_urls_of_bounded_length() -> None:
    sim = simulator()
    listed = [row.symbol for row in sim.brokerage.state.catalogue.equity_options.definitions]
    unknown = [f"AAPL  {number:015}" for number in range(1_000)]
    async with sim.client() as client:
        current = await client.bulk.equity_options(listed, batch_size=50)
        every = await client.bulk.equity_options(listed, batch_size=50, with_expired=True)
        none = await client.bulk.equity_options(unknown, batch_size=1_000)
    assert list(every.found) == listed
    assert set(current.found) | set(current.missing) == set(listed)
    assert all(symbol in option.symbol for symbol, option in every.found.items())
    assert none.missing == unknown
    assert 4_000 < max(len(entry.target) for entry in requests_of(sim, "instruments.equity_options")) < 6_100


async def test_warrants_one_by_one() -> None:
    sim = simulator()
    symbols = [row.symbol for row in sim.brokerage.state.catalogue.warrants.definitions]
    async with sim.client() as client:
        result = await client.bulk.warrants([*symbols, "NOPE", "A/B C", "..", ""], batch_size=10)
    assert (list(result.found), result.missing, set(result.failed)) == (symbols, ["NOPE", "A/B C"], {"..", ""})
    assert len(requests_of(sim, "instruments.warrant")) == len(symbols) + 2


async def test_chains_dividends_and_earnings_by_symbol() -> None:
    start, end = date(2024, 1, 1), date(2024, 12, 31)
    async with simulator().client() as client:
        fetch = client.bulk.futures_option_chains(["ES", "XX", "CL"])
        chains = {code: chain async for code, chain in fetch}
        dividends = await client.bulk.dividends(["MSFT", "NOPE"])
        earnings = await client.bulk.earnings_reports(["AAPL", "MSFT"], start, end_date=end)
        since = await client.bulk.earnings_reports(["AAPL"], start)
    assert (set(chains), len(chains["ES"]), fetch.missing) == ({"ES", "CL"}, 500, ["XX"])
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


async def test_rate_limit_without_headers_completes_with_few_rejections() -> None:
    sim = simulator(equities=10_000, latency=LATENCY, rate_limit=20)
    async with sim.client(retry=RetryPolicy(jitter=random.Random(0).random)) as client:
        result = await client.bulk.equities(equity_symbols(sim))
    assert (len(result.found), result.failed) == (10_000, {})
    assert len(requests_of(sim, "instruments.equities")) / 100 <= 1.3


def asked(sim: Any) -> list[tuple[str, dict[str, list[str]]]]:
    """Return path and query of each request, but for those for a token."""
    parts = [urlsplit(entry.target) for entry in sim.ledger.requests if entry.method == "GET"]
    return [(part.path, parse_qs(part.query)) for part in parts]


LISTS: dict[str, tuple[list[str], str, str]] = {
    "futures": (["/ESZ6", "/NOPE", "/NQZ6"], "/instruments/futures", "symbol[]"),
    "cryptocurrencies": (["BTC/USD", "NOPE/USD", "SOL/USD"], "/instruments/cryptocurrencies", "symbol[]"),
    "market_data": (["BRK/B", "NOPE", "AAPL"], "/market-data/by-type", "equity"),
    "market_metrics": (["BRK/B", "NOPE", "AAPL"], "/market-metrics", "symbols"),
}
"""Symbols, path and parameter by method."""


async def test_lists_by_symbol_are_requested_together_and_isolate_a_refused_symbol() -> None:
    sim = simulator(environment="production")
    async with sim.client() as client:
        for kind, (symbols, path, parameter) in LISTS.items():
            before = len(asked(sim))
            result = await getattr(client.bulk, kind)(symbols)
            found = {key: value.symbol for key, value in result.found.items()}
            assert list(found.items()) == [(each, each) for each in symbols[::2]]
            assert (result.missing, result.failed) == ([symbols[1]], {})
            ((target, query),) = asked(sim)[before:]
            assert (target, ",".join(query[parameter])) == (path, ",".join(symbols))
            sim.faults.add("GET", f"{path}.*{quote(symbols[0], safe='')}", "status(400)", times=None)
            result = await getattr(client.bulk, kind)(symbols)
            assert (list(result.found), result.missing) == ([symbols[2]], [symbols[1]])
            assert {key: type(error) for key, error in result.failed.items()} == {symbols[0]: errors.BadRequestError}


SINGLES: dict[str, tuple[str, str, type[Any]]] = {
    "future_options": ("./ESM6 ES2M6 260612C6000", "/instruments/future-options/{}", models.FutureOption),
    "equity_option_chains": ("BRK/B", "/option-chains/{}", models.EquityOption),
    "nested_option_chains": ("SPX", "/option-chains/{}/nested", models.NestedOptionChain),
    "nested_futures_option_chains": ("ES", "/futures-option-chains/{}/nested", models.NestedFuturesOptionChain),
}
"""Symbol, path and class of the values by method."""


async def test_singles_are_requested_one_by_one() -> None:
    sim = simulator()
    async with sim.client() as client:
        for kind, (symbol, path, model) in SINGLES.items():
            before = len(asked(sim))
            result = await getattr(client.bulk, kind)([symbol, "NOPE"])
            (value,) = result.found.values()
            assert isinstance(value[0] if isinstance(value, list) else value, model)
            assert (result.model, list(result.found), result.missing) == (model, [symbol], ["NOPE"])
            paths = {target for target, _ in asked(sim)[before:]}
            assert paths == {path.format("NOPE"), path.format(quote(symbol, safe=""))}


async def test_futures_that_have_expired_and_symbols_without_slash() -> None:
    sim = simulator()
    async with sim.client() as client:
        result = await client.bulk.futures(["ESZ6"], only_active_futures=False)
    assert result.found["ESZ6"].symbol == "/ESZ6"
    assert asked(sim)[0][1]["only-active-futures"] == ["false"]


async def test_market_data_splits_a_batch_by_type_and_takes_a_hundred_over_all() -> None:
    sim = simulator(environment="production")
    symbols = ["SPX", "AAPL", "AAPL  260612C00110000", "/ESZ6", "./ESM6 ES2M6 260612C6000", "NOPE/USD"]
    more = equity_symbols(sim)[-150:]
    async with sim.client() as client:
        options: Any = {"types": {"SPX": "Index"}, "include_instrument": True, "batch_size": 500, "concurrency": 1}
        result = await client.bulk.market_data([*symbols, *more], **options)
    first, second = (query for _, query in asked(sim))
    assert {name: values[0].split(",") for name, values in first.items()} == {
        "index": ["SPX"],
        "equity": ["AAPL", *more[:94]],
        "equity-option": ["AAPL  260612C00110000"],
        "future": ["/ESZ6"],
        "future-option": ["./ESM6 ES2M6 260612C6000"],
        "cryptocurrency": ["NOPE/USD"],
        "include-instrument": ["true"],
    }
    assert second["equity"][0].split(",") == more[94:]
    assert (list(result.found), result.missing) == ([*symbols[:-1], *more], ["NOPE/USD"])


async def test_names_of_fetches_hold_all_that_their_values_depend_on() -> None:
    bulk, index, equity = simulator().client().bulk, models.InstrumentType.INDEX, models.InstrumentType.EQUITY
    typed = bulk.market_data(["SPX", "VIX"], types={"SPX": "Index", "VIX": equity})
    assert typed.name == bulk.market_data(["SPX", "VIX"], types={"VIX": "Equity", "SPX": index}).name
    fetches = [
        typed,
        bulk.market_data(["SPX"]),
        bulk.market_data(["SPX"], include_instrument=True),
        bulk.futures(["/ESZ6"]),
        bulk.futures(["/ESZ6"], only_active_futures=False),
        *(getattr(bulk, name)([]) for name in [*LISTS, *SINGLES]),
    ]
    assert len({fetch.name for fetch in fetches}) == 3 + 2 + 2 + 4
    assert len({fetch.name.rpartition(" of ")[2] for fetch in fetches}) == 1


DAY = date(2026, 1, 1)
WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("equities", (5,), {}), ("equities", ("AAPL",), {}), ("equities", ([1],), {}),
    ("equities", (["AAPL"],), {"concurrency": None}), ("equities", (["AAPL"],), {"batch_size": 0}),
    ("equity_options", (["AAPL"],), {"with_expired": "yes"}), ("warrants", (["AAPL"],), {"batch_size": 0}),
    ("futures", (["/ESZ6"],), {"only_active_futures": "no"}), ("market_data", (["SPX"],), {"types": ["SPX"]}),
    ("market_data", (["SPX"],), {"types": {"SPX": None}}), ("market_data", (["SPX"],), {"types": {"SPX": ["Index"]}}),
    ("market_data", (["SPX"],), {"types": {1: "Index"}}), ("market_data", (["SPX"],), {"types": {"SPX": "Bond"}}),
    ("market_data", (["SPX"],), {"include_instrument": 1}),
    ("market_data", (["SPX"],), {"batch_size": 0}), ("market_metrics", (["SPX"],), {"batch_size": None}),
    ("dividends", (["AAPL"],), {"batch_size": None}), ("earnings_reports", (["AAPL"], "2026-01-01"), {}),
    ("earnings_reports", (["AAPL"], DAY), {"end_date": "2026-02-01"}), ("sessions", ("2026-01-01", DAY), {}),
    ("sessions", (DAY, date(2025, 12, 31)), {}), ("sessions", (DAY, DAY), {"concurrency": 0}),
]  # fmt: skip


async def test_invalid_arguments_raise_before_anything_is_sent() -> None:
    sim = simulator()
    async with sim.client() as client:
        await raised_by(client.bulk.market_metrics(["AAPL"]), errors.ConfigurationError, "sandbox")
        for name, arguments, options in WRONG:
            with pytest.raises((errors.InvalidRequestError, errors.ConfigurationError)):
                await getattr(client.bulk, name)(*arguments, **options)
    assert list(sim.ledger.requests) == []


def test_bulk_unknown_options_are_refused_by_every_method() -> None:
    bulk = Bulk(Endpoints(None))  # type: ignore[arg-type]
    accepted = []
    for name in (each for each in vars(Bulk) if not each.startswith("_") and each != "sessions"):
        for option in ("colour", "limit", "batch_length", "name"):
            try:
                getattr(bulk, name)(["A"], *([DAY] if name == "earnings_reports" else []), **{option: 1})
            except TypeError:
                continue
            accepted.append((name, option))
    assert accepted == []


def test_split_range_gives_the_fewest_parts_of_a_valid_range() -> None:
    assert split_range(date(2026, 1, 1), date(2026, 9, 30)) == [(date(2026, 1, 1), date(2026, 9, 30))]
    assert split_range(date(2025, 1, 1), date(2026, 12, 31)) == [
        (date(2025, 1, 1), date(2025, 9, 30)),
        (date(2025, 10, 1), date(2026, 6, 30)),
        (date(2026, 7, 1), date(2026, 12, 31)),
    ]
    for end, months in ((date(2025, 12, 31), 9), (date(2026, 1, 2), 0)):
        with pytest.raises((errors.InvalidRequestError, errors.ConfigurationError), match=r"not be before|at least 1"):
            split_range(date(2026, 1, 1), end, months=months)


@given(st.dates(), st.integers(0, 20_000), st.integers(1, 24))
def test_split_range_covers_every_day_once_within_the_span(start: date, days: int, months: int) -> None:
    end = start + timedelta(days=min(days, (date.max - start).days))
    parts = split_range(start, end, months=months)
    assert (parts[0][0], parts[-1][1]) == (start, end)
    assert all(after == before + timedelta(days=1) for (_, before), (after, _) in pairwise(parts))
    assert all(first <= last < add_months(first, months) or last == date.max for first, last in parts)


async def test_over_range_fetches_concurrently_and_joins_in_order() -> None:
    async def fetch(start: Any, end: Any) -> Any:
        await asyncio.sleep(10 - start.month % 7)  # later parts may answer first
        return [start, end]

    days = await over_range(fetch, date(2020, 1, 1), date(2023, 12, 31), concurrency=8)
    assert days == [day for part in split_range(date(2020, 1, 1), date(2023, 12, 31)) for day in part] == sorted(days)
    assert len(days) == 2 * 6
    assert now() <= 10


async def test_over_range_failing_part_cancels_the_others() -> None:
    async def fetch(start: Any, end: Any) -> None:
        if start.year == 2022:
            raise LookupError(start)
        await asyncio.Event().wait()

    await raised_by(over_range(fetch, date(2020, 1, 1), date(2023, 12, 31)), LookupError)
    assert len(asyncio.all_tasks()) == 1
