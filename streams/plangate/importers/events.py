"""From a transcript's turns to the input events of contract section 2."""

from collections.abc import Iterator

import msgspec

from plangate.importers.model import Conversation, Span, Transcript, Turn

SPANS_PER_EVENT = 1000  # contract section 7


def window_of(window_id: str, conversation: Conversation) -> str:
    """The window a conversation gets: `window_id` itself for the main one, else with its name behind a slash."""
    return window_id if conversation.name is None else f"{window_id}/{conversation.name}"


def events(transcript: Transcript, window_id: str, conversation: int | None = None) -> Iterator[dict]:
    """The events of all conversations, each in a window of its own, or of the one with that index in just `window_id`.

    Raises IndexError for an index that the transcript hasn't got.
    """
    if conversation is not None:
        yield from conversation_events(transcript, transcript.conversations[conversation], window_id)
        return
    for one in transcript.conversations:
        yield from conversation_events(transcript, one, window_of(window_id, one))


def conversation_events(transcript: Transcript, conversation: Conversation, window_id: str) -> Iterator[dict]:
    """`window_opened`, then the events of each turn."""
    yield {"type": "window_opened", "window_id": window_id}
    for turn in conversation.turns:
        yield from turn_events(transcript, turn, window_id)


def turn_events(transcript: Transcript, turn: Turn, window_id: str) -> Iterator[dict]:
    """`spans_removed`, `span_edited`, `span_appended` events of one turn, within the limits of contract section 7."""
    for start in range(0, len(turn.removed), SPANS_PER_EVENT):
        ids = list(turn.removed[start : start + SPANS_PER_EVENT])
        yield {"type": "spans_removed", "window_id": window_id, "span_ids": ids, "reason": turn.reason}
    for span in turn.edited:
        yield {"type": "span_edited", "window_id": window_id, "span": _encoded(span, transcript)}
    for start in range(0, len(turn.spans), SPANS_PER_EVENT):
        spans = [_encoded(span, transcript) for span in turn.spans[start : start + SPANS_PER_EVENT]]
        yield {"type": "span_appended", "window_id": window_id, "turn": turn.number, "spans": spans}


def _encoded(span: Span, transcript: Transcript) -> dict:
    fields = msgspec.to_builtins(msgspec.structs.replace(span, accounting=transcript.accounting))
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
