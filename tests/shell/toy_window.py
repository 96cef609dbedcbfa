"""A toy window for tests of the changelog: its state is the list of input offsets it took, its patch their text."""

import json
from dataclasses import dataclass, field


@dataclass
class Head:
    last_offset: int = -1


@dataclass
class ToyWindow:
    """Takes offsets; `taken` is its whole state, of which `fresh` is not in a patch yet."""

    head: Head = field(default_factory=Head)
    taken: list[int] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)

    def take(self, offset: int) -> None:
        self.taken.append(offset)
        self.fresh.append(offset)
        self.head.last_offset = offset


def take_patch(window: ToyWindow, full: bool) -> bytes:
    offsets = window.taken if full else window.fresh
    window.fresh = []
    return json.dumps({"full": full, "offsets": offsets}).encode()


def assemble(patches: list[bytes]) -> ToyWindow:
    window = ToyWindow()
    for number, patch in enumerate(map(json.loads, patches)):
        assert patch["full"] == (number == 0), "a chain is one snapshot and then deltas"
        for offset in patch["offsets"]:
            window.take(offset)
    window.fresh = []
    return window
