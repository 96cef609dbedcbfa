"""The one closed table of reasons: outcome, what it waits for, whether the same plan may help, words for people.

The README's decision table is generated from it (contract section 4).
"""

from __future__ import annotations

from typing import NamedTuple


class Reason(NamedTuple):
    outcome: str
    waits_for: str
    retry: str
    words: str


REASONS: dict[str, Reason] = {
    "unknown_window": Reason("defer", "window_opened", "same plan", "no event has opened this window yet"),
    "window_gap": Reason(
        "defer", "window_resynced", "new plan", "events of this window were lost; its live set is not known"
    ),
    "generation_changed": Reason("defer", "new_plan", "new plan", "the window changed since the plan was made"),
    "commit_pending": Reason(
        "defer", "plan_committed", "new plan id", "an accepted plan waits for the runtime's confirmation"
    ),
    "rescore_closure_unavailable": Reason(
        "defer", "provenance", "new plan id", "a kept score can't be recomputed without a model after the commit"
    ),
    "open_obligation": Reason("defer", "closes", "new plan id", "a span that would go has a pending call or question"),
    "acceptance_lapsed": Reason(
        "defer", "new_plan", "new plan id", "the acceptance was not confirmed in time; nothing was applied"
    ),
    "too_many_proposals": Reason(
        "refuse", "", "after a change", "more proposals than the policy allows in one generation"
    ),
    "window_closed": Reason("refuse", "", "never", "the window is closed"),
    "invalid_plan": Reason(
        "refuse", "", "corrected plan", "the plan breaks its schema or a limit; field paths are given"
    ),
    "entry_order_commit": Reason("refuse", "", "corrected plan", "a span's fate would depend on the order of entries"),
    "unknown_span": Reason("refuse", "", "corrected plan", "an entry names a span that is not live"),
    "pin_violation": Reason("refuse", "", "with the resolution", "a pinned span would go without an approval"),
    "invalid_replacement": Reason(
        "refuse", "", "corrected plan", "compressed spans and replacements do not match one to one"
    ),
    "orphans": Reason("refuse", "", "with the resolution", "a retained span would lose what it rests on"),
    "over_budget": Reason("refuse", "", "corrected plan", "what is retained costs more than the plan's own budget"),
    "no_effect": Reason("refuse", "", "corrected plan", "the window would not get cheaper"),
}
