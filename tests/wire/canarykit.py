"""Canaries: texts that must come out nowhere, in every place of an input that may hold content; and what finds them.

Each canary has the same eight first characters, and a number that names its place. The searcher looks for these eight
in every encoding, so it also finds what was cut after them.
"""

from __future__ import annotations

import base64
import html
import re
import zlib
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec
from msgspec import inspect as types

from plangate.core.events import AnyEvent

STEM = "zQ7cnRyX"
#: characters that each escaping changes, so that a canary escaped is another text than the canary
SPECIAL = "\u00e9<\"&'%/+\\ ~"
#: fields that the contract names as content; the types don't have all of them
CONTENT = ("rationale", "reason", "pin_reason", "pin_owner", "proposer", "reviewer", "text", "content")
#: texts that name things and are published or kept as the contract says; every other text of an event is content
IDENTIFIERS = frozenset(
    {
        "type", "window_id", "event_id", "span_id", "span_ids", "plan_id", "request_id", "replacement_id", "case_id",
        "expected_id", "artifact_id", "id", "covers", "depends_on", "needs_verbatim", "required_by", "pairs_with",
        "closes", "derived_from", "cited_dependencies", "retrieved_ids", "eligible_ids", "retained_ids", "evicted_ids",
        "rendered_ids", "scorer", "planner", "policy_version", "status", "component", "method", "input_version",
        "scope", "units",
    }
)  # fmt: skip


class Canaries:
    """Numbered canaries, one for each place, so that a leak names its place."""

    def __init__(self) -> None:
        self.places: list[str] = []

    def new(self, place: str) -> str:
        self.places.append(place)
        return f"{STEM}{len(self.places) - 1:05}{SPECIAL}Xk"

    def plain(self, place: str) -> str:
        """For places that take letters and digits only, such as names of files."""
        return self.new(place).split(SPECIAL)[0]

    def leaks(self, data: bytes) -> set[str]:
        """What lies in `data`: the encoding, and the place where that can be told."""
        found = encodings_in(data)
        numbers = re.findall(rb"%b(\d{5})" % STEM.lower().encode(), data.lower()) if found else []
        return found | {self.places[int(n)] for n in numbers if int(n) < len(self.places)}


