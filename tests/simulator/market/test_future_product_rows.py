"""Rows of futures products and of the products of their options."""

from __future__ import annotations

from brokerage_async.simulator.market.future_products import FUTURES
from brokerage_async.simulator.market.futures import OptionProduct, option_products, product_row


def test_rows_of_products_and_option_products_embed_each_other() -> None:
    options = [OptionProduct(FUTURES["CL"]).row()]
    assert product_row(FUTURES["CL"]).option_products is None
    assert product_row(FUTURES["CL"], options).option_products == options
    assert product_row(FUTURES["CL"]).product_type == "Physical"
    assert option_products()["ES"].expiration_type == "Regular"
    assert option_products()["ES2"] == OptionProduct(FUTURES["ES"], 2)
    for root, product in option_products().items():
        assert product.root == product.row().root_symbol == root
    product = OptionProduct(FUTURES["ES"], 3)
    row, details = product.row(), product.details()
    assert row.futures_trading_cutoff_times is None
    assert details.futures_trading_cutoff_times is not None
    assert details.future_product == product_row(FUTURES["ES"])
    for name in ("root_symbol", "cash_settled", "expiration_type", "is_am_settled", "market_sector"):
        assert getattr(details, name) == getattr(row, name) is not None
