"""Content blocks of the Anthropic Messages form, which other formats carry inside their own records."""

from plangate.importers.builder import Builder

_CALLS = frozenset({"tool_use", "server_tool_use", "mcp_tool_use"})
_THINKING = frozenset({"thinking", "redacted_thinking"})
_DOCUMENTS = frozenset({"document", "search_result"})
_WORDS = frozenset({"text", "refusal", "image", "image_url", "input_audio", "file", "container_upload"})


def blocks_of(content: object) -> list[dict]:
    """The content of a message as blocks: a text is one text block; what is no block is taken as an opaque one."""
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    items = content if isinstance(content, list) else [content]
    return [item if isinstance(item, dict) else {"type": "text", "text": item} for item in items]


def add_thinking(builder: Builder, base: str, block: dict) -> None:
    """A thinking block; what stands encrypted in place of its text is what its cost can be told from."""
    secret = block.get("data") or block.get("signature")
    builder.thinking(base, builder.cost(block.get("thinking") or secret), signed=bool(secret))


def add_block(builder: Builder, base: str, block: dict, answer: bool, waits: bool = True) -> None:
    """One block of a user message or (`answer`) of a model's; `waits` as in `Builder.question`."""
    kind = block.get("type")
    kind = kind if isinstance(kind, str) else ""
    if not answer and kind in _CALLS | _THINKING:
        builder.part(base, "other", builder.cost(block))  # only a model calls and thinks
    elif kind in _CALLS:
        cost = builder.cost(block.get("name"), block.get("input"))
        builder.call(base, block.get("id"), cost, client=kind == "tool_use")
    elif kind == "tool_result" or kind.endswith("_tool_result"):
        builder.result(base, block.get("tool_use_id"), builder.cost(block.get("content")))
    elif kind in _THINKING:
        add_thinking(builder, base, block)
    elif kind == "compaction" and block.get("content") is not None:
        builder.remove("compact", stays=lambda span: span.kind == "system")
        builder.part(base, "summary", builder.cost(block.get("content"), block.get("encrypted_content")))
    elif kind in _DOCUMENTS:
        builder.part(base, "document", builder.cost(block))
    elif kind not in _WORDS:
        builder.part(base, "other", builder.cost(block))
    elif answer:
        builder.reply(base, builder.cost(block))
    else:
        builder.question(base, builder.cost(block), waits)
