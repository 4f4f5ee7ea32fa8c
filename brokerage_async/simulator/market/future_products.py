"""Futures products: price levels, contract sizes, margins and strikes.

Every product lists quarterly contracts.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

import attrs

__all__ = ["FUTURES", "FutureProduct", "product_of"]


@attrs.frozen(kw_only=True)
class FutureProduct:
    """Futures product: price level, contract size, initial margin per contract, option strikes."""

    code: str
    name: str
    price: Decimal
    multiplier: Decimal
    tick: Decimal
    margin: Decimal
    strike_step: Decimal
    sector: str
    exchange: str

    @property
    def is_physical(self) -> bool:
        """Whether the underlying is delivered rather than settled in cash."""
        return self.sector in _DELIVERED

    @property
    def is_small(self) -> bool:
        """Whether it is a micro or mini contract."""
        return self.name.startswith(("Micro", "Small", "Mini "))

    @property
    def streamer_exchange(self) -> str:
        """Code of the exchange in streamer symbols."""
        return _STREAMER_EXCHANGES[self.exchange]


_DELIVERED = frozenset({"Energy", "Metals", "Interest Rates", "Agriculture", "FX"})
_STREAMER_EXCHANGES = {"CME": "XCME", "CFE": "XCBF", "SMALLS": "SMFE"}

_PRODUCTS = {
    ("Equity Index", "CME"): """
        ES   6000     50      0.25     15000  5       E-mini S&P 500
        NQ   21500    20      0.25     22000  50      E-mini Nasdaq-100
        RTY  2200     50      0.1      7500   10      E-mini Russell 2000
        YM   42500    5       1        9800   100     E-mini Dow Jones
        EMD  3000     100     0.1      14000  10      E-mini S&P MidCap 400
        MES  6000     5       0.25     1500   5       Micro E-mini S&P 500
        MNQ  21500    2       0.25     2200   50      Micro E-mini Nasdaq-100
        M2K  2200     5       0.1      750    10      Micro E-mini Russell 2000
        MYM  42500    0.5     1        980    100     Micro E-mini Dow Jones
        MMC  3000     10      0.1      1400   10      Micro E-mini S&P MidCap 400
        SMC  1300     50      0.1      6200   10      E-mini S&P SmallCap 600
        NKD  38500    5       5        12000  250     Nikkei 225 in dollars
        MNK  38500    0.5     5        1200   250     Micro Nikkei 225 in dollars
        RS1  1900     50      0.1      7200   10      E-mini Russell 1000
        RSV  1850     50      0.1      6800   10      E-mini Russell 1000 Value
        RSG  4100     50      0.1      14500  20      E-mini Russell 1000 Growth
        XAF  600      250     0.05     9000   5       E-mini Financials
        XAK  2400     100     0.1      16000  20      E-mini Technology""",
    ("Energy", "CME"): """
        CL   70       1000    0.01     6200   0.5     Light Sweet Crude Oil
        NG   3.5      10000   0.001    4100   0.05    Henry Hub Natural Gas
        MCL  70       100     0.01     620    0.5     Micro Light Sweet Crude Oil
        MNG  3.5      1000    0.001    410    0.05    Micro Henry Hub Natural Gas
        QM   70       500     0.025    3100   0.5     Mini Light Sweet Crude Oil
        QG   3.5      2500    0.005    1030   0.05    Mini Henry Hub Natural Gas
        RB   2.1      42000   0.0001   6800   0.05    RBOB Gasoline
        HO   2.2      42000   0.0001   7300   0.05    NY Harbor ULSD
        BZ   73       1000    0.01     6100   0.5     Brent Last Day""",
    ("Metals", "CME"): """
        GC   3300     100     0.1      16000  5       Gold
        SI   36       5000    0.005    15500  0.5     Silver
        HG   4.8      25000   0.0005   8200   0.05    Copper
        PL   1150     50      0.1      5200   10      Platinum
        PA   1000     100     0.5      17000  10      Palladium
        MGC  3300     10      0.1      1600   5       Micro Gold
        SIL  36       1000    0.005    3100   0.5     Micro Silver
        MHG  4.8      2500    0.0005   820    0.05    Micro Copper
        QO   3300     50      0.25     8000   5       Mini Gold
        QI   36       2500    0.0125   7800   0.5     Mini Silver
        1OZ  3300     1       0.25     160    5       Micro One Ounce Gold
        ALI  2450     25      0.25     3200   25      Aluminum""",
    ("Interest Rates", "CME"): """
        ZB   115      1000    0.03125  4000   1       30-Year Treasury Bond
        ZN   111      1000    0.015625 2000   0.5     10-Year Treasury Note
        ZF   108      1000    0.0078125 1300  0.25    5-Year Treasury Note
        ZT   104      2000    0.00390625 1100 0.125   2-Year Treasury Note
        UB   118      1000    0.03125  5200   1       Ultra Treasury Bond
        TN   113      1000    0.015625 2600   0.5     Ultra 10-Year Treasury Note
        Z3N  105      2000    0.00390625 1200 0.125   3-Year Treasury Note
        TWE  112      1000    0.03125  3900   1       20-Year Treasury Bond
        SR3  95.75    2500    0.0025   800    0.125   Three-Month SOFR
        SR1  95.75    4167    0.0025   500    0.125   One-Month SOFR
        ZQ   95.75    4167    0.0025   450    0.125   30-Day Federal Funds
        10Y  4.4      1000    0.001    310    0.05    Micro 10-Year Yield
        2YY  3.9      1000    0.001    350    0.05    Micro 2-Year Yield
        30Y  4.9      1000    0.001    330    0.05    Micro 30-Year Yield""",
    ("FX", "CME"): """
        6E   1.15     125000  0.00005  2600   0.005   Euro FX
        6J   0.0069   12500000 0.0000005 2900 0.00005 Japanese Yen
        6B   1.35     62500   0.0001   2100   0.005   British Pound
        6A   0.65     100000  0.00005  1700   0.005   Australian Dollar
        6C   0.73     100000  0.00005  1000   0.005   Canadian Dollar
        6S   1.22     125000  0.00005  4200   0.005   Swiss Franc
        6N   0.6      100000  0.00005  1500   0.005   New Zealand Dollar
        6M   0.052    500000  0.00001  1600   0.0005  Mexican Peso
        M6E  1.15     12500   0.0001   260    0.005   Micro Euro FX
        M6A  0.65     10000   0.0001   170    0.005   Micro Australian Dollar
        M6B  1.35     6250    0.0001   210    0.005   Micro British Pound
        MCD  0.73     10000   0.0001   100    0.005   Micro Canadian Dollar
        MSF  1.22     12500   0.0001   420    0.005   Micro Swiss Franc""",
    ("Agriculture", "CME"): """
        ZC   440      50      0.25     1100   5       Corn
        ZS   1050     50      0.25     2100   10      Soybeans
        ZW   540      50      0.25     1900   10      Chicago Wheat
        KE   535      50      0.25     1900   5       KC Hard Red Winter Wheat
        ZL   47       600     0.01     1700   1       Soybean Oil
        ZM   295      100     0.1      1800   5       Soybean Meal
        ZO   370      50      0.25     1300   5       Oats
        HE   105      400     0.025    1900   1       Lean Hogs
        LE   215      400     0.025    2600   1       Live Cattle
        GF   305      500     0.025    4300   1       Feeder Cattle""",
    ("Cryptocurrency", "CME"): """
        BTC  105000   5       5        105000 500     Bitcoin
        MBT  105000   0.1     5        2100   500     Micro Bitcoin
        ETH  2600     50      0.5      39000  50      Ether
        MET  2600     0.1     0.5      80     50      Micro Ether""",
    ("Volatility", "CFE"): """
        VX   18       1000    0.05     7600   0.5     Cboe Volatility Index
        VXM  18       100     0.01     760    0.5     Mini Cboe Volatility Index""",
    ("Equity Index", "SMALLS"): """
        SM75 640      10      0.01     330    5       Small Stocks 75""",
}


FUTURES: Mapping[str, FutureProduct] = {
    code: FutureProduct(
        code=code,
        name=name,
        price=Decimal(price),
        multiplier=Decimal(multiplier),
        tick=Decimal(tick),
        margin=Decimal(margin),
        strike_step=Decimal(step),
        sector=sector,
        exchange=exchange,
    )
    for (sector, exchange), lines in _PRODUCTS.items()
    for line in lines.strip().splitlines()
    for code, price, multiplier, tick, margin, step, name in [line.split(maxsplit=6)]
}
"""Futures products by code; the first has the large option chain."""


def product_of(symbol: str) -> FutureProduct | None:
    """Return the product of a future's symbol (``/ESZ6``), None for an unknown one."""
    return FUTURES.get(symbol[1:-2]) if symbol.startswith("/") else None
