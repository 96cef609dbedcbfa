"""Records in, records out: decode, verify, step, encode. Total over any bytes; an exception is our own defect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..core.events import Event, PolicySet
from ..core.policy import Policy
from ..core.records import DeadLetter, Source
from ..core.state import Head
from ..core.step import UNSIGNED, Rejection, Signature, step
from ..core.window import Window
from .decode import Rejected, decode
from .encode import Headers, Out, encode, encode_dead_letter
from .keyring import KEY_ID, SIGNATURE, Keyring
from .topics import INPUT

#: used where no key is configured: hashes are then stable pseudonyms that anybody can recompute from a guessed id
DEFAULT_REDACTION_KEY = b"plangate-unkeyed"
#: the one header that is passed on, only in the form of W3C Trace Context: anything else could be content, or too big
_TRACE = "traceparent"
_TRACE_FORM = re.compile(rb"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")


class Record(NamedTuple):
    """One input record as it lies in the log; ``topic`` is the base name, without prefix."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()


class Engine:
    """The gate over bytes. One engine serves many windows; the caller keeps them, one dict per partition."""

    def __init__(
        self, policy: Policy | None = None, keyring: Keyring | None = None, redaction_key: bytes = DEFAULT_REDACTION_KEY
    ) -> None:
        self.policy = policy or Policy()
        self.keyring = keyring or Keyring()
        self.redaction_key = redaction_key
        #: policies taken that ask for hashed ids where there is no key to hash them with
        self.unkeyed_policies = 0

    def unkeyed(self, window: Window) -> bool:
        """Whether a window's hashed ids can be recomputed by anybody, for no key was configured."""
        return window.policy.id_redaction == "hmac" and self.redaction_key == DEFAULT_REDACTION_KEY

    def process(self, windows: dict[str, Window], record: Record) -> list[Out]:
        """Apply one record in place and give what must be published for it, in order. A null value is nothing."""
        value = record.value
        if value is None:
            return []
        decoded = decode(value, self.policy.limits.record_bytes)
        if isinstance(decoded, Rejected):
            return [self.dead_letter(record, decoded.reason, decoded.path)]
        if record.key is None or record.key != decoded.window_id.encode():
            return [self.dead_letter(record, "null_key" if record.key is None else "key_mismatch", "window_id")]
        signature = UNSIGNED
        if any(name in (KEY_ID, SIGNATURE) for name, _ in record.headers):
            signature = self.keyring.verify(INPUT, value, record.headers)
        return self.apply(windows, record, decoded, signature)

    def apply(self, windows: dict[str, Window], record: Record, event: Event, signature: Signature) -> list[Out]:
        """Step one decoded event; ``signature`` says who vouches for it."""
        window = windows.get(event.window_id)
        fresh = window is None
        if window is None:
            window = Window(event.window_id, self.policy)
        elif len(record.value or b"") > window.policy.limits.record_bytes and not isinstance(event, PolicySet):
            return [self.dead_letter(record, "too_large", None)]
        source, policy = Source(record.partition, record.offset), window.policy
        outputs = step(window, event, source, signature, self.policy)
        if isinstance(outputs, Rejection):
            return [self.dead_letter(record, outputs.reason, outputs.path)]
        if not fresh or not _blank(window):
            window.head.last_offset = record.offset
            windows[event.window_id] = window
        if window.policy is not policy and self.unkeyed(window):
            self.unkeyed_policies += 1
        trace = _trace(record.headers)
        coordinates = f"{record.topic}/{record.partition}/{record.offset}"
        outs: list[Out] = []
        for number, output in enumerate(outputs):
            outs += encode(output, window.policy, self.redaction_key, coordinates, trace, number)
        return outs

    def dead_letter(self, record: Record, reason: str, path: str | None) -> Out:
        letter = DeadLetter(
            policy_version=self.policy.policy_version,
            topic=record.topic,
            partition=record.partition,
            offset=record.offset,
            reason=reason,
            path=path,
            size_bytes=len(record.value or b""),
        )
        return encode_dead_letter(letter, [])


def _trace(headers: Sequence[tuple[str, bytes]]) -> Headers:
    """The first lawful ``traceparent``."""
    for name, content in headers:
        if name == _TRACE and content and _TRACE_FORM.fullmatch(bytes(content)):
            return [(name, bytes(content))]
    return []


def _blank(window: Window) -> bool:
    """Whether an event left nothing behind in a window that nothing opened: no state is kept for it."""
    memories = (window.reports, window.event_ids, window.signed_event_ids, window.authority)
    return not any(memories) and window.head == Head(window.head.window_id)
