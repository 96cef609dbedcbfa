"""Every way to sign wrongly, and what it must be taken for (contract section 1).

A forger may have seen any signed record, and may hold keys of his own, also one that the keyring knows for a source
without authority. What he does not have is an authority's key.
"""

import base64
import json
import re
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from wirekit import KEYS, TOPIC, raw

from plangate.wire.keyring import KEY_ID, SIGNATURE, sign, signed_bytes

Headers = list[tuple[str, bytes | None]]
Forgery = Callable[[bytes], Headers]
STRANGE = Ed25519PrivateKey.from_private_bytes(b"s" * 32)
#: what counts as a wrong signature also gives an alert; what is none, or nobody's, does not
WRONG, NONE = True, False


def good(value: bytes, key_id: str = "ps") -> Headers:
    """What an authority would send."""
    return list(sign(KEYS[key_id], key_id, TOPIC, value))


def _signature(value: bytes, key_id: str = "ps", topic: str = TOPIC) -> bytes:
    return KEYS[key_id].sign(signed_bytes(topic, value))


def _as(content: bytes | None, key_id: bytes | None = b"ps") -> Headers:
    return [(KEY_ID, key_id), (SIGNATURE, content)]


def _of_topic(topic: str) -> Forgery:
    return lambda value: list(sign(KEYS["ps"], "ps", topic, value))


def _encoded(encode: Callable[[bytes], bytes]) -> Forgery:
    return lambda value: _as(encode(_signature(value)))


def other_window(value: bytes) -> bytes:
    """The same event of another window, which the authority did sign."""
    return re.sub(rb'"window_id":"[^"]*"', b'"window_id":"elsewhere"', value)


def _rewritten(value: bytes) -> bytes:
    """The same document in other bytes."""
    return json.dumps(json.loads(value), indent=1, sort_keys=True).encode()


def _b64(content: bytes) -> bytes:
    return base64.b64encode(content)


FORGERIES: dict[str, tuple[Forgery, bool]] = {
    "no headers": (lambda value: [], NONE),
    "key id alone": (lambda value: [(KEY_ID, b"ps")], NONE),
    "signature alone": (lambda value: good(value)[1:], NONE),
    "unknown key id": (lambda value: _as(_b64(STRANGE.sign(signed_bytes(TOPIC, value))), b"who"), NONE),
    "unknown key id, an authority's signature": (lambda value: _as(good(value)[1][1], b"who"), NONE),
    "key id that is no text": (lambda value: _as(good(value)[1][1], b"\xff\xfe"), NONE),
    "key id null": (lambda value: _as(good(value)[1][1], None), NONE),
    "key id in capitals": (lambda value: _as(good(value)[1][1], b"PS"), NONE),
    "key id with a blank": (lambda value: _as(good(value)[1][1], b"ps "), NONE),
    "key id with a zero byte": (lambda value: _as(good(value)[1][1], b"ps\0"), NONE),
    "source for a key id": (lambda value: _as(good(value)[1][1], b"policy_store"), NONE),
    "header names in capitals": (lambda value: [(name.upper(), content) for name, content in good(value)], NONE),
    "source without authority": (lambda value: good(value, "ci"), NONE),
    "own key under an authority's id": (lambda value: _as(_b64(STRANGE.sign(signed_bytes(TOPIC, value)))), WRONG),
    "known key of another source": (lambda value: _as(good(value, "ci")[1][1]), WRONG),
    "the other authority's key": (lambda value: _as(good(value, "oc")[1][1]), WRONG),
    "another topic": (_of_topic("plan-decisions"), WRONG),
    "the topic with its prefix": (_of_topic(f"prod.{TOPIC}"), WRONG),
    "no topic": (_of_topic(""), WRONG),
    "no domain tag": (lambda value: _as(_b64(KEYS["ps"].sign(value))), WRONG),
    "another window": (lambda value: good(other_window(value)), WRONG),
    "a value before it was changed": (lambda value: good(value + b" "), WRONG),
    "a value in other bytes": (lambda value: good(_rewritten(value)), WRONG),
    "the empty value": (lambda value: good(b""), WRONG),
    "signature null": (lambda value: _as(None), WRONG),
    "signature empty": (lambda value: _as(b""), WRONG),
    "signature of zeros": (lambda value: _as(bytes(64)), WRONG),
    "truncated by one byte": (_encoded(lambda s: s[:63]), WRONG),
    "truncated by half": (_encoded(lambda s: _b64(s[:32])), WRONG),
    "truncated text": (_encoded(lambda s: _b64(s)[:-1]), WRONG),
    "extended by one byte": (_encoded(lambda s: s + b"\0"), WRONG),
    "extended text": (_encoded(lambda s: _b64(s + b"\0")), WRONG),
    "twice in one header": (_encoded(lambda s: _b64(s) + _b64(s)), WRONG),
    "hex": (_encoded(lambda s: s.hex().encode()), WRONG),
    "base32": (_encoded(base64.b32encode), WRONG),
    "base64 with a line break": (_encoded(base64.encodebytes), WRONG),
    "base64 in base64": (_encoded(lambda s: _b64(_b64(s))), WRONG),
    "base64 without padding": (_encoded(lambda s: _b64(s).rstrip(b"=")), WRONG),
    "key id twice": (lambda value: [(KEY_ID, b"ci"), *good(value)], WRONG),
    "key id twice, last wrong": (lambda value: [*good(value), (KEY_ID, b"who")], WRONG),
    "signature twice, first wrong": (lambda value: [(SIGNATURE, bytes(64)), *good(value)], WRONG),
    "signature twice, last wrong": (lambda value: [*good(value), (SIGNATURE, bytes(64))], WRONG),
    "all twice": (lambda value: good(value) * 2, WRONG),
    "one of the authorities, then the other": (lambda value: good(value) + good(value, "oc"), WRONG),
}

SIGNED_PIN = raw(
    {"type": "span_pinned", "window_id": "w", "span_id": "a", "pin_owner": "o", "pin_reason": "r", "authority_seq": 1}
)
