"""The worker's settings: from environment variables, over a TOML file, over defaults.

A setting `batch_size` is `batch_size = 2000` in the file and `PLANGATE_BATCH_SIZE=2000` in the environment. An error
names the setting and what it must be, never the value given: it may be a password.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

ENVIRONMENT_PREFIX = "PLANGATE_"
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/]+)(:[0-9]{1,5})?")


class SettingsError(Exception):
    """A setting is unknown, has the wrong type or is out of range. The text holds names only."""


def _setting(default: Any, doc: str, low: float | None = None, high: float | None = None, secret: bool = False) -> Any:
    return field(default=default, repr=not secret, metadata={"doc": doc, "low": low, "high": high})


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings. Each one's meaning and unit stands beside it and, made from here, in docs/configuration.md."""

    broker: str = _setting("127.0.0.1:9092", "Bootstrap addresses, `host:port`, separated by commas.")
    application_id: str = _setting(
        "plangate", "Consumer group, prefix of the transactional ids and of the changelog's name."
    )
    instance_id: str = _setting(
        "", "Static member id, one for each worker, kept over restarts: a restart then moves no partitions."
    )
    topic_prefix: str = _setting("", "Put before every topic name; empty or ending in a dot.")
    guarantee: Literal["transactions", "acknowledgements"] = _setting(
        "transactions",
        "`transactions`: outputs, state and offsets of a batch in one Kafka transaction, read with `read_committed`. "
        "`acknowledgements`: for brokers without transactions; after a crash answers may come again, byte for byte.",
    )
    create_topics: bool = _setting(True, "Create missing topics at the start. They are checked in any case.")
    partitions: int = _setting(8, "Partitions of topics that are created.", 1, 10_000)
    replication_factor: int = _setting(1, "Replicas of topics that are created. Production: 3, with 2 in sync.", 1, 15)
    batch_size: int = _setting(2000, "Most records of one partition decided in one step.", 1, 100_000)
    session_timeout_seconds: float = _setting(
        10.0, "Silence after which the group takes a worker for dead. The broker's own minimum is 6.", 1, 600
    )
    heartbeat_seconds: float = _setting(
        2.0, "Between two signs of life to the group; well below the session's time-out.", 0.1, 60
    )
    rebalance_timeout_seconds: float = _setting(
        30.0, "The longest that a rebalance waits for a worker's batch in flight.", 1, 600
    )
    transaction_timeout_seconds: float = _setting(
        15.0,
        "After this the broker aborts the transaction of a worker that hangs. Until then its readers wait.",
        1,
        900,
    )
    stall_seconds: float = _setting(
        60.0, "With records waiting and no batch finished for so long, or without partitions, `/live` fails.", 5, 3600
    )
    policy_file: str = _setting("", "JSON policy of windows that set none (contract section 8).")
    keyring_file: str = _setting("", "Keys of the sources with authority. Without it no event has authority.")
    redaction_key: str = _setting(
        "", "Secret for `id_redaction: hmac`; the same on every worker. Rather use the file.", secret=True
    )
    redaction_key_file: str = _setting("", "File with that secret; blanks around it are dropped.")
    web_bind: str = _setting("127.0.0.1", "Address for `/live`, `/ready` and `/metrics`. Nobody is asked who they are.")
    web_port: int = _setting(6066, "Port for these; 0: none.", 0, 65_535)
    log_level: Literal["debug", "info", "warning", "error"] = _setting("info", "Least level of our own log lines.")
    log_format: Literal["json", "console"] = _setting("json", "`json`: one object a line; `console`: for people.")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = _setting(
        "PLAINTEXT", "How to talk to the broker."
    )
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = _setting(
        "SCRAM-SHA-512", "With SASL: the mechanism."
    )
    sasl_username: str = _setting("", "With SASL: the user.")
    sasl_password: str = _setting("", "With SASL: the password. Rather use the file.", secret=True)
    sasl_password_file: str = _setting("", "File with the password; blanks around it are dropped.")
    ssl_ca_file: str = _setting("", "With TLS: PEM file of the authorities to trust. Empty: the system's.")
    ssl_certificate_file: str = _setting("", "With TLS: PEM file with the client's certificate.")
    ssl_key_file: str = _setting("", "With TLS: PEM file with the certificate's key.")
    ssl_check_hostname: bool = _setting(True, "With TLS: the broker's certificate must name its host.")

    @property
    def group_id(self) -> str:
        """The consumer group; with `-PARTITION` behind it the transactional id of an input partition."""
        return self.topic_prefix + self.application_id

    @property
    def changelog_topic(self) -> str:
        """Full name of the topic that keeps the windows."""
        return f"{self.group_id}-windows-changelog"

    def topic(self, base_name: str) -> str:
        """Full name of a topic of contract section 1."""
        return self.topic_prefix + base_name


