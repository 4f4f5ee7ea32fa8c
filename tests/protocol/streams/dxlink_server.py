"""Server of the market-data stream after the published document alone (dxLink AsyncAPI 1.0.2).

It shares nothing with the simulator. Each message of the client is checked against the schema of its type and the rules
of the document's text. Violations are kept in `broken`.
"""

import json
from typing import Any

from jsonschema import Draft202012Validator

ZERO: dict[str, Any] = {"const": 0}
TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
FORMAT: dict[str, Any] = {"enum": ["FULL", "COMPACT"]}
FIELDS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "array", "items": TEXT, "minItems": 1}}
ERRORS = ["UNSUPPORTED_PROTOCOL", "TIMEOUT", "UNAUTHORIZED", "INVALID_MESSAGE", "BAD_ACTION", "UNKNOWN"]


def message(required: str = "", *, channel: dict[str, Any] = NUMBER, **properties: Any) -> dict[str, Any]:
    known = {"type": TEXT, "channel": channel, **properties}
    return {"type": "object", "properties": known, "required": ["type", "channel", *required.split()]}


def entries(contract: str) -> dict[str, Any]:
    """Return the schema of a list of subscriptions on a channel: a series has a start, also where it is removed."""
    regular = {"type": "object", "properties": {"type": TEXT, "symbol": TEXT}, "required": ["type", "symbol"]}
    series = {"properties": {"fromTime": NUMBER}, "required": ["fromTime"]}
    book = {"properties": {"source": TEXT}, "required": ["source"]}
    kinds = [{"allOf": [regular, extra]} for extra in (series, book)]
    plain = {**regular, "not": {"anyOf": [{"required": ["fromTime"]}, {"required": ["source"]}]}}
    allowed = {"AUTO": [plain, *kinds], "HISTORY": kinds}.get(contract, [plain])
    return {"type": "array", "minItems": 1, "items": {"oneOf": allowed}}


SETUP = message("version", channel=ZERO, keepaliveTimeout=NUMBER, acceptKeepaliveTimeout=NUMBER, version=TEXT)
CONTRACT = {"type": "object", "properties": {"contract": {"enum": ["HISTORY", "TICKER", "STREAM", "AUTO"]}},
            "required": ["contract"]}  # fmt: skip
BOTH: dict[str, dict[str, Any]] = {
    "SETUP": SETUP,
    "KEEPALIVE": message(channel=ZERO),
    "ERROR": message("error message", error={"enum": ERRORS}, message=TEXT),
}
CLIENT: dict[str, dict[str, Any]] = {
    **BOTH,
    "AUTH": message("token", channel=ZERO, token=TEXT),
    "CHANNEL_REQUEST": message("service parameters", service={"const": "FEED"}, parameters=CONTRACT),
    "CHANNEL_CANCEL": message(),
    "FEED_SETUP": message(acceptAggregationPeriod=NUMBER, acceptEventFields=FIELDS, acceptDataFormat=FORMAT),
    "FEED_SUBSCRIPTION": message(reset={"type": "boolean"}),
}
SERVER: dict[str, dict[str, Any]] = {
    **BOTH,
    "AUTH_STATE": message("state", channel=ZERO, state={"enum": ["AUTHORIZED", "UNAUTHORIZED"]}),
    "CHANNEL_OPENED": message("service parameters", service={"enum": ["FEED", "DOM"]}, parameters={"type": "object"}),
    "CHANNEL_CLOSED": message(),
    "FEED_CONFIG": message("aggregationPeriod dataFormat", aggregationPeriod=NUMBER, dataFormat=FORMAT,
                           eventFields=FIELDS),
    "FEED_DATA": message("data", data={"oneOf": [
        {"type": "array", "items": {"type": "object", "required": ["eventType", "eventSymbol"]}},
        {"type": "array", "minItems": 2, "items": {"oneOf": [TEXT, {"type": "array"}]}},
    ]}),
}  # fmt: skip


def problems(text: str, schemas: dict[str, dict[str, Any]], contract: str = "AUTO") -> list[str]:
    """Return how a message breaks the schema of its type; ``contract`` is the one of its channel."""
    one = json.loads(text)
    schema = schemas.get(one.get("type"))
    if schema is None:
        return [f"unknown message {text[:80]}"]
    if one["type"] == "FEED_SUBSCRIPTION":
        lists = {"add": entries(contract), "remove": entries(contract)}
        schema = {**schema, "properties": {**schema["properties"], **lists}}
    extra = set(one) - set(schema["properties"]) - {"userId"}
    found = [
        f"{one['type']}: {each.json_path}: {each.message}" for each in Draft202012Validator(schema).iter_errors(one)
    ]
    return found + [f"{one['type']}: unknown key {key}" for key in sorted(extra)]


