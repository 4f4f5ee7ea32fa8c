"""Selection of options from nested chains: from days to expiration and moneyness to the symbols of a spread.

    chain = OptionChain.of(await client.option_chains.nested("AAPL"))
    june = chain.expiration(days=45)
    order = tickets.spread(long=june.strike(near=110).call, short=june.strike(near=115).call, debit="1.85")

Everything but `OptionChain.greeks` is computed from the rows of one answer. Nothing is sent. A selection that fits
nothing, or several expirations, raises `InvalidRequestError` with the candidates.
"""

from .chain import ChainGreeks, Expiration, OptionChain, OptionGreeks, Strike

__all__ = ["ChainGreeks", "Expiration", "OptionChain", "OptionGreeks", "Strike"]
