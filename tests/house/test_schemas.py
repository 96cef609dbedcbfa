"""What `make schemas` writes is in step with the program, and what the program publishes is what the schemas say."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from plangate.cli.main import cli
from plangate.core.reasons import REASONS
from plangate.wire.replay import replay_lines
from plangate.wire.schemas import RECORDS, all_files, topics_of
from plangate.wire.tables import END, START, decision_table
from plangate.wire.topics import ROUTES, TOPICS

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "schemas"
CASES = sorted((ROOT / "tests/cases/data").glob("*.json"))
DECISION_DOCUMENTS = ("README.md", "docs/decisions.md")


def test_schemas_are_in_step_with_the_program() -> None:
    """`make schemas` after a change of an event, a record, the policy or a topic."""
    written = {str(p.relative_to(SCHEMAS)): p.read_text("utf-8") for p in SCHEMAS.rglob("*") if p.is_file()}
    assert written == all_files()


def test_the_command_writes_them(tmp_path: Path) -> None:
    document = tmp_path / "table.md"
    document.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    result = CliRunner().invoke(cli, ["schemas", str(tmp_path / "out"), "--table", str(document)])
    assert result.exit_code == 0, result.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"events", "records", "policy.json", "asyncapi.json"}
    assert document.read_text() == f"before\n{START}\n{decision_table()}{END}\nafter\n"


@pytest.mark.parametrize("name", DECISION_DOCUMENTS)
def test_decision_tables_are_in_step(name: str) -> None:
    """`make schemas` after a change of a reason."""
    text = (ROOT / name).read_text("utf-8")
    assert text.split(START)[1].split(END)[0].strip() == decision_table().strip()


def test_the_table_has_every_reason() -> None:
    assert all(f"| `{name}` | {reason.words} |" in decision_table() for name, reason in REASONS.items())


def test_every_record_type_is_on_a_topic_of_the_asyncapi_document() -> None:
    channels = json.loads(all_files()["asyncapi.json"])["channels"]
    assert set(channels) == set(TOPICS)
    assert set(RECORDS) == set(ROUTES)
    for tag in RECORDS:
        assert all(tag in channels[topic]["messages"] for topic in topics_of(tag))


def breaches(value: Any, schema: dict[str, Any], root: dict[str, Any], path: str = "$") -> list[str]:
    """Where a value breaks a schema of the kind we generate; fields that the schema doesn't name are breaches here."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "anyOf" in schema:
        tries = [breaches(value, option, root, path) for option in schema["anyOf"]]
        return [] if [] in tries else min(tries, key=len)
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{path}: not in the enum"]
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    if (kind := schema.get("type")) is None:
        return []
    if kind == "null":
        return [] if value is None else [f"{path}: not null"]
    if not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{path}: not a {kind}"]
    if kind == "array":
        return [
            b for i, item in enumerate(value) for b in breaches(item, schema.get("items", {}), root, f"{path}[{i}]")
        ]
    if kind == "object":
        known, rest = schema.get("properties", {}), schema.get("additionalProperties", "properties" not in schema)
        found = [f"{path}: no {name}" for name in schema.get("required", ()) if name not in value]
        for name, item in value.items():
            if name not in known and rest is False:
                found.append(f"{path}.{name}: not in the schema")
            inner = known.get(name, rest if isinstance(rest, dict) else {})
            found += breaches(item, inner, root, f"{path}.{name}")
        return found
    return []


def test_what_replay_publishes_is_as_the_schemas_say() -> None:
    counts: Counter[str] = Counter()
    schemas = {tag: json.loads((SCHEMAS / f"records/{tag}.json").read_text()) for tag in RECORDS}
    for path in CASES:
        for raw in replay_lines([*map(json.dumps, json.loads(path.read_text())["lines"]), "{}", '{"type": 1}']):
            line = json.loads(raw)
            value = line["value"]
            tag = value["type"]
            assert line["topic"] in topics_of(tag)
            assert breaches(value, schemas[tag], schemas[tag]) == [], (path.stem, tag)
            again = msgspec.json.encode(msgspec.convert(value, RECORDS[tag]))
            assert json.loads(again) == value, "a field that its record does not declare"
            counts[tag] += 1
    assert set(counts) == set(RECORDS)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"span_id": 5}, "$.span_id: not a string"),
        ({"alert": None}, "$.alert: not a string"),
        ({"missing": [{"span_id": 5}]}, "$.missing[0].span_id: not a string"),
        ({"type": "other"}, "$.type: not in the enum"),
        ({"generation": True}, "$.generation: not a integer"),
    ],
)
def test_the_check_finds_a_breach(change: dict[str, Any], where: str) -> None:
    schema = json.loads(all_files()["records/window_alert.json"])
    alert = {"type": "window_alert", "window_id": "w", "policy_version": "p", "source": {"partition": 0, "offset": 0}}
    alert |= {"alert": "id_conflict", "generation": 1}
    assert breaches(alert, schema, schema) == []
    assert where in breaches(alert | change, schema, schema)
