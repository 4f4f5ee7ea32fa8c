"""Futures products."""

from __future__ import annotations

from brokerage_async.simulator.market.future_products import FUTURES, product_of
from tests.tables import for_each


def test_products_are_complete_and_the_large_chain_comes_first() -> None:
    assert len(FUTURES) == 83
    assert next(iter(FUTURES)) == "ES"
    for code, product in FUTURES.items():
        assert product.code == code
        assert 0 < product.tick < product.price
        assert product.multiplier > 0
        assert product.margin > 0
        assert 0 < product.strike_step < product.price / 5
        assert (product.price / product.strike_step) % 1 == 0, "strikes must lie on the price level"
    assert (FUTURES["CL"].is_physical, FUTURES["ES"].is_physical) == (True, False)
    assert (FUTURES["MES"].is_small, FUTURES["SM75"].is_small, FUTURES["ES"].is_small) == (True, True, False)
    assert [FUTURES[code].streamer_exchange for code in ("ES", "VX", "SM75")] == ["XCME", "XCBF", "SMFE"]


@for_each(
    "symbol, code", [("/ESZ6", "ES"), ("/M2KU6", "M2K"), ("ESZ6", None), ("/XXZ6", None), ("/", None), ("", None)]
)
def test_product_of_a_symbol(symbol: str, code: str | None) -> None:
    product = product_of(symbol)
    assert (None if product is None else product.code) == code
