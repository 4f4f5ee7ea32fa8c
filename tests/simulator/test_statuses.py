"""The simulator answers with the statuses that the schema names, and with no others."""

from collections.abc import Callable, Iterator
from typing import Any

from brokerage_async._generated.operations import OPERATIONS
from brokerage_async.operation import Operation, Parameter
from brokerage_async.simulator.api.brokerage import HANDLERS
from tests.schema import sources
from tests.simulator.harness import COMPLEX_ORDERS, Harness, limit, market, strategy
from tests.tables import for_each

WATCHLIST = {"name": "No Such List", "watchlist-entries": [{"symbol": "AAPL"}]}
NEEDED = {
    "balances.net_liq_history": "time-back=1d",
    "market_metrics.list": "symbols=AAPL",
    "risk.span_rows": "date=2026-06-09&exchange=CME",
}
"""Queries without which an operation looks no further."""

NOT_REACHED = {"market_data.quote_token": {404}, "backtests.available_dates": {400}}
"""Statuses without a cause in the simulator: every one of its users is a customer, and dates have no parameters."""

SERVED = [name for name in OPERATIONS if hasattr(HANDLERS.get(name.partition(".")[0]), name.partition(".")[2])]


class Abuse:
    def __init__(self, operation: Operation[Any], make: Callable[..., Harness] = Harness) -> None:
        self.operation = operation
        self.harness = make(environment="production", equities=20, equity_options=20, chain_rows=20).login()
        self.needed = NEEDED.get(operation.name, "")
        self.values = {"account_number": self.harness.account, "customer_id": "me", "symbol": "AAPL", "id": "1"}

    def path(self, **change: str) -> str:
        others = {each.name: "x" for each in self.operation.parameters if each.location == "path"}
        return self.harness.target(self.operation.name, **others | self.values | change)

    def ask(self, query: str = "", body: Any = None, path: str | None = None, **headers: str | None) -> int:
        target = f"{path or self.path()}{query and '?'}{query}"
        content = {} if body is None and self.operation.body_required else body
        return self.harness.ask(self.operation.method, target, content, **headers).status

    @property
    def query(self) -> list[Parameter]:
        return [parameter for parameter in self.operation.parameters if parameter.location == "query"]

    def statuses(self) -> Iterator[int]:
        yield self.ask(user_agent=None)
        yield self.ask(user_agent="nameless")
        yield self.ask(accept_version="20200101")
        yield self.ask(authorization=None)
        for scope in ("read", "trade"):
            self.harness.login(scope=scope)
            yield self.ask()
        self.harness.login()
        yield from self.wrong_places()
        yield from self.wrong_queries()
        if self.operation.body is not None:
            objects = (limit(), limit(quantity=1), WATCHLIST, strategy(symbol="NO/SUCH"))
            for body in (b"{", b"", b"[]", b'{"x": 1}', *objects):
                yield self.ask(body=body)
        yield from self.too_late()
        self.harness.sim.rate_limit = 1
        yield from (self.ask() for _ in range(2))

    def wrong_places(self) -> Iterator[int]:
        sim = self.harness.sim
        for account, customer in ((sim.foreign_account_number, sim.foreign_customer_id), ("5WT0", "1")):
            path = self.path(account_number=account, customer_id=customer)
            for body in (None, limit(), COMPLEX_ORDERS["OCO"]):
                yield self.ask(f"account-numbers[]={account}&{self.needed}", body, path)
            fields = {"account-number": account, "underlying-symbol": "AAPL", "underlying-instrument-type": "Equity"}
            yield self.ask(body={**fields, "order-type": "Market", "time-in-force": "Day"}, path=path)
        yield self.ask("start-date=2026-01-01", path=self.path(symbol="NO/SUCH"))
        yield self.ask(path=self.path(id="0" * 32))

    def wrong_queries(self) -> Iterator[int]:
        needed = f"account-numbers[]={self.harness.account}&{self.needed}"
        yield self.ask()
        free = [one.wire for one in self.query if one.kind == "string" and one.choices is None]
        yield self.ask("&".join([needed, *(f"{wire}=1" for wire in free)]))
        yield self.ask(f"{needed}&type=Trade&types[]=Trade")
        for parameter in self.query:
            for value in ("", "junk", "-1", "99999999", "2026-06-10", "Warrant"):
                yield self.ask(f"{needed}&{parameter.wire}={value}")
        for version in ("20240501", "20261012"):
            yield self.ask(needed, accept_version=version)
            yield self.ask(f"{needed}&page-offset=junk", accept_version=version)

    def too_late(self) -> Iterator[int]:
        order = self.harness.place(market())
        pair = self.harness.sim.complex_order_ids["OCO"]
        self.harness.wait(60)
        for account, identifier in ((self.harness.account, order), (self.harness.accounts[1], pair)):
            for body in (None, {"ratio-price-comparator": "gte"}, {**limit(), "legs": []}):
                yield self.ask(body=body, path=self.path(account_number=account, id=identifier))


@for_each("operation", SERVED)
def test_statuses_are_those_of_the_schema(operation: str) -> None:
    seen = {status for status in Abuse(OPERATIONS[operation]).statuses() if status >= 400}
    named = {int(status) for status in sources.OPERATIONS[operation][1]["responses"] if int(status) >= 400}
    assert seen == named - NOT_REACHED.get(operation, set())
