"""``plangate audit verify``: is the audit log whole? Statuses and findings: docs/audit.md."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import click
import msgspec

from ..wire.audit import AUDITED, Finding, Head, Recomputed, Seen, Verifier, read_heads, seen_line
from ..wire.audit.findings import Place, found
from ..wire.policy import Policy, PolicyError, load_policy

WHOLE, FAULTY, UNUSABLE = 0, 1, 2
#: the largest record as a line, with room for the JSON around it
LINE_BYTES = 12 * 1024 * 1024
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


class Unusable(click.ClickException):
    """Nothing was judged: options, files or the broker are not as they must be."""

    exit_code = UNUSABLE


@click.group("audit")
def audit_group() -> None:
    """The audit log: is it whole?"""


@audit_group.command("verify")
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--topic", "from_topic", is_flag=True, help="Read the broker's topics instead of FILE.")
@click.option("--chain-only", is_flag=True, help="Look at audit-log alone, not at the decisions it speaks of.")
@click.option("--allow-repeats", is_flag=True, help="Records may come again, byte for byte (`acknowledgements`).")
@click.option("--inputs", type=click.File("rb"), help="With FILE: the events, as `plangate replay` takes them.")
@click.option("--recompute", is_flag=True, help="With --topic: decide all inputs of the topic again, and compare.")
@click.option("--policy", "policy_file", type=_FILE, help="With --inputs: default policy (JSON), as in `replay`.")
@click.option("--heads", type=click.File("rb"), help="Heads saved by an earlier run: all must lie on the chains.")
@click.option("--save-heads", type=click.Path(dir_okay=False, path_type=Path), help="Write heads if all is whole.")
@click.option("--config", type=_FILE, help="With --topic: settings (TOML), as of `plangate worker`.")
@click.option("--bootstrap", help="With --topic: the broker, over the settings' `broker`.")
@click.option("--prefix", help="With --topic: of the topics, over the settings' `topic_prefix`.")
@click.option("--format", "form", type=click.Choice(["json", "text"]), default="json", help="Of the report.")
def verify_command(
    file: BinaryIO | None,
    from_topic: bool,
    chain_only: bool,
    allow_repeats: bool,
    inputs: BinaryIO | None,
    recompute: bool,
    policy_file: Path | None,
    heads: BinaryIO | None,
    save_heads: Path | None,
    config: Path | None,
    bootstrap: str | None,
    prefix: str | None,
    form: str,
) -> None:
    """Verify the audit log in FILE (lines as `plangate replay` prints them; - is standard input), or of a broker.

    Prints one line for each finding and one summary. Status 0: whole; 1: findings; 2: could not be verified.
    """
    if (file is None) != from_topic:
        raise click.UsageError("Give FILE or --topic.")
    if from_topic and (inputs or policy_file):
        raise click.UsageError("--inputs and --policy go with FILE; with --topic use --recompute and --config.")
    if file is not None and (recompute or config or bootstrap or prefix is not None):
        raise click.UsageError("--recompute, --config, --bootstrap and --prefix go with --topic.")
    topics = AUDITED[:1] if chain_only else AUDITED
    compared = Recomputed(topics, allow_repeats=allow_repeats) if inputs or recompute else None
    verifier = Verifier(
        chain_only=chain_only, allow_repeats=allow_repeats, heads=_heads(heads), recomputed=compared
    )  # fmt: skip
    if file is None:
        _verify_topics(verifier, compared, topics, config, bootstrap, prefix, form)
    else:
        if inputs and compared:
            compared.add_lines(inputs, _policy(policy_file))
        for seen in _lines(file):
            _tell(verifier.take(seen), form)
    _tell(verifier.end(), form)
    summary = verifier.summary()
    _print({"summary": summary}, form)
    if not summary.findings and not summary.audit_records:
        raise Unusable("there is no audit record")
    if save_heads and summary.whole:
        _save(save_heads, verifier.heads())
    raise SystemExit(WHOLE if summary.whole else FAULTY)


def _verify_topics(
    verifier: Verifier,
    compared: Recomputed | None,
    topics: Iterable[str],
    config: Path | None,
    bootstrap: str | None,
    prefix: str | None,
    form: str,
) -> None:
    import asyncio

    from ..shell.settings import SettingsError, load_settings

    try:
        settings = load_settings(os.environ, config)
    except SettingsError as error:
        raise Unusable(str(error)) from None
    settings = replace(settings, broker=bootstrap or settings.broker)
    if prefix is not None:
        settings = replace(settings, topic_prefix=prefix)
    # Only now, so that a file needs no Kafka library.
    from aiokafka.errors import KafkaError

    from ..shell.audit import AuditError, AuditReader
    from ..shell.logs import configure_logs
    from ..shell.process import load_engine
    from ..wire.keyring import KeyringError

    configure_logs("error", settings.log_format)

    async def run() -> None:
        async with AuditReader(settings) as reader:
            await reader.start(topics, decided=compared is not None)
            if compared is not None:
                await reader.recompute(load_engine(settings), compared)
            async for seen in reader.outputs():
                _tell(verifier.take(seen), form)

    try:
        asyncio.run(run())
    except (AuditError, KeyringError, PolicyError) as error:
        raise Unusable(str(error)) from None
    except (KafkaError, OSError) as error:
        raise Unusable(f"the broker or a file can't be read ({type(error).__name__})") from None


def _lines(file: BinaryIO) -> Iterator[Seen | Finding]:
    """Lines of a file, none of them held longer or larger than a record can be."""
    number = 0
    while line := file.readline(LINE_BYTES):
        number += 1
        if len(line) == LINE_BYTES and not line.endswith(b"\n"):
            while (rest := file.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield found("unreadable", place=Place(number))
        elif line.strip():
            yield seen_line(line, number)


def _policy(file: Path | None) -> Policy:
    try:
        return load_policy(file.read_bytes()) if file else Policy()
    except PolicyError as error:
        raise Unusable(str(error)) from None


def _heads(file: BinaryIO | None) -> list[Head]:
    try:
        return read_heads(file) if file else []
    except ValueError as error:
        raise Unusable(f"--heads: {error}") from None


def _save(file: Path, heads: Iterable[Head]) -> None:
    try:
        file.write_bytes(b"".join(msgspec.json.encode(head) + b"\n" for head in heads))
    except OSError:
        raise Unusable("the heads can't be written") from None


def _tell(findings: Iterable[Finding], form: str) -> None:
    for finding in findings:
        _print(finding, form)


def _print(fact: object, form: str) -> None:
    if form == "json":
        click.echo(msgspec.json.encode(fact))
        return
    fields = msgspec.to_builtins(fact)
    words = [fields.pop("finding")] if "finding" in fields else ["summary"]
    words += [f"{name}={msgspec.json.encode(value).decode()}" for name, value in fields.get("summary", fields).items()]
    click.echo(" ".join(words))
