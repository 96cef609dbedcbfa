"""Signed authority (contract section 1): Ed25519 over a domain tag, the topic's base name and the exact value bytes."""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from ..core.step import UNSIGNED, Signature

DOMAIN = b"plangate-signature-v1"
KEY_ID, SIGNATURE = "plangate-key-id", "plangate-signature"


class KeyringError(ValueError):
    """The keyring file can't be used. The text names the entry, never key material."""


class Keyring:
    """key id -> source name and public key."""

    def __init__(self, keys: dict[str, tuple[str, Ed25519PublicKey]] | None = None) -> None:
        self.keys = keys or {}

    def verify(self, topic: str, value: bytes, headers: Sequence[tuple[str, bytes]]) -> Signature:
        """Who signed, if anybody did. Never raises: a wrong signature is a fact about the record, not an error."""
        given = [(name, content) for name, content in headers if name in (KEY_ID, SIGNATURE)]
        found = dict(given)
        if len(found) < len(given):  # two of a name: readers could take either, so it stands for neither
            return Signature(wrong=True)
        if len(found) < 2:  # no signature, or nobody's
            return UNSIGNED
        try:
            held = self.keys.get(bytes(found[KEY_ID] or b"").decode("utf-8"))
        except UnicodeError:
            held = None
        if held is None:
            return UNSIGNED
        key_id = bytes(found[KEY_ID]).decode()
        try:
            held[1].verify(signature_bytes(found[SIGNATURE]), signed_bytes(topic, value))
        except (InvalidSignature, ValueError):
            return Signature(wrong=True)
        return Signature(held[0], key_id)


def signed_bytes(topic: str, value: bytes) -> bytes:
    """What is signed: tag, topic and value, each but the last with its length so that no two triples read alike."""
    name = topic.encode()
    return DOMAIN + len(name).to_bytes(2, "big") + name + value


def signature_bytes(header: bytes | None) -> bytes:
    """A signature header: 64 raw bytes, or their base64."""
    raw = bytes(header or b"")
    return raw if len(raw) == 64 else base64.b64decode(raw, validate=True)


def sign(key: Ed25519PrivateKey, key_id: str, topic: str, value: bytes) -> list[tuple[str, bytes]]:
    """The two headers that give a record authority."""
    return [(KEY_ID, key_id.encode()), (SIGNATURE, base64.b64encode(key.sign(signed_bytes(topic, value))))]


def load_keyring(path: str | Path) -> Keyring:
    """Read a JSON or TOML file ``{"keys": [{"key_id", "source", "public_key" (base64 of 32 bytes)}]}``."""
    text = Path(path).read_bytes()
    try:
        document: Any = tomllib.loads(text.decode()) if str(path).endswith(".toml") else json.loads(text)
        entries = document["keys"]
        if not isinstance(entries, list):
            raise TypeError
    except (ValueError, KeyError, TypeError):
        raise KeyringError("keyring: not a file with a list of keys") from None
    keys: dict[str, tuple[str, Ed25519PublicKey]] = {}
    for i, entry in enumerate(entries):
        try:
            public = Ed25519PublicKey.from_public_bytes(base64.b64decode(entry["public_key"], validate=True))
            key_id, source = entry["key_id"], entry["source"]
            if not (isinstance(key_id, str) and isinstance(source, str) and key_id and source):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            raise KeyringError(f"keyring: entry {i} is not usable") from None
        if key_id in keys:
            raise KeyringError(f"keyring: entry {i} repeats a key id")
        keys[key_id] = (source, public)
    return Keyring(keys)
