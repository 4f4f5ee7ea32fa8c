"""Orders, previews and outcomes for people and for programs."""

from __future__ import annotations

import io
import uuid
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from rich.console import Console

from brokerage_async import models
from brokerage_async.cli import console
from brokerage_async.cli.order_tables import (
    change_json,
    filled,
    legs_of,
    messages,
    order_table,
    placement_json,
    placement_table,
    preview_table,
    price_of,
    ticket_line,
)
from brokerage_async.cli.tables import raw
from brokerage_async.errors import ServerError
from brokerage_async.order_entry import ChangeOutcome, Outcome
from brokerage_async.order_entry.results import OrderChange, Placement
from brokerage_async.tickets import buy_to_open, limit, market, notional, stop_limit

AT = datetime(2026, 3, 2, 15, 30, tzinfo=UTC)


def shown(table: Any, monkeypatch: pytest.MonkeyPatch, width: int = 160) -> str:
    """Return a table as the console prints it."""
    text = io.StringIO()
    monkeypatch.setattr(console.out, "_file", text)
    monkeypatch.setattr(console.out, "_width", width)
    console.out.print(table)
    return text.getvalue()


def leg(quantity: str | None = "10", remaining: str | None = "4", **fields: Any) -> models.OrderLeg:
    amounts = (None if each is None else Decimal(each) for each in (quantity, remaining))
    settings = dict(zip(("quantity", "remaining_quantity"), amounts, strict=True))
    return models.OrderLeg(**{"action": "Buy to Open", "symbol": "AAPL"} | settings | fields)


def filled_leg(action: str, *fills: tuple[str, str]) -> models.OrderLeg:
    quantity = sum(Decimal(each) for each, _ in fills) or 1
    made = [models.Fill(quantity=Decimal(each), fill_price=Decimal(price)) for each, price in fills]
    return models.OrderLeg(action=models.LegAction(action), symbol="X", quantity=Decimal(quantity), fills=tuple(made))


class TestWords:
    def test_legs(self) -> None:
        assert legs_of(models.Order(legs=(leg(), leg(symbol="MSFT")))) == "Buy to Open 10 AAPL, Buy to Open 10 MSFT"
        assert legs_of(models.Order()) == ""

    @pytest.mark.parametrize(
        ("legs", "expected"),
        [
            ((leg(),), "6/10"),
            ((leg(remaining=None), leg("2", "2")), "0/2"),
            ((leg(quantity=None),), ""),
            ((), ""),
            (None, ""),
        ],
        ids=["some", "second", "unknown", "none", "absent"],
    )
    def test_how_much_is_filled(self, legs: Any, expected: str) -> None:
        assert filled(models.Order(legs=legs)) == expected

    @pytest.mark.parametrize(
        ("legs", "expected"),
        [
            ((), "1.50"),
            ((filled_leg("Buy to Open", ("10", "2.00")),), "2.00"),
            ((filled_leg("Sell to Close", ("5", "2.00"), ("5", "2.01")),), "2.005"),
            ((filled_leg("Buy to Open", ("1", "1"), ("2", "2")),), "1.6667"),
            ((filled_leg("Buy to Open", ("1", "5.00")), filled_leg("Sell to Open", ("1", "3.15"))), "1.85 Debit"),
            ((filled_leg("Sell to Open", ("2", "5.00")), filled_leg("Buy to Open", ("4", "1.20"))), "2.60 Credit"),
            ((filled_leg("Buy to Open", ("1", "1.00")), filled_leg("Sell to Open", ("1", "1.00"))), "0.00"),
            ((filled_leg("Buy", ("0.5", "4")), filled_leg("Sell", ("1.5", "1"))), "1 Debit"),
            ((filled_leg("Buy to Open", ("1", "5.00")), filled_leg("Sell to Open")), "1.50 Credit"),
        ],
        ids=["limit", "one", "average", "rounded", "debit", "ratio", "even", "fractions", "half-filled"],
    )
    def test_price_is_the_net_price_of_the_fills_or_the_limit(self, legs: Any, expected: str) -> None:
        order = models.Order(price=Decimal("1.50"), price_effect=models.PriceEffect.CREDIT, legs=legs)
        assert price_of(order) == expected

    def test_price_of_an_order_without_any_is_empty(self) -> None:
        assert price_of(models.Order(legs=(leg(),))) == ""

    @pytest.mark.parametrize(
        ("order", "expected"),
        [
            (market(buy_to_open("AAPL", 1)), "A1: Buy to Open 1 AAPL; Market, Day"),
            (limit(buy_to_open("AAPL", 1), price="1.50"), "A1: Buy to Open 1 AAPL; Limit at 1.50 Debit, Day"),
            (
                stop_limit(buy_to_open("AAPL", 1), trigger=2, price=3, until=AT.date()),
                "A1: Buy to Open 1 AAPL; Stop Limit at 3 Debit when it trades at 2, until 2026-03-02",
            ),
            (notional(buy_to_open("AAPL"), value=50), "A1: Buy to Open AAPL; Notional Market for 50 Debit, Day"),
        ],
        ids=["market", "limit", "stop-limit", "notional"],
    )
    def test_an_order_in_one_line(self, order: models.NewOrder, expected: str) -> None:
        assert ticket_line("A1", order) == expected

    def test_messages(self) -> None:
        found = (models.PreflightMessage(code="c", message="no"), models.PreflightMessage(code="d"))
        assert messages("warning", found) == ["warning: no (c)", "warning: d (d)"]
        assert messages("error", None) == []


