"""Real transcripts to window events. Pure: bytes in, spans and problems out; no content in either.

Each format has a `parse`; docs/importers.md tells what becomes of what.
"""

from collections.abc import Callable

from plangate.importers import anthropic_messages, claude_code, openai_chat, openhands_v0
from plangate.importers.accounting import UTF8_BYTES_DIV_4, Accounting
from plangate.importers.events import conversation_events, events, turn_events, window_of
from plangate.importers.model import Conversation, FormatError, Problem, Span, Transcript, Turn

__all__ = [
    "FORMATS", "UTF8_BYTES_DIV_4", "Accounting", "Conversation", "FormatError", "Problem", "Span", "Transcript", "Turn",
    "conversation_events", "events", "parse", "turn_events", "window_of",
]  # fmt: skip

FORMATS: dict[str, Callable[[bytes, Accounting], Transcript]] = {
    module.FORMAT: module.parse for module in (openai_chat, anthropic_messages, claude_code, openhands_v0)
}


def parse(format: str, data: bytes, accounting: Accounting = UTF8_BYTES_DIV_4) -> Transcript:
    """Read one file of a format named in FORMATS (else KeyError). Raises FormatError if it is not of that format."""
    return FORMATS[format](data, accounting)
