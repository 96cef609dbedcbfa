"""Policy documents from files."""

from __future__ import annotations

import json

from ..core.policy import Policy, PolicyError, parse_policy


def load_policy(text: bytes) -> Policy:
    """Parse a JSON policy over the defaults. Raises :class:`PolicyError`, which names fields, never values."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise PolicyError(["policy"]) from None
    return parse_policy(document)


__all__ = ["Policy", "PolicyError", "load_policy"]
