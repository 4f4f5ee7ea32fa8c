"""Symbols of instruments, parsed and built. Only their form is checked, not whether the instrument exists.

Every kind has a class of parts, whose ``str()`` is the symbol, and functions that parse a symbol and a streamer symbol.
Prefer the streamer symbols of the service's answers to built ones: exchanges and venues cannot be derived.
"""

from .symbols import (
    CryptocurrencySymbol,
    FutureOptionStreamer,
    FutureOptionSymbol,
    FutureSymbol,
    OptionSymbol,
    instrument_type_of,
    occ_symbol,
    parse_cryptocurrency,
    parse_cryptocurrency_streamer,
    parse_future,
    parse_future_option,
    parse_future_option_streamer,
    parse_future_streamer,
    parse_occ,
    parse_option_streamer,
)

__all__ = [
    "CryptocurrencySymbol", "FutureOptionStreamer", "FutureOptionSymbol", "FutureSymbol", "OptionSymbol",
    "instrument_type_of", "occ_symbol", "parse_cryptocurrency", "parse_cryptocurrency_streamer", "parse_future",
    "parse_future_option", "parse_future_option_streamer", "parse_future_streamer", "parse_occ",
    "parse_option_streamer",
]  # fmt: skip
