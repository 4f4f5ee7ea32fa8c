"""Tokens for the market-data streamer."""

from brokerage_async.simulator.accounts.accounts import Customer
from brokerage_async.simulator.authorization_server import QUOTE_TOKEN_LIFETIME, QuoteTokens
from brokerage_async.simulator.keyed_random import KeyedRandom

ONE, OTHER = Customer(1, "one"), Customer(2, "other")


def test_token_stands_for_its_customer_until_it_expires() -> None:
    tokens = QuoteTokens(KeyedRandom(0))
    first, second = tokens.issue(ONE, 0.0), tokens.issue(OTHER, 10.0)
    assert first != second
    assert (tokens.identify(first, 20.0), tokens.identify(second, 20.0)) == (ONE, OTHER)
    assert tokens.identify(first, QUOTE_TOKEN_LIFETIME) is None
    assert tokens.identify(second, QUOTE_TOKEN_LIFETIME) == OTHER
    assert tokens.identify("nonsense", 0.0) is None
    tokens = QuoteTokens(KeyedRandom(0))
    for day in range(50):
        tokens.issue(ONE, day * QUOTE_TOKEN_LIFETIME)
    assert len(tokens._issued) == 1
