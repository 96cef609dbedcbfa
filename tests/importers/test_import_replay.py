"""Imported events through `plangate replay`: the gate takes them all, and the edges do what docs/importers.md says."""

import json
from collections.abc import Iterable

from click.testing import CliRunner

from plangate.cli.main import cli
from plangate.importers import events, parse, turn_events

# What the transcripts themselves did to their windows: the second condensation parted this recall from its answer.
EXPLAINED = {"openhands-v0/oh-v0-297-events-condensation.json.gz": [("orphaned_by_host", "event-162")]}


def replay(lines: Iterable[dict]) -> list[dict]:
    """The output records of a stream."""
    result = CliRunner().invoke(cli, ["replay", "-"], input="\n".join(map(json.dumps, lines)))
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def plan(plan_id: str, generation: int, **dispositions: list[str]) -> dict:
    entries = [
        {"span_id": span_id, "relevance": 0.1, "disposition": disposition, "cited_dependencies": []}
        for disposition, ids in dispositions.items()
        for span_id in ids
    ]
    head = {"type": "plan_proposed", "window_id": "w", "plan_id": plan_id, "window_generation": generation}
    return head | {"entries": entries}


def decisions(records: list[dict]) -> dict[str, dict]:
    return {record["value"]["plan_id"]: record["value"] for record in records if record["topic"] == "plan-decisions"}


def test_no_dead_letter_and_no_alert_that_the_transcript_does_not_explain(transcript_file, data, check_events):
    name = f"{transcript_file.parent.name}/{transcript_file.name}"
    feed = list(events(parse(transcript_file.parent.name, data), "w"))
    records = replay(feed)
    assert records and all(record["topic"] in ("window-alerts", "window-status", "audit-log") for record in records)
    alerts = [record["value"] for record in records if record["topic"] == "window-alerts"]
    assert [(alert["alert"], alert.get("span_id")) for alert in alerts] == EXPLAINED.get(name, [])
    newest = {record["key"]: record["value"] for record in records if record["topic"] == "window-status"}
    sizes = {window: (status["live_spans"], status["cost_units"]) for window, status in newest.items()}
    live = check_events(feed)
    assert sizes == {w: (len(spans), sum(one["cost_units"] for one in spans.values())) for w, spans in live.items()}


def changes(feed: list[dict]) -> int:
    """Generation after a feed of applied events, contract section 3."""
    return sum(event["type"] != "window_opened" for event in feed)


def test_what_the_gate_says_to_the_real_condensations(unpacked):
    transcript = parse("openhands-v0", unpacked("openhands-v0/oh-v0-297-events-condensation.json.gz"))
    feed: list[dict] = []
    commits = 0
    for turn in transcript.conversations[0].turns:
        if not turn.removed:
            feed += turn_events(transcript, turn, "w")
            continue
        summary = turn.spans[0]
        proposal = plan(summary.span_id, changes(feed) - commits, compress=list(turn.removed))
        covers = {"span_id": summary.span_id, "covers": list(turn.removed), "cost_units": summary.cost_units}
        feed.append(proposal | {"replacements": [covers]})
        # An accepted plan is itself one change, and as an event it was counted as one; a refused one is none.
        commits += summary.span_id != "event-150"
    first, second = decisions(replay(feed)).values()
    assert first["type"] == "plan_accepted" and len(first["compressed"][0]["covers"]) > 50
    assert (second["type"], second["reasons"]) == ("plan_refused", ["orphans"])
    (orphan,) = second["orphans"]
    assert orphan["span_id"] == "event-162"
    assert {(broken["span_id"], broken["via"]) for broken in orphan["broken"]} == {
        ("event-160", "pair"),
        ("event-160", "verbatim"),
    }


def vias(decision: dict) -> set[str]:
    return {broken["via"] for orphan in decision["orphans"] for broken in orphan["broken"]}


def test_a_batch_of_a_real_file_goes_as_a_whole(unpacked):
    """The batch of three calls in a file without thinking: a result, or one call with its result, can't go alone."""
    transcript = parse("claude-code", unpacked("claude-code/cc-orphan-result.jsonl.gz"))
    feed = list(events(transcript, "w"))
    spans = [span for event in feed for span in event.get("spans", [])]
    later = [span for span in spans if span["kind"] == "tool_call" and span.get("pairs_with")]
    calls = [*later[0]["pairs_with"], *(span["span_id"] for span in later)]
    assert len(calls) == 3
    results = [span["span_id"] for span in spans if set(span.get("depends_on", [])) & set(calls)]
    feed += [
        plan("result", changes(feed), evict=results[:1]),
        plan(
            "one", changes(feed), evict=[calls[1], *(s["span_id"] for s in spans if s.get("depends_on") == [calls[1]])]
        ),
        plan("all", changes(feed), evict=calls + results),
    ]
    got = decisions(replay(feed))
    assert (got["result"]["reasons"], vias(got["result"])) == (["orphans"], {"pair"})
    assert (got["one"]["reasons"], vias(got["one"])) == (["orphans"], {"pair"})
    assert got["all"]["type"] == "plan_accepted" and len(got["all"]["evicted_ids"]) == 6


def test_the_running_loop_of_a_real_file_holds_its_prefix_and_a_closed_one_does_not(unpacked):
    """Before the last words of the user any thinking may go; in the loop after them, nothing before thinking may."""
    transcript = parse("claude-code", unpacked("claude-code/cc-image-in-tool-result.jsonl.gz"))
    turns = transcript.conversations[0].turns
    last_words = max(number for number, turn in enumerate(turns) if any(span.kind == "user" for span in turn.spans))
    oldest = [span.span_id for turn in turns[:last_words] for span in turn.spans][:1]
    feed = [event for turn in turns[: last_words + 1] for event in turn_events(transcript, turn, "w")]
    closed = [*feed, plan("closed", changes(feed), evict=oldest)]
    feed = [event for turn in turns for event in turn_events(transcript, turn, "w")]
    running = [*feed, plan("running", changes(feed), evict=oldest)]
    assert decisions(replay(closed))["closed"]["type"] == "plan_accepted"
    refused = decisions(replay(running))["running"]
    assert (refused["reasons"], vias(refused)) == (["orphans"], {"prefix"})
