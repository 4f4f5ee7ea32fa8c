"""One channel: what it sends in each state."""

from __future__ import annotations

from brokerage_async.protocol.streams.channel import Channel, Subscription


def kinds(channel: Channel) -> list[str]:
    return [message["type"] for message in channel.send(10.0, 0.1)]


def test_channel_without_subscriptions_is_not_requested() -> None:
    assert kinds(Channel("Quote")) == []


def test_channel_is_requested_set_up_and_subscribed_once() -> None:
    channel = Channel("Quote")
    channel.add(Subscription("Quote", "ACME"))
    assert kinds(channel) == ["CHANNEL_REQUEST"]
    assert (channel.answer_due, kinds(channel)) == (10.0, [])
    channel.opened()
    assert (channel.answer_due, channel.is_settled) == (None, False)
    assert kinds(channel) == ["FEED_SETUP", "FEED_SUBSCRIPTION"]
    channel.opened()
    assert (kinds(channel), channel.is_settled) == ([], True)


def test_columns_of_other_types_stay() -> None:
    channel = Channel("Quote")
    channel.configure({"Trade": ["price"]})
    channel.configure({"Quote": ["bidPrice"], "Trade": [7], "Greeks": None})
    channel.configure(None)
    assert channel.columns == {"Quote": ("bidPrice",), "Trade": ("price",)}
