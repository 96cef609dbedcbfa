"""As much of a decision (contract section 4) as a proposer acts on and the account counts."""

from __future__ import annotations

import msgspec

from ..core.reasons import REASONS


class Swap(msgspec.Struct):
    """A replacement of an accepted plan."""

    replacement_id: str
    covers: list[str]


class Resolution(msgspec.Struct):
    """What a refused plan should have retained."""

    retain: list[str]
    complete: bool


class Decision(msgspec.Struct, kw_only=True):
    """The fields of all three outcomes; those of the other outcomes are at their defaults."""

    type: str
    plan_id: str
    window_id: str
    reason: str = ""
    reasons: list[str] = []
    live_generation: int | None = None
    new_generation: int | None = None
    evicted_ids: list[str] = []
    compressed: list[Swap] = []
    unknown_ids: list[str] = []
    span_ids: list[str] = []
    resolution: Resolution | None = None
    consecutive_deferrals: int = 0
    commit: str = ""

    @property
    def outcome(self) -> str:
        """`accepted`, `deferred` or `refused`."""
        return {"plan_accepted": "accepted", "plan_deferred": "deferred"}.get(self.type, "refused")

    @property
    def why(self) -> list[str]:
        """Reasons by their names; a word that is no reason of ours is `other`, so that no foreign text gets on."""
        names = [self.reason] if self.reason else self.reasons
        return [name if name in REASONS else "other" for name in names]


_DECODER = msgspec.json.Decoder(Decision)


def read_decision(value: bytes) -> Decision:
    """Raises msgspec.DecodeError (or its subclass ValidationError) if it is none."""
    return _DECODER.decode(value)
