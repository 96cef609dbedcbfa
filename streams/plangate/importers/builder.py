"""Builds one conversation: gives spans their ids, edges and obligations (contract section 2) as messages come in.

The rules, the same for every format:

- Tool pair. The result depends on its call, verbatim, pairs with it and closes it. A call is open until then. A reused
  call id binds to the nearest open call before.
- Batch. Calls of one answer pair with the first of them, so they stay or go as a whole, with their results. Providers
  do take a history from which one call and its result are gone; but a signature or thinking block that covers the
  whole batch rides on its first call, and hosts keep an answer in one piece.
- Signed thinking needs its prefix while its tool loop runs. The loop ends with the first user text after an answer
  without calls: then the thinking is restated (`edited`) without that need. What it led to (the first call after it
  and texts before that call) is required by it; unsigned reasoning has no edges.
- A user's words are open until the next answer begins; its first span closes them.

Everything about a span is settled by what stands before it, so a longer transcript only ever adds turns.
"""

from collections.abc import Callable
from typing import Literal

import msgspec

from plangate.importers.accounting import Accounting
from plangate.importers.model import Conversation, Kind, Problem, Span, Turn, usable_id

LIST_LIMIT = 64  # entries in one edge list, contract section 7
_REMOVED_TARGET, _REMOVED_LIMIT = 900, 1000


class _Answer(msgspec.Struct):
    """One model answer; in some formats its parts arrive with other messages in between."""

    number: int
    first_call: str | None = None
    calls: int = 0
    thinking: list[str] = msgspec.field(default_factory=list)


