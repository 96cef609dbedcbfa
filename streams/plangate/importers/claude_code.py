"""Claude Code session files: JSON Lines, one content block of a message per line.

A line is a turn, a block is a span. Span ids are the line's `uuid` (or `line-7`), but for calls and results. The lines
of one `message.id` are one answer. Main thread, inline sidechains and sub-agents (in `progress` records) are
conversations of their own. At a `compact_boundary` everything leaves but the preserved segment, if one is named, and
the summary line follows. A `microcompact_boundary` restates the results it cleared, at the size of the stub left.
Bookkeeping lines are passed over, and so are the program's own notes on failed requests, which the model never sees.
"""

import msgspec

from plangate.importers.accounting import UTF8_BYTES_DIV_4, Accounting
from plangate.importers.blocks import add_block, blocks_of
from plangate.importers.builder import Builder
from plangate.importers.jsonio import read_lines
from plangate.importers.model import Conversation, FormatError, Problem, Transcript, usable_id
from plangate.importers.shapes import as_object

FORMAT = "claude-code"
_CLEARED = "[Old tool result content cleared]"


def parse(data: bytes, accounting: Accounting = UTF8_BYTES_DIV_4) -> Transcript:
    """Read one file. Raises FormatError if there are lines and none of them is a JSON object."""
    problems: list[Problem] = []
    lines = list(read_lines(data, problems))
    if problems and not lines:
        raise FormatError("not_json_lines")
    session = _Session(accounting, problems)
    known = {uuid for _, record in lines if (uuid := _text(record, "uuid"))}
    for number, record in lines:
        parent = _text(record, "parentUuid")
        if parent and parent not in known:
            problems.append(Problem("missing_parent", line=number, id=usable_id(parent)))
        session.add(number, record)
    return Transcript(FORMAT, accounting.name, session.finish(), problems)


def _text(record: dict, key: str) -> str | None:
    value = record.get(key)
    return value if isinstance(value, str) else None


def _object(record: dict, *keys: str) -> dict:
    return next((value for key in keys if (value := as_object(record.get(key)))), {})


def _agent(record: dict) -> str | None:
    """The name of an agent's conversation; it becomes part of a window id."""
    agent = usable_id(record.get("agentId"))
    return f"agent-{agent}" if agent and len(agent) <= 40 else None


class _Session:
    """Sends each record to its conversation."""

    def __init__(self, accounting: Accounting, problems: list[Problem]) -> None:
        self._accounting = accounting
        self._problems = problems
        self._builders: dict[str | None, Builder] = {}
        self._builder(None)
        self._seen: set[str] = set()
        self._sidechains: dict[str, str] = {}  # uuid -> conversation
        self._lines: dict[str, int] = {}  # uuid -> line
        self._continued: set[str] = set()  # uuids that a message came after
        self._bounded: Builder | None = None  # whose boundary came last: its summary is next

    def finish(self) -> list[Conversation]:
        return [builder.finish() for builder in self._builders.values()]

    def add(self, number: int, record: dict) -> None:
        kind, name = record.get("type"), None
        if kind == "progress":
            data = _object(record, "data")
            if data.get("type") != "agent_progress":
                return
            name = _agent(data) or "agent-unnamed"
            record = _object(data, "message")
            kind = record.get("type")
        elif record.get("isSidechain") is True:
            name = self._sidechain(record)
        builder = self._builder(name)
        uuid = _text(record, "uuid")
        if uuid is not None:
            if uuid in self._seen:
                builder.input(number)
                builder.report("duplicate_record", uuid)
                return
            self._seen.add(uuid)
            self._lines[uuid] = number
        if kind == "system":
            self._boundary(builder, number, record)
        elif kind in ("user", "assistant"):
            self._message(builder, number, record, answer=kind == "assistant")
        elif kind == "attachment":
            builder.input(number)
            builder.part(usable_id(uuid) or f"line-{number}", "document", builder.cost(record.get("attachment")))

    def _builder(self, name: str | None) -> Builder:
        if name not in self._builders:
            self._builders[name] = Builder(name, self._accounting, self._problems, "line")
        return self._builders[name]

    def _sidechain(self, record: dict) -> str:
        """The conversation of a sidechain line: its agent's, its parent's, or a new one."""
        parent = self._sidechains.get(_text(record, "parentUuid") or "")
        name = _agent(record) or parent or f"sidechain-{len(set(self._sidechains.values())) + 1}"
        if uuid := _text(record, "uuid"):
            self._sidechains[uuid] = name
        return name

    def _message(self, builder: Builder, number: int, record: dict, answer: bool) -> None:
        message, uuid = _object(record, "message"), usable_id(record.get("uuid"))
        if record.get("isApiErrorMessage") is True:
            return
        base = uuid or f"line-{number}"
        if answer:
            builder.answer(_text(message, "id") or base, number)
        else:
            builder.input(number)
        if not message:
            builder.report("not_a_message", uuid)
            return
        builder.conversation.messages += 1
        self._watch_branches(builder, record, message, answer)
        bounded, self._bounded = self._bounded is builder, None
        if record.get("isCompactSummary") is True:
            if not bounded:
                builder.remove("compact")
            builder.part(base, "summary", builder.cost(message.get("content")))
            return
        for part, block in enumerate(blocks_of(message.get("content")) or [{"type": "text", "text": ""}]):
            add_block(builder, f"{base}.{part}" if part else base, block, answer, record.get("isMeta") is not True)

    def _watch_branches(self, builder: Builder, record: dict, message: dict, answer: bool) -> None:
        """Report words of the user that go on from an earlier place: what came after that place is still imported."""
        parent, words = _text(record, "parentUuid"), not answer
        words = words and not any(block.get("type") == "tool_result" for block in blocks_of(message.get("content")))
        if words and parent in self._continued:
            builder.report("branch_not_followed", parent)
        if parent:
            self._continued.add(parent)

    def _boundary(self, builder: Builder, number: int, record: dict) -> None:
        subtype = record.get("subtype")
        if subtype == "compact_boundary":
            builder.input(number)
            kept = self._preserved(builder, _object(record, "compactMetadata", "compact_metadata"))
            builder.remove("compact", stays=lambda span: builder.places[span.span_id] in kept)
            self._bounded = builder
        elif subtype == "microcompact_boundary":
            builder.input(number)
            ids = _object(record, "microcompactMetadata", "microcompact_metadata").get("compactedToolIds")
            for call_id in ids if isinstance(ids, list) else []:
                result = builder.live.get(f"{call_id}.result")
                if result is None:
                    builder.report("cleared_result_not_live", call_id)
                else:
                    builder.edit(msgspec.structs.replace(result, cost_units=builder.cost(_CLEARED)))

    def _preserved(self, builder: Builder, metadata: dict) -> range:
        """The lines of the segment that outlives a boundary; ids that name no line before it are reported."""
        segment = _object(metadata, "preservedSegment", "preserved_segment")
        if not segment:
            return range(0)
        ends = [
            segment.get(key, segment.get(snake))
            for key, snake in (("headUuid", "head_uuid"), ("tailUuid", "tail_uuid"))
        ]
        lines = [self._lines.get(end, 0) if isinstance(end, str) else 0 for end in ends]
        for end, line in zip(ends, lines, strict=True):
            if not line:
                builder.report("preserved_line_missing", end)
        return range(lines[0], lines[1] + 1) if all(lines) else range(0)
