"""Poison: records that no well-meaning producer writes, each with what must come of it and nothing else.

``letter``: a dead letter. ``refused``: a malformed plan that can be attributed, so answered. ``answered``: lawful,
however odd. ``nothing``: no output at all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from wirekit import KEYS, SAMPLES, TOPIC, raw

from plangate.wire.keyring import KEY_ID, SIGNATURE, sign

KEY = b"w"
OPEN = b'{"type":"window_opened","window_id":"w"'
APPEND = b'{"type":"span_appended","window_id":"w","spans":[{"span_id":"a","cost_units":%s}]}'
PLAN = b'{"type":"plan_proposed","window_id":"open","plan_id":"p","window_generation":0,"entries":[%s]}'
ASK = b'{"type":"budget_requested","window_id":"w","request_id":"q","budget_units":%s}'
MIB = 1024 * 1024
CANARY = b"c0ntent-canary"


class Poison(NamedTuple):
    """One input record; ``timestamp`` in milliseconds."""

    value: bytes | None
    comes: str = "letter"
    key: bytes | None = KEY
    headers: tuple[tuple[str, bytes | None], ...] = ()
    timestamp: int | None = None


def _long(kind: bytes) -> bytes:
    return kind * 100_000


def _signed(name: str, **changes: bytes) -> tuple[tuple[str, bytes], ...]:
    headers = dict(sign(KEYS["ps"], name, TOPIC, OPEN + b"}"))
    return tuple((headers | {key.replace("_", "-"): value for key, value in changes.items()}).items())


BYTES = {
    "empty": b"", "blank": b" \n\t", "nul": b"\0", "nuls": b"\0" * 1000,
    "bom before an event": b"\xef\xbb\xbf" + OPEN + b"}",
    "bare bom": b"\xef\xbb\xbf", "utf-16": (OPEN + b"}").decode().encode("utf-16"), "no utf-8": b"\xff" * 64,
    "overlong utf-8": b'"\xc0\xaf"', "half a character": b'{"type":"\xe2\x82', "surrogate bytes": b'"\xed\xa0\x80"',
    "json null": b"null", "true": b"true", "number": b"1", "text": b'"x"', "array": b"[]",
    "array of an event": b"[%s}]" % OPEN,
    "empty object": b"{}", "no type": b'{"window_id":"w"}', "no window": b'{"type":"window_opened"}',
    "type null": b'{"type":null,"window_id":"w"}', "type list": b'{"type":[],"window_id":"w"}',
    "type unknown": b'{"type":"nope","window_id":"w"}',
    "type of an output": b'{"type":"plan_accepted","window_id":"w"}',
    "window null": OPEN[:-3] + b"null}",
    "window number": OPEN[:-3] + b"7}", "window empty": OPEN[:-3] + b'""}', "window nul": OPEN[:-3] + b'"\\u0000"}',
    "window bidi": OPEN[:-3] + '"w\u202e"}'.encode(), "window newline": OPEN[:-3] + b'"w\\n"}',
    "window surrogate": OPEN[:-3] + b'"\\ud800"}', "window too long": OPEN[:-3] + b'"' + b"x" * 257 + b'"}',
    "trailing brace": OPEN + b"}}", "two events": OPEN + b"}" + OPEN + b"}", "trailing comma": OPEN + b",}",
    "cut off": OPEN,
    "single quotes": b"{'type':'window_opened'}", "comment": OPEN + b"/**/}", "yaml": b"type: window_opened",
    "pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix\x94\x8c\x06system\x94\x93\x94.",
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "avro with schema id": b"\0\0\0\0\x01\x02w",
    "xml": b'<!DOCTYPE x [<!ENTITY a "b">]><x>&a;</x>', "formula": b"=cmd|'/c calc'!A0",
    "cost nan": APPEND % b"NaN", "cost infinite": APPEND % b"-Infinity", "cost 1e400": APPEND % b"1e400",
    "cost of 5000 digits": APPEND % (b"9" * 5000), "cost above 2^53": APPEND % b"9007199254740993",
    "cost true": APPEND % b"true", "cost 0": APPEND % b"0", "cost half": APPEND % b"1.5", "cost text": APPEND % b'"5"',
    "cost of a huge fraction": APPEND % (b"1." + b"9" * 5000), "cost leading zero": APPEND % b"01",
    "deep arrays": _long(b"["), "deep objects": _long(b'{"a":'), "deep and closed": _long(b"[") + _long(b"]"),
    "deep in an unknown field": OPEN + b',"x":' + _long(b"[") + _long(b"]") + b"}",
    "deep in a known field": b'{"type":"span_appended","window_id":"w","spans":' + _long(b"[") + _long(b"]") + b"}",
    "1001 spans": raw({"type": "span_appended", "window_id": "w",
                       "spans": [{"span_id": f"s{i}", "cost_units": 1} for i in range(1001)]}),
    "65 edges": raw({"type": "span_appended", "window_id": "w", "spans": [
        {"span_id": "s", "cost_units": 1, "depends_on": [f"d{i}" for i in range(65)]}]}),
    "8 MiB and one byte": OPEN + b',"x":"' + b"y" * (8 * MIB + 1 - len(OPEN) - 8) + b'"}',
    "8.5 MiB of blanks": b" " * (8 * MIB + MIB // 2),
}  # fmt: skip

PLANS = {
    f"plan with {name}": PLAN % entry
    for name, entry in {
        "nan": b'{"span_id":"a","relevance":NaN}', "infinity": b'{"span_id":"a","relevance":Infinity}',
        "true for a number": b'{"span_id":"a","relevance":true}',
        "text for a number": b'{"span_id":"a","relevance":"1"}',
        "relevance above one": b'{"span_id":"a","relevance":1.01}', "null entry": b"null", "number for an entry": b"7",
        "bad id": b'{"span_id":"a\\u202e","relevance":0}', "lone surrogate": b'{"span_id":"\\udfff","relevance":0}',
        "unknown disposition": b'{"span_id":"a","relevance":0,"disposition":"c0ntent-canary"}',
        "65 citations": b'{"span_id":"a","relevance":0,"cited_dependencies":[%s]}' % b",".join(
            b'"d%d"' % i for i in range(65)),
        "a million malformed entries": b",".join([b"0"] * 1_000_000),
        "20,001 entries": b",".join(b'{"span_id":"s%d","relevance":0}' % i for i in range(20_001)),
    }.items()
}  # fmt: skip

LAWFUL = {
    "duplicate names": b'{"type":"window_opened","window_id":"v","window_id":"w"}',
    "type twice": b'{"type":"nope","type":"window_opened","window_id":"w"}',
    "__proto__": OPEN + b',"__proto__":{"type":"policy_set"},"constructor":{}}',
    "escaped names": b'{"\\u0074ype":"window_opened","window_\\u0069d":"w"}',
    "a hundred thousand unknown fields": OPEN + b"".join(b',"f%d":0' % i for i in range(100_000)) + b"}",
    "budget deep": ASK % (b"[" * 500 + b"]" * 500), "budget object": ASK % b'{"a":{"b":[1]}}',
    "budget huge": ASK % (b"9" * 40), "budget nan": ASK % b"NaN", "budget negative": ASK % b"-1",
    "policy without authority": raw({"type": "policy_set", "window_id": "w", "policy": {"limits": {"integer": 1}}}),
    "plan for a window never seen": raw(SAMPLES[8]),
}  # fmt: skip

HEADERS: dict[str, tuple[tuple[str, bytes | None], ...]] = {
    "null values": ((KEY_ID, None), (SIGNATURE, None), ("traceparent", None)),
    "signature of something else": _signed("ps", **{SIGNATURE: b"A" * 88}),
    "signature cut": _signed("ps", **{SIGNATURE: b"AAAA"}), "signature empty": _signed("ps", **{SIGNATURE: b""}),
    "signature that is no base64": _signed("ps", **{SIGNATURE: b"\xff" * 63}),
    "key id that is no text": _signed("ps", **{KEY_ID: b"\xff\xfe"}), "key id unknown": _signed("nobody"),
    "key id of a megabyte": _signed("ps", **{KEY_ID: b"k" * MIB}),
    "trace of a megabyte": (("traceparent", b"00-" + b"a" * MIB),),
    "trace of eight megabytes": (("traceparent", CANARY * (8 * MIB // len(CANARY))),),
    "trace with content": (("traceparent", CANARY), ("tracestate", CANARY)),
    "five thousand headers": tuple((f"h{i}", b"x") for i in range(5000)),
    "one name five thousand times": ((KEY_ID, b"ps"),) * 5000,
    "names of outputs": (("ce_id", CANARY), ("plangate-duplicate", b"1"), ("content-type", CANARY)),
    "empty name": (("", b""),), "hostile name": (("\r\nx: \u202e\0", CANARY),),
}  # fmt: skip

#: by name; the window ``w`` is never opened by anybody else, ``open`` is
KINDS: dict[str, Poison] = {
    **{name: Poison(value) for name, value in BYTES.items()},
    **{name: Poison(value, "refused", b"open") for name, value in PLANS.items()},
    **{name: Poison(value, "answered") for name, value in LAWFUL.items()},
    **{f"headers: {name}": Poison(OPEN + b"}", "answered", headers=headers) for name, headers in HEADERS.items()},
    "lone surrogate in content": Poison((PLAN % b"")[:-1] + b',"rationale":"\\ud800"}', "refused", b"open"),
    "key missing": Poison(OPEN + b"}", key=None), "key empty": Poison(OPEN + b"}", key=b""),
    "key of another window": Poison(OPEN + b"}", key=b"v"), "key no utf-8": Poison(OPEN + b"}", key=b"\xff"),
    "key of a megabyte": Poison(OPEN + b"}", key=b"k" * MIB), "key with nul": Poison(OPEN + b"}", key=b"w\0"),
    "nothing at all": Poison(None, "nothing", key=None), "tombstone": Poison(None, "nothing"),
    "time before time": Poison(OPEN + b"}", "answered", timestamp=0),
    "time in the far future": Poison(OPEN + b"}", "answered", timestamp=2**62),
}  # fmt: skip


def types_for(comes: str) -> Any:
    """What the first output of such a record is."""
    return {"letter": {"dead_letter"}, "refused": {"plan_refused"}}.get(comes)
