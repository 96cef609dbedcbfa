"""A multimap of ids that costs little where most keys have one value or a few, as edges of a window do."""

from __future__ import annotations

from collections.abc import Collection

#: a set of three texts takes 216 bytes, a tuple 64; looking through so few costs no more than a hash
FEW = 8


class Links(dict[str, str | tuple[str, ...] | set[str]]):
    """id -> set of ids: a single value is kept bare, a few as a tuple."""

    __slots__ = ()

    def add(self, key: str, value: str) -> None:
        held = self.get(key)
        if held is None:
            self[key] = value
        elif isinstance(held, set):
            held.add(value)
        elif isinstance(held, str):
            if held != value:
                self[key] = (held, value)
        elif value not in held:
            self[key] = (*held, value) if len(held) < FEW else {*held, value}

    def discard(self, key: str, value: str) -> None:
        held = self.get(key)
        if isinstance(held, set):
            held.discard(value)
            if not held:
                del self[key]
        elif isinstance(held, str):
            if held == value:
                del self[key]
        elif held is not None and value in held:
            left = tuple(other for other in held if other != value)
            self[key] = left[0] if len(left) == 1 else left

    def of(self, key: str) -> Collection[str]:
        """The values of a key, in no order that means anything: sort before it reaches an output."""
        held = self.get(key)
        if held is None:
            return ()
        return (held,) if isinstance(held, str) else held

    def has(self, key: str, value: str) -> bool:
        return value in self.of(key)

    def drop(self, key: str) -> None:
        """Forget a key with all its values; unknown ones too."""
        self.pop(key, None)
