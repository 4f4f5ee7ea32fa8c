"""Peers that decode the same bodies: the tastytrade SDK with its own client code, and msgspec structs."""

from __future__ import annotations

import types
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints

import attrs
import msgspec

from brokerage_async import models
from brokerage_async._generated.converters import WIRES
from brokerage_async.protocol.decoding.fields import wire_fields


@cache
def peer_models() -> dict[type[Any], Any]:
    """Return the peer's class for each of ours.

    Fields that it requires and the service document does not name are made optional: the bodies stay the same for all,
    and the peer has that much less to do.
    """
    from tastytrade.account import CurrentPosition
    from tastytrade.instruments import Equity, FutureOption, NestedOptionChain, Option
    from tastytrade.market_data import MarketData
    from tastytrade.order import PlacedOrder

    pairs = {
        models.Equity: Equity,
        models.EquityOption: Option,
        models.FutureOption: FutureOption,
        models.Order: PlacedOrder,
        models.NestedOptionChain: NestedOptionChain,
        models.MarketDataSnapshot: MarketData,
        models.Position: CurrentPosition,
    }
    seen: set[Any] = set()
    for peer in pairs.values():
        _make_optional(peer, seen)
    return pairs


def _make_optional(peer: Any, seen: set[Any]) -> None:
    if peer in seen:
        return
    seen.add(peer)
    for field in peer.model_fields.values():
        for part in _parts(field.annotation):
            if hasattr(part, "model_fields"):
                _make_optional(part, seen)
        if field.is_required():
            field.default = None
    peer.model_rebuild(force=True)


def _parts(annotation: Any) -> list[Any]:
    return [annotation, *(part for argument in get_args(annotation) for part in _parts(argument))]


def peer_from_bytes(model: type[Any]) -> Callable[[bytes], list[Any]]:
    """Return the peer's own client code from the body of a response to its objects."""
    from httpx2 import Response
    from tastytrade.utils import validate_and_parse

    peer = peer_models()[model]
    return lambda body: [peer(**row) for row in validate_and_parse(Response(200, content=body))["items"]]


def peer_from_dicts(model: type[Any]) -> Callable[[list[dict[str, Any]]], list[Any]]:
    """Return a maker of the peer's objects from rows that were parsed already."""
    peer = peer_models()[model]
    return lambda rows: [peer(**row) for row in rows]


def peer_encode(order: models.NewOrder) -> Callable[[], str]:
    """Return the peer's own client code from its order, the same as ours, to the JSON of a request."""
    from tastytrade.order import InstrumentType, Leg, NewOrder, OrderAction, OrderTimeInForce, OrderType

    legs = [
        Leg(
            instrument_type=InstrumentType(leg.instrument_type),
            symbol=leg.symbol,
            action=OrderAction(leg.action),
            quantity=leg.quantity,
        )
        for leg in order.legs
    ]
    peer = NewOrder(
        time_in_force=OrderTimeInForce(order.time_in_force), order_type=OrderType(order.order_type), legs=legs
    )
    return lambda: peer.model_dump_json(exclude_none=True, by_alias=True)


@cache
def struct_of(model: type[Any]) -> Any:
    """Return the struct that one would write by hand for a model: the same fields, fully typed, frozen, no extra."""
    hints = get_type_hints(model)
    keys = {field.target: key for key, field in wire_fields(WIRES[model]).items() if field.alias_of is None}
    fields = [
        (field.name, _struct_type(hints[field.name]), msgspec.field(default=None, name=keys[field.name]))
        for field in attrs.fields(model)
        if field.name != "extra"
    ]
    return msgspec.defstruct(model.__name__, fields, frozen=True, gc=False)


def _struct_type(hint: Any) -> Any:
    if get_origin(hint) in (Union, types.UnionType):
        options = [_struct_type(option) for option in get_args(hint)]
        return Union[tuple(options)]  # noqa: UP007
    if get_origin(hint) is tuple:
        return list[_struct_type(get_args(hint)[0])]  # type: ignore[misc]
    if hint is datetime:
        return datetime | int
    return struct_of(hint) if hint in WIRES else hint


def struct_decoder(model: type[Any]) -> Callable[[bytes], list[Any]]:
    """Return a decoder from the body of a list to structs."""
    items: Any = msgspec.defstruct("Items", [("items", list[struct_of(model)])], gc=False)
    page = msgspec.defstruct("Page", [("data", items)], gc=False)
    decoder: Any = msgspec.json.Decoder(page)
    return lambda body: decoder.decode(body).data.items