class Builder:
    """Collects the spans of one conversation. Call `input` or `answer` for each message, then add its parts.

    `unit` says what the places given to `input` and `answer` count.
    """

    def __init__(
        self, name: str | None, accounting: Accounting, problems: list[Problem], unit: Literal["line", "message"]
    ) -> None:
        self.conversation = Conversation(name)
        self.live: dict[str, Span] = {}
        self.places: dict[str, int] = {}  # span id -> line or message that it came from
        self.cost = accounting.cost
        self._problems = problems
        self._unit = unit
        self._place: int | None = None
        self._ids: dict[str, int] = {}
        self._spans: list[Span] = []
        self._edited: list[Span] = []
        self._removed: tuple[str, ...] = ()
        self._reason: str | None = None
        self._number = 1
        self._answers: dict[str, _Answer] = {}
        self._answer = _Answer(0)
        self._open_calls: dict[str, list[str]] = {}
        self._call_ids: set[str] = set()
        self._questions: list[str] = []
        self._loop_thinking: list[str] = []

    def report(self, problem: str, id: object = None) -> None:
        """Note a problem at the present place; an id that can't be shown safely is left out."""
        self._problems.append(Problem(problem, self.conversation.name, id=usable_id(id), **{self._unit: self._place}))

    # -- messages

    def input(self, place: int) -> None:
        """A message that the model reads begins: user, system or tool result."""
        self._flush(place)
        self._number = len(self._answers) + 1

    def answer(self, key: str, place: int) -> None:
        """A message of the model begins, or goes on if `key` was seen before."""
        self._flush(place)
        if key not in self._answers:
            self._answers[key] = _Answer(len(self._answers) + 1)
        self._answer = self._answers[key]
        self._number = self._answer.number

    def finish(self) -> Conversation:
        """Close the last message; calls that never got a result are reported."""
        self._flush(None)
        self._give_up(lambda span_id: True)
        return self.conversation

    # -- parts of messages; `base` is the span id to use unless it's taken

    def part(self, base: str, kind: Kind, cost: int) -> None:
        """Something without edges: system text, a document, a block of a type not known."""
        self._add(Span(self._unique(base), kind, cost))

    def question(self, base: str, cost: int, waits: bool = True) -> None:
        """A piece of a user message; `waits` says whether an answer is owed to it."""
        if not self._answer.calls:
            self._release()
        span = Span(self._unique(base), "user", cost, open=waits)
        self._add(span)
        if waits:
            self._questions.append(span.span_id)

    def reply(self, base: str, cost: int, kind: Kind = "assistant") -> None:
        """Text of an answer."""
        led_by = tuple(self._answer.thinking[-LIST_LIMIT:])
        self._add(Span(self._unique(base), kind, cost, required_by=led_by, closes=self._answered()))

    def thinking(self, base: str, cost: int, signed: bool) -> None:
        """Reasoning of an answer; `signed` if it carries a signature or is encrypted."""
        span = Span(self._unique(base), "reasoning", cost, needs_prefix=signed, closes=self._answered())
        self._add(span)
        if signed:
            self._answer.thinking.append(span.span_id)
            self._loop_thinking.append(span.span_id)

    def call(self, base: str, call_id: object, cost: int, client: bool = True) -> None:
        """A tool call; `client` is False for tools that the provider runs itself, which are in no batch."""
        answer = self._answer
        span_id = self._unique(usable_id(call_id) or base)
        batch = (answer.first_call,) if client and answer.first_call in self.live else ()
        led_by = tuple(answer.thinking[-LIST_LIMIT:])
        closes = self._answered()
        self._add(Span(span_id, "tool_call", cost, required_by=led_by, pairs_with=batch, open=True, closes=closes))
        answer.thinking.clear()
        if client:
            answer.calls += 1
            answer.first_call = answer.first_call or span_id
        if not isinstance(call_id, str):
            self.report("call_without_id")
            return
        if call_id in self._call_ids:
            self.report("reused_call_id", call_id)
        self._call_ids.add(call_id)
        self._open_calls.setdefault(call_id, []).append(span_id)

    def result(self, base: str, call_id: object, cost: int, named: bool = False) -> None:
        """A tool result; without an open call before it, it stands alone and is reported.

        Its span id is the call's with `.result` behind it, or `base` if that is a name of its own (`named`).
        """
        if not isinstance(call_id, str) or call_id not in self._open_calls:
            known = isinstance(call_id, str) and call_id in self._call_ids
            self.report("result_of_closed_call" if known else "result_without_call", call_id)
            self.part(base, "tool_result", cost)
            return
        call = self._open_calls[call_id].pop()
        if not self._open_calls[call_id]:
            del self._open_calls[call_id]
        self.attach(base if named else f"{call}.result", "tool_result", cost, call, closes=(call,))

    def attach(self, base: str, kind: Kind, cost: int, to: str, closes: tuple[str, ...] = ()) -> None:
        """Something that can't stand without the span `to`, nor that without it."""
        at = (to,)
        self._add(Span(self._unique(base), kind, cost, depends_on=at, needs_verbatim=at, pairs_with=at, closes=closes))

    # -- changes to what is there

    def edit(self, span: Span) -> None:
        """Restate a live span."""
        self.live[span.span_id] = span
        self._edited.append(span)

    def remove(self, reason: str, stays: Callable[[Span], bool] = lambda span: False) -> None:
        """What doesn't stay leaves, newest first; further spans of the same message stand in for it."""
        self._flush(self._place)
        leaving = [span for span in reversed(self.live.values()) if not stays(span)]
        for span in leaving:
            del self.live[span.span_id]
        self._give_up(lambda span_id: span_id not in self.live)
        self._questions = self._of_live(self._questions)
        self._loop_thinking = self._of_live(self._loop_thinking)
        for answer in self._answers.values():
            answer.thinking = self._of_live(answer.thinking)
        *lots, self._removed = _lots(leaving)
        self.conversation.turns += [Turn(self._number, removed=ids, reason=reason) for ids in lots]
        self._reason = reason if self._removed else None

    # -- inside

    def _add(self, span: Span) -> None:
        self.live[span.span_id] = span
        self.places[span.span_id] = self._place or 0
        self._spans.append(span)

    def _flush(self, place: int | None) -> None:
        if self._spans or self._edited or self._removed:
            spans, edited = tuple(self._spans), tuple(self._edited)
            self.conversation.turns.append(Turn(self._number, spans, edited, self._removed, self._reason))
            self._spans, self._edited, self._removed, self._reason = [], [], (), None
        self._place = place

    def _unique(self, base: str) -> str:
        """`base`, or for its second use `base~2`, and so on: an id never stands for two spans of a conversation."""
        span_id = base
        while span_id in self._ids:
            self._ids[base] += 1
            span_id = f"{base}~{self._ids[base]}"
        self._ids[span_id] = 1
        return span_id

    def _answered(self) -> tuple[str, ...]:
        closes, self._questions = tuple(self._questions[:LIST_LIMIT]), self._questions[LIST_LIMIT:]
        return closes

    def _release(self) -> None:
        for span_id in self._loop_thinking:
            self.edit(msgspec.structs.replace(self.live[span_id], needs_prefix=False))
        self._loop_thinking = []

    def _give_up(self, on: Callable[[str], bool]) -> None:
        """Report and forget the open calls that no result can reach any more."""
        for call_id, spans in list(self._open_calls.items()):
            for span_id in filter(on, list(spans)):
                self.report("call_without_result", call_id)
                spans.remove(span_id)
            if not spans:
                del self._open_calls[call_id]

    def _of_live(self, ids: list[str]) -> list[str]:
        return [span_id for span_id in ids if span_id in self.live]


def _lots(leaving: list[Span]) -> list[tuple[str, ...]]:
    """The ids in lots under the limit, cut where no pair and no dependence is parted, if there is such a place."""
    ids, owed = {span.span_id for span in leaving}, set[str]()
    lots: list[list[str]] = [[]]
    for span in leaving:
        if len(lots[-1]) >= _REMOVED_LIMIT or (len(lots[-1]) >= _REMOVED_TARGET and not owed):
            lots.append([])
        lots[-1].append(span.span_id)
        owed.update(ids.intersection(span.pairs_with + span.required_by))
        owed.discard(span.span_id)
    return [tuple(lot) for lot in lots]
