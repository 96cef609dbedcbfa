"""Cost adapters: how many units a piece of content counts, under a name that goes into every span's `accounting`.

The default is an estimate. No tokenizer is used: the one in general use fetches its tables over the network when it
runs, and no table is published for the models behind two of the three formats (docs/importers.md gives the error).
"""

import json
from collections.abc import Callable

import msgspec

from plangate.importers.model import AccountingName

# A picture's cost depends on its size in pixels and on the model; providers cap it near this figure.
BINARY_UNITS = 1600
_BINARY_TYPES = frozenset({"image", "image_url", "input_image", "input_audio", "audio", "file", "container_upload"})


class Accounting(msgspec.Struct, frozen=True):
    """A named way of counting: `count` gives the units of a text, an int >= 0."""

    name: AccountingName
    count: Callable[[str], int]

    def cost(self, *parts: object) -> int:
        """Units (>= 1) of content: texts as they are, other values as compact JSON, bytes of files a flat figure."""
        texts: list[str] = []
        try:
            binaries = sum(_collect(part, texts) for part in parts)
        except RecursionError:  # nested about as deep as can be read: nothing a model was given, so no better figure
            return BINARY_UNITS
        return max(1, sum(map(self.count, texts)) + binaries * BINARY_UNITS)


def _collect(value: object, texts: list[str]) -> int:
    """Add the texts of a content value to `texts`; the number of pictures, sounds and files in it."""
    if value is None:
        return 0
    if isinstance(value, str):
        texts.append(value)
        return 0
    if isinstance(value, list) and all(isinstance(item, dict) and "type" in item for item in value):
        return sum(_collect(item, texts) for item in value)
    if isinstance(value, dict):
        kind, source = value.get("type"), value.get("source")
        if (isinstance(kind, str) and kind in _BINARY_TYPES) or (
            isinstance(source, dict) and source.get("type") == "base64"
        ):
            return 1
        if kind == "tool_result":
            return _collect(value.get("content"), texts)
        if isinstance(value.get("text"), str):
            texts.append(value["text"])
            return 0
    texts.append(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    return 0


def _utf8_bytes_div_4(text: str) -> int:
    return (len(text.encode("utf-8", "surrogatepass")) + 3) // 4


UTF8_BYTES_DIV_4 = Accounting(AccountingName("utf8-bytes-div-4", "1"), _utf8_bytes_div_4)
