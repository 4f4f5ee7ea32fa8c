"""One channel, and the messages that it sends in each state."""

from brokerage_async.protocol.streams.channel import MAX_MESSAGE, Channel, Quota, Subscription
from brokerage_async.protocol.streams.snapshots import HeldRows


def quotes() -> Channel:
    return Channel(("Quote", "AUTO", None, False), Quota(), HeldRows())


def kinds(channel: Channel) -> list[str]:
    return [message["type"] for message in channel.send(0.0, 10.0, 0.1, MAX_MESSAGE)]


def test_channel_without_subscriptions_is_not_requested() -> None:
    channel = quotes()
    assert kinds(channel) == []
    assert channel.is_settled
    channel.add(Subscription("Quote", "ACME"))
    assert not channel.is_settled
    channel.remove(Subscription("Quote", "ACME"))
    assert channel.is_settled
    assert kinds(channel) == []


def test_error_that_answers_the_request_refuses_the_channel() -> None:
    channel = quotes()
    channel.add(Subscription("Quote", "ACME"))
    kinds(channel)
    assert channel.fail(1.0) == {"ACME"}
    assert (channel.answer_due, channel.is_settled, kinds(channel)) == (None, True, [])
    channel.reset(0.0)
    assert kinds(channel) == ["CHANNEL_REQUEST"]
    channel.opened()
    kinds(channel)
    assert channel.fail(9.0) == {"ACME"}
    assert channel.fail(10.0) == frozenset(), "an answer is due after ten seconds: the error concerns something else"
    channel.add(Subscription("Quote", "B"))
    assert (kinds(channel), channel.errors) == (["FEED_SUBSCRIPTION"], 3)
    assert channel.fail(9.0) == {"ACME", "B"}


def test_channel_is_requested_set_up_and_subscribed_once() -> None:
    channel = quotes()
    channel.add(Subscription("Quote", "ACME"))
    assert kinds(channel) == ["CHANNEL_REQUEST"]
    assert (channel.answer_due, kinds(channel)) == (10.0, [])
    channel.opened()
    assert (channel.answer_due, channel.is_settled) == (None, False)
    assert kinds(channel) == ["FEED_SETUP", "FEED_SUBSCRIPTION"]
    channel.opened()
    assert (kinds(channel), channel.is_settled) == ([], True)


def test_columns_of_other_types_stay() -> None:
    channel = quotes()
    channel.configure({"Trade": ["price"]})
    channel.configure({"Quote": ["bidPrice"], "Trade": [7], "Greeks": None})
    channel.configure(None)
    assert channel.columns == {"Quote": ("bidPrice",), "Trade": ("price",)}
