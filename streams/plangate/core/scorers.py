"""Scorers, versioned, deterministic and total: what is left of a score after a commit (contract section 4, step 5).

More can be added by the entry point group ``plangate.scorers``: an object with ``can_rescore`` and ``rescore`` as
below, under its versioned name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from importlib.metadata import entry_points
from math import fsum
from typing import Protocol


class Scorer(Protocol):
    """``cited`` maps each cited span to its support (None: not given); ``gone`` are the cited spans that go."""

    def can_rescore(self, cited: Mapping[str, float | None]) -> bool: ...

    def rescore(self, relevance: float, cited: Mapping[str, float | None], gone: Collection[str]) -> float | None: ...


class DeclaredProvenance:
    """A score stands if no cited span goes; else nothing of it is left."""

    def can_rescore(self, cited: Mapping[str, float | None]) -> bool:
        return True

    def rescore(self, relevance: float, cited: Mapping[str, float | None], gone: Collection[str]) -> float | None:
        return None if gone else relevance


class AdditiveSupport:
    """Relevance less the exact sum of the supports of all cited spans that go."""

    def can_rescore(self, cited: Mapping[str, float | None]) -> bool:
        return None not in cited.values()

    def rescore(self, relevance: float, cited: Mapping[str, float | None], gone: Collection[str]) -> float | None:
        return relevance - fsum(cited[g] or 0.0 for g in gone)


BUILT_IN: dict[str, Scorer] = {"declared-provenance/1": DeclaredProvenance(), "additive-support/1": AdditiveSupport()}


@cache
def find_scorer(name: str) -> Scorer | None:
    """The scorer of that name, or None if nobody registered one."""
    if name in BUILT_IN:
        return BUILT_IN[name]
    for found in entry_points(group="plangate.scorers", name=name):
        return found.load()
    return None
