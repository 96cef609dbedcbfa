"""A multimap of ids that costs little where most keys have one value, as edges of a window do."""

from __future__ import annotations

from collections.abc import Collection


class Links:
    """id -> set of ids. A single value is kept bare: a set of one takes three times the memory of a span's id."""

    __slots__ = ("_of",)

    def __init__(self) -> None:
        self._of: dict[str, str | set[str]] = {}

    def add(self, key: str, value: str) -> None:
        held = self._of.get(key)
        if held is None:
            self._of[key] = value
        elif isinstance(held, set):
            held.add(value)
        elif held != value:
            self._of[key] = {held, value}

    def discard(self, key: str, value: str) -> None:
        held = self._of.get(key)
        if isinstance(held, set):
            held.discard(value)
            if not held:
                del self._of[key]
        elif held == value:
            del self._of[key]

    def get(self, key: str) -> Collection[str]:
        """The values of a key, in no order that means anything: sort before it reaches an output."""
        held = self._of.get(key)
        if held is None:
            return ()
        return held if isinstance(held, set) else (held,)

    def has(self, key: str, value: str) -> bool:
        held = self._of.get(key)
        return value in held if isinstance(held, set) else held == value and held is not None

    def pop(self, key: str) -> None:
        self._of.pop(key, None)

    def keys(self) -> Collection[str]:
        return self._of.keys()

    def __contains__(self, key: str) -> bool:
        return key in self._of

    def clear(self) -> None:
        self._of.clear()