def load_settings(environment: Mapping[str, str], file: Path | None = None) -> Settings:
    """Settings from `environment`, over those of the TOML `file`, over the defaults. Raises SettingsError."""
    given: dict[str, Any] = {}
    if file is not None:
        given = _read_toml(file)
    for item in fields(Settings):
        text = environment.get(ENVIRONMENT_PREFIX + item.name.upper())
        if text is not None:
            given[item.name] = _from_text(item.name, item.type, text)
    known = {item.name: item for item in fields(Settings)}
    for name, value in given.items():
        if name not in known:
            raise SettingsError(f"unknown setting in the file: {name}")
        _check(name, known[name].type, value, known[name].metadata)
    for name in ("sasl_password", "redaction_key"):
        path = given.get(f"{name}_file")
        if path:
            if given.get(name):
                raise SettingsError(f"{name} and {name}_file are both given")
            given[name] = _read_secret(f"{name}_file", path)
    settings = Settings(**given)
    if not all(_ADDRESS.fullmatch(part.strip()) for part in settings.broker.split(",")):
        raise SettingsError("broker must be host:port, or several of them with commas between")
    if settings.topic_prefix and not settings.topic_prefix.endswith("."):
        raise SettingsError("topic_prefix must be empty or end in a dot")
    if settings.heartbeat_seconds * 2 > settings.session_timeout_seconds:
        raise SettingsError("heartbeat_seconds must be at most half of session_timeout_seconds")
    return settings


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """Names of PLANGATE_ variables that are no setting: most likely misspelt."""
    known = {ENVIRONMENT_PREFIX + item.name.upper() for item in fields(Settings)}
    return sorted(name for name in environment if name.startswith(ENVIRONMENT_PREFIX) and name not in known)


def settings_table() -> str:
    """The Markdown table of docs/configuration.md. To make it anew: python -m plangate.shell.settings"""
    lines = ["| setting | environment | default | meaning |", "| --- | --- | --- | --- |"]
    for item in fields(Settings):
        assert item.default is not MISSING
        default = {"": "", True: "`true`", False: "`false`"}.get(item.default, f"`{item.default}`")
        variable = ENVIRONMENT_PREFIX + item.name.upper()
        lines.append(f"| `{item.name}` | `{variable}` | {default} | {item.metadata['doc']} |")
    return "\n".join(lines) + "\n"


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text())
    except OSError:
        raise SettingsError("the settings file can't be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise SettingsError("the settings file is no TOML") from None


def _read_secret(name: str, path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except (OSError, UnicodeDecodeError):
        raise SettingsError(f"the file of {name} can't be read") from None


def _from_text(name: str, kind: Any, text: str) -> Any:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    try:
        if kind is bool:
            return words[text.strip().lower()]
        return kind(text) if kind in (int, float) else text
    except (KeyError, ValueError):
        raise SettingsError(f"{name} must be {_expected(kind)}") from None


def _check(name: str, kind: Any, value: Any, metadata: Mapping[str, Any]) -> None:
    if get_origin(kind) is Literal:
        good = value in get_args(kind)
    elif kind is float:
        good = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        good = type(value) is kind
    low, high = metadata["low"], metadata["high"]
    if not good:
        raise SettingsError(f"{name} must be {_expected(kind)}")
    if low is not None and not low <= value <= high:
        raise SettingsError(f"{name} must be from {low:g} to {high:g}")


def _expected(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(get_args(kind))
    return {bool: "true or false", int: "a whole number", float: "a number", str: "text"}[kind]


if __name__ == "__main__":
    print(settings_table(), end="")
