"""Anthropic Messages: a request (`system`, `messages`), a list of messages, or recorded exchanges.

A span is a content block. Messages have no ids, so span ids are positions (`m3.0`) but for calls and results. Of
recorded exchanges the longest request and its answer are taken: each request repeats the conversation so far. A
`compaction` block with content ends what the model sees of everything before it, the system text aside.
"""

from plangate.importers.accounting import UTF8_BYTES_DIV_4, Accounting
from plangate.importers.blocks import add_block, blocks_of
from plangate.importers.builder import Builder
from plangate.importers.jsonio import read_document
from plangate.importers.model import FormatError, Problem, Transcript
from plangate.importers.shapes import as_object, longest_exchange, message_list

FORMAT = "anthropic-messages"


def parse(data: bytes, accounting: Accounting = UTF8_BYTES_DIV_4) -> Transcript:
    """Read one file. Raises FormatError if it is none of the shapes named above."""
    system, messages = _request(read_document(data))
    problems: list[Problem] = []
    builder = Builder(None, accounting, problems, "message")
    builder.input(0)
    for number, block in enumerate(blocks_of(system)):
        builder.part(f"system.{number}", "system", builder.cost(block))
    for index, message in enumerate(messages):
        _add_message(builder, index, as_object(message))
    return Transcript(FORMAT, accounting.name, [builder.finish()], problems)


def _request(document: object) -> tuple[object, list[object]]:
    """The system text and the messages, the last answer included."""
    if isinstance(document, dict) and "exchanges" in document:
        request, response = longest_exchange(
            document["exchanges"], lambda answer: isinstance(answer.get("content"), list)
        )
        answer = [{"role": "assistant", "content": response["content"]}] if response else []
        return request.get("system"), request["messages"] + answer
    if isinstance(document, dict):
        return document.get("system"), message_list(document.get("messages"))
    if isinstance(document, list):
        return None, message_list(document)
    raise FormatError("no_messages")


def _add_message(builder: Builder, index: int, message: dict) -> None:
    role = message.get("role")
    if role == "assistant":
        builder.answer(str(index), index)
    else:
        builder.input(index)
        if role not in ("user", "system"):
            builder.report("not_a_message")
            return
    builder.conversation.messages += 1
    blocks = blocks_of(message.get("content")) or [{"type": "text", "text": ""}]
    for number, block in enumerate(blocks):
        base = f"m{index}.{number}"
        if role == "system":
            builder.part(base, "system", builder.cost(block))
        else:
            add_block(builder, base, block, answer=role == "assistant")
