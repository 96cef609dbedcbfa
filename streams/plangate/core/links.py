"""A multimap of ids that costs little where most keys have one value, as edges of a window do."""

from __future__ import annotations

from collections.abc import Collection


class Links(dict[str, str | set[str]]):
    """id -> set of ids. A single value is kept bare: a set of one takes three times the memory of a span's id."""

    __slots__ = ()

    def add(self, key: str, value: str) -> None:
        held = self.get(key)
        if held is None:
            self[key] = value
        elif isinstance(held, set):
            held.add(value)
        elif held != value:
            self[key] = {held, value}

    def discard(self, key: str, value: str) -> None:
        held = self.get(key)
        if isinstance(held, set):
            held.discard(value)
            if not held:
                del self[key]
        elif held == value:
            del self[key]

    def of(self, key: str) -> Collection[str]:
        """The values of a key, in no order that means anything: sort before it reaches an output."""
        held = self.get(key)
        if held is None:
            return ()
        return held if isinstance(held, set) else (held,)

    def has(self, key: str, value: str) -> bool:
        held = self.get(key)
        return value in held if isinstance(held, set) else held == value and held is not None

    def drop(self, key: str) -> None:
        """Forget a key with all its values; unknown ones too."""
        self.pop(key, None)