class DxLinkServer:
    """The server's side of one connection. ``subscriptions``: the start of each, by channel, type and symbol.

    ``silence``: seconds after which a silent client is disconnected. ``broken``: rules that the client broke.
    """

    def __init__(self, *, silence: float = 60.0, needs_token: bool = True) -> None:
        self.silence = silence
        self.broken: list[str] = []
        self.contracts: dict[int, str] = {}
        self.periods: dict[int, float] = {}
        self.subscriptions: dict[tuple[int, str, str], float | None] = {}
        self._fields: dict[int, dict[str, list[str]]] = {}
        self._needs_token = needs_token
        self._stage, self._has_token = "new", False
        self._last = 0.0

    def receive(self, text: str, now: float) -> list[str]:
        one = json.loads(text)
        kind, channel = one.get("type"), one.get("channel")
        self.broken += problems(text, CLIENT, self.contracts.get(channel, "AUTO"))
        if now - self._last >= self.silence:
            self.broken.append(f"silent for {now - self._last} s")
        self._last = now
        answers = getattr(self, f"_{str(kind).lower()}", lambda *_: [])(channel, one)
        return [json.dumps({"channel": channel, **answer}) for answer in answers]

    def rule(self, *, holds: bool, text: str) -> None:
        if not holds:
            self.broken.append(text)

    def _setup(self, channel: int, one: dict[str, Any]) -> list[dict[str, Any]]:
        self.rule(holds=self._stage == "new", text="a second SETUP")
        self._stage = "set up" if self._needs_token else "authorized"
        state = "UNAUTHORIZED" if self._needs_token else "AUTHORIZED"
        return [{"type": "SETUP", "keepaliveTimeout": self.silence, "acceptKeepaliveTimeout": 60, "version": "0.1-doc"},
                {"type": "AUTH_STATE", "state": state}]  # fmt: skip

    def _auth(self, channel: int, one: dict[str, Any]) -> list[dict[str, Any]]:
        self.rule(holds=self._stage != "new" and not self._has_token, text="AUTH before SETUP, or twice")
        self._stage, self._has_token = "authorized", True
        return [{"type": "AUTH_STATE", "state": "AUTHORIZED"}]

    def _channel_request(self, channel: int, one: dict[str, Any]) -> list[dict[str, Any]]:
        self.rule(holds=self._stage == "authorized", text="CHANNEL_REQUEST before AUTHORIZED")
        self.rule(holds=channel % 2 == 1 and channel not in self.contracts, text=f"channel {channel}: even, or not new")
        self.contracts[channel] = one["parameters"]["contract"]
        return [{"type": "CHANNEL_OPENED", "service": "FEED", "parameters": one["parameters"]}]

    def _feed_setup(self, channel: int, one: dict[str, Any]) -> list[dict[str, Any]]:
        self.rule(holds=channel in self.contracts, text="FEED_SETUP of an unknown channel")
        self.periods[channel] = one.get("acceptAggregationPeriod", 0)
        self._fields[channel] = one.get("acceptEventFields", {})
        return []  # parameters are lazy

    def _feed_subscription(self, channel: int, one: dict[str, Any]) -> list[dict[str, Any]]:
        self.rule(holds=channel in self.contracts, text="FEED_SUBSCRIPTION of an unknown channel")
        if one.get("reset"):
            self.subscriptions = {key: start for key, start in self.subscriptions.items() if key[0] != channel}
        for each in one.get("remove", ()):
            self.rule(
                holds=self.subscriptions.pop((channel, each["type"], each["symbol"]), "none") != "none",
                text=f"removal of {each}, which is not subscribed",
            )
        for each in one.get("add", ()):
            self.subscriptions[channel, each["type"], each["symbol"]] = each.get("fromTime")
        if not one.get("add"):
            return []
        kind, symbol = one["add"][0]["type"], one["add"][0]["symbol"]
        columns = self._fields[channel].get(kind, ["eventSymbol"])
        row = [symbol if name == "eventSymbol" else 0 if name in ("eventFlags", "index") else "NaN" for name in columns]
        return [
            {"type": "FEED_CONFIG", "aggregationPeriod": self.periods[channel], "dataFormat": "COMPACT",
             "eventFields": {kind: columns}},
            {"type": "FEED_DATA", "data": [kind, row]},
        ]  # fmt: skip
