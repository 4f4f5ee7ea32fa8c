"""Futures, their products and options, as listed."""

from typing import Any
from urllib.parse import quote

from tests.simulator.harness import Harness
from tests.tables import for_each

BASE = "/instruments"


def futures(harness: Harness, query: str = "") -> list[str]:
    return [row.symbol for row in harness.decoded("instruments.futures", f"{BASE}/futures?{query}")]


def options(harness: Harness, query: str) -> Any:
    return harness.decoded("instruments.future_options", f"{BASE}/future-options?{query}")


def test_futures_are_found_by_product_symbol_and_security(harness: Harness) -> None:
    active = ["/ESM6", "/ESU6", "/ESZ6", "/ESH7", "/ESM7", "/ESU7", "/ESZ7"]
    assert futures(harness, "product-code[]=ES") == active
    assert futures(harness, "product-code[]=%2FES&only-active-futures=false") == ["/ESH6", *active]
    assert len(futures(harness)) == 83 * 7
    assert futures(harness, "symbol[]=%2FESZ6&symbol[]=CLM6&symbol[]=NOPE&product-code[]=NQ") == ["/ESZ6", "/CLM6"]
    assert futures(harness, "symbol[]=%2FESH6") == []
    row = harness.decoded("instruments.future", f"{BASE}/futures/ESZ6")
    assert futures(harness, f"security-id[]={row.security_id}") == ["/ESZ6"]
    assert futures(harness, f"security-id[]={row.security_id}&exchange=CFE") == []
    legs = [{"symbol": "/ESH6", "instrument-type": "Future", "action": "Buy to Open", "quantity": "1"}]
    body = {"order-type": "Market", "time-in-force": "Day", "legs": legs}
    response = harness.ask("POST", f"/accounts/{harness.account}/orders", body)
    assert response.status == 422
    assert b"instrument_expired" in response.body
    harness.wait_until("2026-06-19T14:00:00+00:00")
    assert futures(harness, "product-code[]=ES")[0] == "/ESU6"
    assert not harness.decoded("instruments.future", f"{BASE}/futures/%2FESM6").active


@for_each("symbol", ["%2FESZ6", "ESZ6"])
def test_one_future_embeds_its_product(harness: Harness, symbol: str) -> None:
    row = harness.decoded("instruments.future", f"{BASE}/futures/{symbol}")
    product = harness.decoded("instruments.future_product", f"{BASE}/future-products/CME/ES")
    assert row.symbol == "/ESZ6"
    assert (row.notional_multiplier, row.tick_size) == (product.notional_multiplier, product.tick_size)
    assert row.future_product.option_products is None
    assert harness.ask("GET", f"{BASE}/futures/%2FESN6").status == 404


def test_products_are_paged_and_embed_each_other_once(harness: Harness) -> None:
    products = harness.decoded("instruments.future_products", f"{BASE}/future-products")
    assert len(products) == 83
    assert {product.exchange for product in products} == {"CME", "CFE", "SMALLS"}
    [es, *_] = products
    assert harness.decoded("instruments.future_product", f"{BASE}/future-products/CME/ES") == es
    assert [one.root_symbol for one in es.option_products] == ["ES", "ES1", "ES2", "ES3", "ES4", "ES5"]
    rows = harness.decoded("instruments.future_option_products", f"{BASE}/future-option-products?per-page=6")
    assert [row.root_symbol for row in rows] == [one.root_symbol for one in es.option_products]
    assert {row.future_product.code for row in rows} == {"ES"}
    assert {row.future_product.option_products for row in rows} == {None}
    assert harness.ask("GET", f"{BASE}/future-products/CFE/ES").status == 404
    pages = [harness.rows(f"{BASE}/future-products?per-page=40&page-offset={offset}") for offset in range(4)]
    assert [len(page) for page in pages] == [40, 40, 3, 0]


@for_each("path", ["ES3", "CME/ES3"])
def test_one_option_product(harness: Harness, path: str) -> None:
    name = "instruments.future_option_product_of_exchange" if "/" in path else "instruments.future_option_product"
    row = harness.decoded(name, f"{BASE}/future-option-products/{path}")
    assert (row.root_symbol, row.expiration_type, row.future_product.code) == ("ES3", "Weekly", "ES")
    assert harness.ask("GET", f"{BASE}/future-option-products/{path.replace('ES3', 'ES9')}").status == 404
    assert harness.ask("GET", f"{BASE}/future-option-products/CFE/ES3").status == 404


def test_options_are_found_filtered_and_paged(harness: Harness) -> None:
    row = harness.rows("/futures-option-chains/CL")[7]
    assert harness.get(f"{BASE}/future-options/{quote(row['symbol'], safe='')}")["data"] == row
    for symbol in (row["symbol"].replace(" ", "  "), "./ESZ6 EW3U6 260918P9100", "./NOPE", "x"):
        assert harness.ask("GET", f"{BASE}/future-options/{quote(symbol, safe='')}").status == 404
    [row] = options(harness, "option-root-symbol=ES2&strike-price=5525&option-type=P")
    assert row.symbol == "./ESM6 ES2M6 260612P5525"
    for query in (
        f"symbol[]={quote(row.symbol)}&symbol[]=nonsense",
        f"security-id[]={row.security_id}",
        "expiration-date=2026-06-12&maturity-date=2026-06-12&exchange=CME&strike-price=5525.0&option-root-symbol=ES2"
        "&option-type=P",
    ):
        assert options(harness, query) == [row]
    for query in (
        "expiration-date=2026-06-13",
        "expiration-date=2026-06-12&maturity-date=2026-06-13",
        f"symbol[]={quote(row.symbol)}&exchange=CFE",
        "symbol[]=.%2FXXM6%20XX2M6%20260612P5525",
    ):
        assert options(harness, query) == []
    body = harness.get(f"{BASE}/future-options?per-page=60&page-offset=1")
    assert body["pagination"]["total-items"] == 83 * 50
    every = harness.rows("/futures-option-chains/ES") + harness.rows("/futures-option-chains/NQ")
    assert [row["symbol"] for row in body["data"]["items"]] == [row["symbol"] for row in every[60:]] + [
        row["symbol"] for row in harness.rows("/futures-option-chains/RTY")[:20]
    ]
    harness.wait_until("2026-06-15T14:00:00+00:00")
    assert options(harness, "exchange=CME") == []
