"""Cryptocurrencies: pairs with the dollar that can be traded around the clock."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import attrs

from ..._generated.converters import CryptocurrencyWire, DestinationVenueSymbolWire, QuantityDecimalPrecisionWire
from ..._generated.models import InstrumentType
from .instrument import Instrument

__all__ = ["CRYPTOCURRENCIES", "Cryptocurrency"]

QUANTITY_PLACES = 8
"""Decimal places of a quantity."""


@attrs.frozen(kw_only=True)
class Cryptocurrency:
    """One pair with the dollar."""

    number: int
    code: str
    name: str
    price: Decimal

    @property
    def symbol(self) -> str:
        """Symbol of the pair (``BTC/USD``)."""
        return f"{self.code}/USD"

    def instrument(self) -> Instrument:
        """Return the tradable instrument."""
        kind = InstrumentType.CRYPTOCURRENCY
        return Instrument(symbol=self.symbol, instrument_type=kind, underlying=self.symbol)

    def row(self) -> CryptocurrencyWire:
        """Return the pair as a wire struct."""
        venue = DestinationVenueSymbolWire(
            id=100 + self.number,
            symbol=self.symbol,
            destination_venue="ZERO_HASH_CLOB",
            max_quantity_precision=QUANTITY_PLACES,
            max_price_precision=2,
            routable=True,
        )
        return CryptocurrencyWire(
            id=self.number,
            symbol=self.symbol,
            instrument_type=InstrumentType.CRYPTOCURRENCY,
            short_description=self.name,
            description=f"{self.name} to USD",
            is_closing_only=False,
            active=True,
            tick_size="0.01",
            streamer_symbol=f"{self.symbol}:CXTALP",
            destination_venue_symbols=[venue],
        )

    def precision(self) -> QuantityDecimalPrecisionWire:
        """Return the decimal places of its quantities as a wire struct."""
        return QuantityDecimalPrecisionWire(
            instrument_type=InstrumentType.CRYPTOCURRENCY,
            symbol=self.symbol,
            value=QUANTITY_PLACES,
            minimum_increment_precision=QUANTITY_PLACES,
        )


_LISTED = """
    BTC   105000 Bitcoin
    ETH   2600   Ethereum
    SOL   150    Solana
    ADA   0.66   Cardano
    ALGO  0.19   Algorand
    APT   4.7    Aptos
    ARB   0.35   Arbitrum
    ATOM  4.3    Cosmos
    AVAX  20.5   Avalanche
    AXS   2.4    Axie Infinity
    BAT   0.14   Basic Attention Token
    BCH   430    Bitcoin Cash
    BONK  0.17   Bonk (10,000)
    CHZ   0.37   Chiliz
    COMP  48     Compound
    CRV   0.65   Curve DAO Token
    DOGE  0.18   Dogecoin
    DOT   4.0    Polkadot
    ENJ   0.72   Enjin Coin
    ETC   17.4   Ethereum Classic
    FIL   2.5    Filecoin
    GRT   0.92   The Graph
    HBAR  0.16   Hedera
    ICP   5.6    Internet Computer
    LDO   0.84   Lido DAO
    LINK  14.1   Chainlink
    LTC   88     Litecoin
    MANA  0.27   Decentraland
    NEAR  2.4    NEAR Protocol
    PAXG  3320   PAX Gold
    POL   0.21   Polygon
    SAND  0.26   The Sandbox
    SHIB  0.13   Shiba Inu (10,000)
    SUI   3.2    Sui
    UNI   7.6    Uniswap
    USDC  1.0    USD Coin
    XLM   0.27   Stellar
    XRP   2.2    XRP
    XTZ   0.58   Tezos
"""


def _listed(number: int, line: str) -> Cryptocurrency:
    code, price, name = line.split(maxsplit=2)
    return Cryptocurrency(number=number, code=code, name=name, price=Decimal(price))


CRYPTOCURRENCIES: Mapping[str, Cryptocurrency] = {
    listed.symbol: listed
    for listed in (_listed(number, line) for number, line in enumerate(_LISTED.strip().splitlines(), start=1))
}
"""Cryptocurrencies by symbol."""
