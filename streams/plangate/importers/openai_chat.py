"""OpenAI Chat Completions: messages alone, with their answer, as recorded exchanges, or many conversations at once.

A span is a content part, a tool call or a tool message. Messages have no ids, so span ids are positions (`m3.0`) but
for calls and results. Signed thinking that gateways pass along in `thinking_blocks` is read; `reasoning_content` is
unsigned. The older `function_call` has no id: the next `function` message of the same name answers it.
"""

from plangate.importers.accounting import UTF8_BYTES_DIV_4, Accounting
from plangate.importers.blocks import add_block, add_thinking, blocks_of
from plangate.importers.builder import Builder
from plangate.importers.jsonio import read_document
from plangate.importers.model import FormatError, Problem, Transcript
from plangate.importers.shapes import as_object, longest_exchange, message_list

FORMAT = "openai-chat"
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")


def parse(data: bytes, accounting: Accounting = UTF8_BYTES_DIV_4) -> Transcript:
    """Read one file. Raises FormatError if it is none of the shapes named above."""
    problems: list[Problem] = []
    conversations = []
    for number, messages in enumerate(_conversations(read_document(data))):
        builder = Builder(str(number) if number else None, accounting, problems, "message")
        for index, message in enumerate(messages):
            _add_message(builder, index, as_object(message))
        conversations.append(builder.finish())
    return Transcript(FORMAT, accounting.name, conversations, problems)


def _conversations(document: object) -> list[list[object]]:
    if isinstance(document, list):
        many = [item for item in document if isinstance(item, dict) and ("traj" in item or "messages" in item)]
        if many:
            return [message_list(item.get("traj", item.get("messages"))) for item in many]
        return [document]
    if isinstance(document, dict) and "exchanges" in document:
        request, response = longest_exchange(
            document["exchanges"], lambda answer: isinstance(answer.get("choices"), list)
        )
        return [request["messages"] + _choice(response)]
    if isinstance(document, dict):
        return [message_list(document.get("messages")) + _choice(document.get("response"))]
    raise FormatError("no_messages")


def _choice(response: object) -> list[object]:
    """The answer of a response: its first choice, the only one that a conversation goes on from."""
    choices = as_object(response).get("choices")
    first = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    return [first["message"]] if "message" in first else []


def _add_message(builder: Builder, index: int, message: dict) -> None:
    role = message.get("role")
    if role == "assistant":
        builder.answer(str(index), index)
    else:
        builder.input(index)
    if role not in _ROLES:
        builder.report("not_a_message")
        return
    builder.conversation.messages += 1
    content = message.get("content")
    if role == "assistant":
        _add_answer(builder, index, message)
    elif role == "tool":
        builder.result(f"m{index}.0", message.get("tool_call_id"), builder.cost(content))
    elif role == "function":
        builder.result(f"m{index}.0", _legacy_id(message), builder.cost(content))
    else:
        for number, block in enumerate(blocks_of(content) or [{"type": "text", "text": ""}]):
            if role == "user":
                add_block(builder, f"m{index}.{number}", block, answer=False)
            else:
                builder.part(f"m{index}.{number}", "system", builder.cost(block))


def _add_answer(builder: Builder, index: int, message: dict) -> None:
    thinking = message.get("thinking_blocks")
    thinking = [block for block in thinking if isinstance(block, dict)] if isinstance(thinking, list) else []
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    blocks = [*blocks_of(message.get("content")), *blocks_of(message.get("refusal"))]
    calls = message.get("tool_calls")
    calls = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    legacy = message.get("function_call")
    bases = (f"m{index}.{number}" for number in range(len(thinking) + len(blocks) + len(calls) + 4))
    for block in thinking:
        add_thinking(builder, next(bases), block)
    if reasoning and not thinking:
        builder.thinking(next(bases), builder.cost(reasoning), signed=False)
    for block in blocks:
        add_block(builder, next(bases), block, answer=True)
    for call in calls:
        body = call.get("function") or call.get("custom") or {}
        parts = (body.get("name"), body.get("arguments"), body.get("input")) if isinstance(body, dict) else (body,)
        builder.call(next(bases), call.get("id"), builder.cost(*parts))
    if isinstance(legacy, dict):
        cost = builder.cost(legacy.get("name"), legacy.get("arguments"))
        builder.call(next(bases), _legacy_id(legacy), cost)
    if not (thinking or reasoning or blocks or calls or legacy):
        builder.reply(next(bases), builder.cost(None))


def _legacy_id(holder: dict) -> str:
    """A key for calls that have no id; the blank keeps it from being any provider's id, or part of a span id."""
    return f"function {holder.get('name')}"
