"""OpenHands event histories of version 0: `{"trajectory": [events]}` or a bare list of events.

A span is an event (`event-12`); only changes of the agent's state are left out. An observation depends on, and pairs
with, the action that `cause` names. A condensation is a real eviction: the turn at its place names what it forgot in
`removed`, and its one span is the summary. The program puts the summary at `summary_offset`; here it is appended.
"""

from collections.abc import Collection

from plangate.importers.accounting import UTF8_BYTES_DIV_4, Accounting
from plangate.importers.builder import Builder
from plangate.importers.jsonio import read_document
from plangate.importers.model import Kind, Problem, Transcript
from plangate.importers.shapes import as_object, message_list

FORMAT = "openhands-v0"
_STATE = frozenset({"agent_state_changed", "change_agent_state"})


def parse(data: bytes, accounting: Accounting = UTF8_BYTES_DIV_4) -> Transcript:
    """Read one file. Raises FormatError if it is neither shape."""
    document = read_document(data)
    listed = document.get("trajectory") if isinstance(document, dict) else document
    problems: list[Problem] = []
    builder = Builder(None, accounting, problems, "message")
    seen: set[int] = set()
    for index, event in enumerate(map(as_object, message_list(listed))):
        number = event.get("id")
        if type(number) is not int or abs(number) > 2**53:
            builder.input(index)
            builder.report("not_a_message")
            continue
        if number in seen:
            builder.input(index)
            builder.report("duplicate_record", f"event-{number}")
            continue
        seen.add(number)
        if not any(isinstance(tag, str) and tag in _STATE for tag in (event.get("action"), event.get("observation"))):
            _add_event(builder, index, event)
    return Transcript(FORMAT, accounting.name, [builder.finish()], problems)


def _add_event(builder: Builder, index: int, event: dict) -> None:
    action, base = event.get("action"), f"event-{event['id']}"
    args = as_object(event.get("args"))
    of_model = event.get("source") == "agent" and action is not None and action not in ("system", "condensation")
    if of_model:
        builder.answer(_response(event), index)
    else:
        builder.input(index)
    if action is None:
        _add_observation(builder, base, event)
    elif action == "condensation":
        forgotten = _forgotten(args)
        builder.remove("condensation", stays=lambda span: int(span.span_id.removeprefix("event-")) not in forgotten)
        builder.part(base, "summary", builder.cost(args.get("summary")))
    elif action in ("message", "system"):
        builder.conversation.messages += 1
        pictures = args.get("image_urls")
        pictures = [{"type": "image"}] * len(pictures) if isinstance(pictures, list) else []
        cost = builder.cost(args.get("content"), pictures)
        if action == "system":
            builder.part(base, "system", cost)
        elif of_model:
            builder.reply(base, cost)
        else:
            builder.question(base, cost)
    elif event.get("tool_call_metadata"):
        builder.call(base, base, builder.cost(args))
    elif of_model:
        builder.reply(base, builder.cost(args), kind="other")
    else:
        builder.part(base, "memory" if action == "recall" else "other", builder.cost(args))


def _add_observation(builder: Builder, base: str, event: dict) -> None:
    """Results of tool calls close them; the answers to the program's own actions, such as recalls, only pair."""
    recall = event.get("observation") == "recall"
    cost = builder.cost(event.get("content"), event.get("extras") if recall else None)
    cause = f"event-{event.get('cause')}"
    if event.get("tool_call_metadata"):
        builder.result(base, cause, cost, named=True)
        return
    kind: Kind = "memory" if recall else "other"
    if cause in builder.live:
        builder.attach(base, kind, cost, cause)
        return
    if event.get("cause") is not None:
        builder.report("result_without_call", cause)
    builder.part(base, kind, cost)


def _response(event: dict) -> str:
    """The model response that an event is part of: its batch."""
    key = as_object(as_object(event.get("tool_call_metadata")).get("model_response")).get("id")
    return key if isinstance(key, str) else f"event-{event['id']}"


def _forgotten(args: dict) -> Collection[int]:
    """Numbers of the events that a condensation names, as a list or as a range that includes both ends."""
    ids = args.get("forgotten_event_ids")
    if isinstance(ids, list):
        return {number for number in ids if type(number) is int}
    start, end = args.get("forgotten_events_start_id"), args.get("forgotten_events_end_id")
    return range(start, end + 1) if type(start) is int and type(end) is int else ()