class TestJson:
    def test_a_placement(self) -> None:
        placement = Placement(
            outcome=Outcome.PLACED,
            account_number="A1",
            external_identifier="x",
            order=models.Order(id="7"),
            body=b'{"a":1}',
            opened_at=AT,
        )
        found = placement_json(placement)
        assert (found["outcome"], found["order"], found["body"]) == ("placed", {"id": "7"}, {"a": 1})
        assert found["opened-at"] == AT.isoformat()

    def test_a_change(self) -> None:
        lost = OrderChange(outcome=ChangeOutcome.UNKNOWN, order=None, error=ServerError("no"))
        assert change_json(lost) == {"outcome": "unknown", "order": None, "error": "no"}
        assert raw(None) is None

    def test_a_placement_of_a_complex_order(self) -> None:
        placement = Placement(
            outcome=Outcome.PLACED,
            account_number="A1",
            external_identifier="x",
            order_id="9",
            complex_order=models.ComplexOrder(id="9"),
        )
        found = placement_json(placement)
        assert (found["order"], found["complex-order"]) == (None, {"id": "9"})
        (column,) = (each for each in placement_table([placement]).columns if each.header == "order")
        assert list(column.cells) == ["9"]


class TestTables:
    HOSTILE = "x[/y][red]:smile:"

    def test_text_of_others_is_no_markup(self, monkeypatch: pytest.MonkeyPatch) -> None:
        order = models.Order(id="7", external_identifier=self.HOSTILE, received_at=AT, legs=(leg(symbol="[/b]"),))
        found = shown(order_table([order]), monkeypatch)
        assert self.HOSTILE in found
        assert "Buy to Open 10 [/b]" in found
        assert "2026-03-02 15:30:00" in found
        placement = Placement(
            outcome=Outcome.UNKNOWN, account_number="A1", external_identifier=self.HOSTILE, order=None, note="[/n]"
        )
        found = shown(placement_table([placement]), monkeypatch)
        assert self.HOSTILE in found
        assert "[/n]" in found

    def test_what_has_no_room_is_left_out_and_named(self) -> None:
        order = models.Order(
            id="400869569", status=models.OrderStatus.CANCEL_REQUESTED, external_identifier=str(uuid.UUID(int=0)),
            received_at=AT, order_type=models.OrderType.LIMIT, price=Decimal("1.00"), legs=(leg(),),
        )  # fmt: skip

        def headings(width: int | None) -> list[object]:
            return [column.header for column in order_table([order], width).columns]

        everything = headings(None)
        assert len(everything) == 8
        assert headings(200) == everything
        assert headings(80) == ["id", "status", "what", "type", "price", "filled"]
        assert "external identifier, received (UTC). --json" in str(order_table([order], 80).caption)
        assert headings(1) == ["id", "status", "what", "price", "filled"]

    @pytest.mark.parametrize("width", [1, 5, 20, 80])
    def test_any_width_will_do(self, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
        assert shown(order_table([models.Order(id="7"), models.Order()], width), monkeypatch, width)

    def test_an_order_without_a_limit_shows_its_trigger(self) -> None:
        orders = [models.Order(stop_trigger=Decimal("180.5")), models.Order(price=Decimal(1), stop_trigger=Decimal(2))]
        (column,) = (each for each in order_table(orders).columns if each.header == "price")
        assert list(column.cells) == ["180.5", "1"]

    def test_a_preview_shows_what_it_was_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        effect = models.BuyingPowerEffect(
            change_in_buying_power=Decimal("1234.5"), change_in_buying_power_effect=models.PriceEffect.DEBIT
        )
        found = shown(preview_table(models.PlacedOrderResponse(buying_power_effect=effect)), monkeypatch)
        assert "1,234.5" in found
        assert "Debit" in found
        assert "fees" not in found


def test_the_console_of_the_commands_takes_nothing_for_markup() -> None:
    for each in (console.out, console.err):
        assert isinstance(each, Console)
        assert each.render_str("[red]:smile:").plain == "[red]:smile:"