def base64_at(text: bytes, alignment: int) -> bytes:
    """The part of text's base64 that is the same whatever stands around it; 0, 1 or 2 bytes precede it."""
    coded = base64.b64encode(b"\0" * alignment + text)
    return coded[4 if alignment else 0 : (alignment + len(text)) // 3 * 4]


_RAW = STEM.encode()
_EXACT = {f"base64 at {n}": base64_at(_RAW, n) for n in range(3)}
_ANY_CASE = {
    "raw": _RAW,
    "reversed": _RAW[::-1],
    "hex": _RAW.hex().encode(),
    "hex, reversed bytes": _RAW[::-1].hex().encode(),
    "URL": "".join(f"%{c:02x}" for c in _RAW).encode(),
    "JSON": "".join(f"\\u{c:04x}" for c in _RAW).encode(),
    "backslash x": "".join(f"\\x{c:02x}" for c in _RAW).encode(),
    "HTML, decimal": "".join(f"&#{c};" for c in _RAW).encode(),
    "HTML, hexadecimal": "".join(f"&#x{c:x};" for c in _RAW).encode(),
    "UTF-16 little endian": STEM.encode("utf-16-le"),
    "UTF-16 big endian": STEM.encode("utf-16-be"),
    "list of numbers": ", ".join(str(c) for c in _RAW).encode(),
}
_ANY_CASE = {name: pattern.lower() for name, pattern in _ANY_CASE.items()}


def encodings_in(data: bytes, depth: int = 2) -> set[str]:
    """The encodings in which any canary lies in `data`; also inside gzip, and in base64 of those."""
    lowered = data.lower()
    found = {name for name, pattern in _ANY_CASE.items() if pattern in lowered}
    found |= {name for name, pattern in _EXACT.items() if pattern in data}
    if depth:
        for match in re.finditer(b"\x1f\x8b\x08", data):
            try:
                inner = zlib.decompressobj(31).decompress(data[match.start() :], 64 << 20)
            except zlib.error:
                continue
            found |= {f"gzip: {name}" for name in encodings_in(inner, depth - 1)}
    return found


def forms(text: str) -> dict[str, bytes]:
    """Every way in which a text may come out, for the searcher's own test."""
    raw = text.encode()
    made = {
        "raw": raw,
        "upper case": text.upper().encode(),
        "lower case": text.lower().encode(),
        "first 8": raw[:8],
        "reversed": text[::-1].encode(),
        "hex": raw.hex().encode(),
        "HEX": raw.hex().upper().encode(),
        "URL": quote(text, safe="").encode(),
        "form": quote_plus(text).encode(),
        "URL, every byte": "".join(f"%{c:02X}" for c in raw).encode(),
        "JSON": msgspec.json.encode(text),
        "JSON, every character": "".join(f"\\u{ord(c):04X}" for c in text).encode(),
        "Python": repr(raw).encode(),
        "Python, every byte": "".join(f"\\x{c:02x}" for c in raw).encode(),
        "bytes as numbers": str(list(raw)).encode(),
        "HTML": html.escape(text).encode(),
        "HTML, decimal": "".join(f"&#{ord(c)};" for c in text).encode(),
        "HTML, hexadecimal": "".join(f"&#x{ord(c):X};" for c in text).encode(),
        "UTF-16 little endian": text.encode("utf-16-le"),
        "UTF-16 big endian": text.encode("utf-16-be"),
        "UTF-16 with mark": text.encode("utf-16"),
        "msgpack": msgspec.msgpack.encode({"x": text}),
        "gzip": gzipped(raw),
        "gzip in gzip": gzipped(b"x" * 99 + gzipped(raw)),
        "gzip of hex": gzipped(raw.hex().encode()),
    }
    for n in range(3):
        made[f"base64 after {n}"] = base64.b64encode(b"abc"[:n] + raw)
        made[f"base64 for URLs after {n}"] = base64.urlsafe_b64encode(b"abc"[:n] + raw)
    return made


def gzipped(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=31)
    return packer.compress(data) + packer.flush()


def crafted(kind: type[msgspec.Struct], canaries: Canaries) -> dict[str, Any]:
    """An event of this type with all of its fields; each text that is no identifier, and each unknown field, a canary.

    Made from the type itself: a field that is added is in here, and is content until IDENTIFIERS says otherwise.
    """
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    return {"type": info.tag, **_filled(info, str(info.tag), canaries)}


def event_types() -> tuple[type[msgspec.Struct], ...]:
    return AnyEvent.__args__


def _filled(info: Any, path: str, canaries: Canaries) -> Any:
    name = path.rsplit(".", 1)[-1].split("[")[0]
    match info:
        case types.StructType():
            made = {f.encode_name: _filled(f.type, f"{path}.{f.encode_name}", canaries) for f in info.fields}
            made |= {extra: canaries.new(f"{path}.{extra}") for extra in CONTENT if extra not in made}
            return made | {canaries.new(f"{path}: unknown name"): {"text": [canaries.new(f"{path}: unknown value")]}}
        case types.UnionType():
            rich = [t for t in info.types if not isinstance(t, types.NoneType)]
            return _filled(max(rich, key=lambda t: isinstance(t, types.StructType)), path, canaries)
        case types.ListType():
            items = [info.item_type] if not isinstance(info.item_type, types.UnionType) else info.item_type.types
            return [_filled(item, f"{path}[{n}]", canaries) for n, item in enumerate(items)]
        case types.StrType():
            return {"window_id": "w"}.get(name, "a") if name in IDENTIFIERS else canaries.new(path)
        case types.LiteralType():
            return info.values[0]
        case types.AnyType():
            return {canaries.new(f"{path}: name"): [canaries.new(f"{path}: value")]}
        case types.BoolType():
            return True
        case types.IntType() | types.FloatType():
            return 1
    raise TypeError(f"{path}: no canary for {type(info).__name__}; say here what it may hold")
