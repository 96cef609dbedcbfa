"""The rules of docs/importers.md, each on the smallest transcript that shows it."""

import json

import pytest

from plangate.importers import FormatError, Transcript, events, parse


def text(words: str = "x") -> dict:
    return {"type": "text", "text": words}


def call(id: str, kind: str = "tool_use") -> dict:
    return {"type": kind, "id": id, "name": "t", "input": {}}


def result(id: str, kind: str = "tool_result") -> dict:
    return {"type": kind, "tool_use_id": id, "content": "ok"}


def thinking(signature: str | None = "s") -> dict:
    return {"type": "thinking", "thinking": "hm", "signature": signature}


def messages(*contents: object) -> Transcript:
    """Anthropic messages that alternate between user and assistant."""
    roles = ("user", "assistant")
    body = [{"role": roles[number % 2], "content": content} for number, content in enumerate(contents)]
    return parse("anthropic-messages", json.dumps({"messages": body}).encode())


def lines(*records: dict) -> Transcript:
    """Claude Code records; a `block` in one stands for a message of just that, its `mid` for the message's id."""
    out = []
    for number, record in enumerate(records):
        record = {"uuid": f"u{number}", **record}
        if "block" in record:
            record["message"] = {"id": record.pop("mid", None), "content": [record.pop("block")]}
        out.append(json.dumps(record))
    return parse("claude-code", "\n".join(out).encode())


def spans(transcript: Transcript, conversation: int = 0) -> dict[str, dict]:
    """Spans as last stated, by id, those that left included; only fields that differ from the default."""
    found: dict[str, dict] = {}
    for event in events(transcript, "w", conversation):
        for span in event.get("spans", []) + ([event["span"]] if "span" in event else []):
            found[span["span_id"]] = {k: v for k, v in span.items() if k not in ("span_id", "accounting", "cost_units")}
    return found


def problems(transcript: Transcript) -> list[tuple[str, int | None, str | None]]:
    return [(one.problem, one.line if one.line is not None else one.message, one.id) for one in transcript.problems]


def test_a_call_and_its_result():
    got = spans(messages("q", [call("c1")], [result("c1")]))
    assert got["c1"] == {"kind": "tool_call", "open": True, "closes": ["m0.0"]}
    pair = {"depends_on": ["c1"], "needs_verbatim": ["c1"], "pairs_with": ["c1"], "closes": ["c1"]}
    assert got["c1.result"] == {"kind": "tool_result", **pair}


def test_calls_of_one_answer_pair_with_the_first_of_them_and_provider_calls_do_not():
    server = call("s1", "server_tool_use"), result("s1", "web_search_tool_result")
    got = spans(
        messages("q", [*server, call("c1"), call("c2"), call("c3")], [result("c3"), result("c1"), result("c2")])
    )
    assert [got[id].get("pairs_with") for id in ("s1", "c1", "c2", "c3")] == [None, None, ["c1"], ["c1"]]
    assert got["s1.result"]["pairs_with"] == ["s1"] and got["c3.result"]["pairs_with"] == ["c3"]


def test_signed_thinking_needs_its_prefix_until_its_loop_ends():
    loop = ("q", [thinking(), call("c1")], [result("c1")], [thinking(), text()])
    assert [spans(messages(*loop))[id].get("needs_prefix") for id in ("m1.0", "m3.0")] == [True, True]
    closed = messages(*loop, "next", [text()])
    assert [spans(closed)[id].get("needs_prefix") for id in ("m1.0", "m3.0")] == [None, None]
    types = [event["type"] for event in events(closed, "w")][5:]
    assert types == ["span_edited", "span_edited", "span_appended", "span_appended"]


def test_words_of_the_user_among_results_do_not_end_a_loop():
    got = spans(messages("q", [thinking(), call("c1")], [result("c1"), text("also this")]))
    assert got["m1.0"]["needs_prefix"] is True


def test_what_signed_thinking_led_to_requires_it_and_unsigned_thinking_has_no_edges():
    got = spans(messages("q", [thinking(), text(), call("c1"), call("c2")]))
    assert [got[id].get("required_by") for id in ("m1.1", "c1", "c2")] == [["m1.0"], ["m1.0"], None]
    got = spans(messages("q", [thinking(None), text(), call("c1")]))
    assert got["m1.0"] == {"kind": "reasoning", "closes": ["m0.0"]} and "required_by" not in got["c1"]
    redacted = {"type": "redacted_thinking", "data": "x"}
    assert spans(messages("q", [redacted, call("c1")]))["m1.0"]["needs_prefix"] is True


def test_words_of_the_user_are_open_until_an_answer_begins():
    got = spans(messages([text(), text()], [text()], "again"))
    assert got["m0.0"]["open"] and got["m0.1"]["open"] and got["m2.0"]["open"]
    assert got["m1.0"]["closes"] == ["m0.0", "m0.1"]


def test_text_that_the_program_put_in_is_owed_no_answer():
    meta = {"type": "user", "isMeta": True, "block": text()}
    assert spans(lines(meta)) == {"u0": {"kind": "user"}}


def test_only_a_model_calls_and_thinks():
    got = spans(messages([call("c"), thinking()], [call("d")]))
    assert got["m0.0"] == got["m0.1"] == {"kind": "other"} and "closes" not in got["d"]


def test_more_open_words_than_an_edge_list_takes_are_closed_by_the_next_spans(check_events):
    transcript = messages([text()] * 100, [text(), text()])
    check_events(events(transcript, "w"))
    assert [len(spans(transcript)[id]["closes"]) for id in ("m1.0", "m1.1")] == [64, 36]


def test_a_reused_call_id_binds_to_the_nearest_open_call_before():
    transcript = messages("q", [call("c")], [result("c")], [call("c")], [result("c")])
    got = spans(transcript)
    assert got["c.result"]["depends_on"] == ["c"] and got["c~2.result"]["depends_on"] == ["c~2"]
    assert problems(transcript) == [("reused_call_id", 3, "c")]
    got = spans(messages("q", [call("c")], "go on", [call("c")], [result("c")], [text()], [result("c")]))
    assert [(id, got[id]["depends_on"]) for id in got if "result" in id] == [
        ("c~2.result", ["c~2"]),
        ("c.result", ["c"]),
    ]


def test_dangling_results_stand_alone_and_are_reported():
    transcript = messages("q", [call("c")], [result("c"), result("c"), result("d")])
    assert problems(transcript) == [("result_of_closed_call", 2, "c"), ("result_without_call", 2, "d")]
    assert spans(transcript)["m2.1"] == spans(transcript)["m2.2"] == {"kind": "tool_result"}


def test_an_id_that_could_be_anything_is_neither_used_nor_shown():
    transcript = messages("q", [call("evil\u202ename")], [result("evil\u202ename"), result("no such\n")])
    assert spans(transcript)["m1.0"]["kind"] == "tool_call" and spans(transcript)["m1.0.result"]["closes"] == ["m1.0"]
    assert problems(transcript) == [("result_without_call", 2, None)]


def test_provider_compaction_removes_all_but_the_system_text():
    body = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "compaction", "content": "s"}, text()]},
    ]
    transcript = parse("anthropic-messages", json.dumps({"system": "be good", "messages": body}).encode())
    assert [e["span_ids"] for e in events(transcript, "w") if e["type"] == "spans_removed"] == [["m0.0"]]
    assert spans(transcript)["m1.0"] == {"kind": "summary"}
    body[1]["content"][0]["content"] = None  # a failed one changes nothing
    transcript = parse("anthropic-messages", json.dumps(body).encode())
    assert all(event["type"] != "spans_removed" for event in events(transcript, "w"))


def test_chat_calls_legacy_calls_and_reasoning():
    body = [
        {"role": "developer", "content": "d"},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": None, "reasoning_content": "r",
         "tool_calls": [{"id": f"c{n}", "function": {"name": "t", "arguments": "{}"}} for n in (1, 2)]},
        {"role": "tool", "tool_call_id": "c2", "content": "ok"},
        {"role": "assistant", "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "ok"},
        {"role": "function", "name": "older", "content": "ok"},
        "not a message",
    ]  # fmt: skip
    transcript = parse("openai-chat", json.dumps(body).encode())
    got = spans(transcript)
    assert [got[id]["kind"] for id in ("m0.0", "m2.0", "c1")] == ["system", "reasoning", "tool_call"]
    assert got["c2"]["pairs_with"] == ["c1"] and got["m4.0.result"]["closes"] == ["m4.0"]
    assert problems(transcript) == [
        ("result_without_call", 6, None), ("not_a_message", 7, None), ("call_without_result", None, "c1")
    ]  # fmt: skip


def test_lines_of_one_answer_are_one_batch_though_results_stand_between(check_events):
    user, model = {"type": "user"}, {"type": "assistant", "mid": "m1"}
    transcript = lines(
        user | {"block": text()}, model | {"block": thinking()}, model | {"block": call("a")},
        user | {"block": result("a")}, model | {"block": call("b")}, user | {"block": result("b")},
    )  # fmt: skip
    check_events(events(transcript, "w"))
    assert spans(transcript)["b"]["pairs_with"] == ["a"] and spans(transcript)["a"]["required_by"] == ["u1"]
    assert [turn.number for turn in transcript.conversations[0].turns] == [1, 1, 1, 2, 1, 2]


def test_bookkeeping_repeats_and_broken_lines():
    one = json.dumps({"type": "user", "uuid": "u", "message": {"content": "q"}})
    skipped = [{"type": "summary", "summary": "t"}, {"type": "progress", "data": {"type": "bash_progress"}},
               {"type": "assistant", "isApiErrorMessage": True, "message": {"content": "e"}}]  # fmt: skip
    raw = "\n".join([one, one, one + one, one[:20], "7", *map(json.dumps, skipped)])
    transcript = parse("claude-code", raw.encode())
    assert problems(transcript) == [
        ("glued_line", 3, None), ("broken_line", 4, None), ("not_a_record", 5, None), ("duplicate_record", 2, "u")
    ]  # fmt: skip
    assert list(spans(transcript)) == ["u"]


def test_a_boundary_leaves_the_preserved_segment_and_the_summary(check_events):
    kept = {"preservedSegment": {"headUuid": "u2", "tailUuid": "u3"}}
    before = [{"type": "user", "block": text()}, {"type": "assistant", "block": call("gone")},
              {"type": "user", "block": text()}, {"type": "assistant", "block": text()}]  # fmt: skip
    boundary = {"type": "system", "subtype": "compact_boundary", "compactMetadata": kept}
    summary = {"type": "user", "isCompactSummary": True, "message": {"content": "so far"}}
    transcript = lines(*before, boundary, summary, {"type": "user", "block": text()})
    assert list(check_events(events(transcript, "w"))["w"]) == ["u2", "u3", "u5", "u6"]
    assert problems(transcript) == [("call_without_result", 5, "gone")]
    kept["preservedSegment"]["tailUuid"] = "nowhere"
    transcript = lines(*before, boundary, summary)
    assert list(check_events(events(transcript, "w"))["w"]) == ["u5"]
    assert ("preserved_line_missing", 5, "nowhere") in problems(transcript)


def test_other_threads_are_conversations_of_their_own():
    side = {"type": "user", "isSidechain": True, "block": text()}
    agent = {"type": "user", "uuid": "a1", "message": {"content": "q"}}
    progress = {"type": "progress", "data": {"type": "agent_progress", "agentId": "f00", "message": agent}}
    transcript = lines({"type": "user", "block": text()}, side, side | {"parentUuid": "u1"}, side, progress)
    names = [one.name for one in transcript.conversations]
    assert names == [None, "sidechain-1", "sidechain-2", "agent-f00"]
    assert [event["window_id"] for event in events(transcript, "w") if event["type"] == "window_opened"] == [
        "w", "w/sidechain-1", "w/sidechain-2", "w/agent-f00"
    ]  # fmt: skip
    assert list(spans(transcript, 1)) == ["u1", "u2"]


def test_missing_parents_and_branches_are_reported_not_repaired():
    user, model = {"type": "user", "block": text()}, {"type": "assistant", "block": text()}
    transcript = lines(user, model | {"parentUuid": "u0"}, user | {"parentUuid": "u1"}, user | {"parentUuid": "u0"},
                       user | {"parentUuid": "lost"})  # fmt: skip
    assert problems(transcript) == [("branch_not_followed", 4, "u0"), ("missing_parent", 5, "lost")]
    assert len(spans(transcript)) == 5


def test_large_turns_and_large_removals_keep_to_the_limits_and_part_nothing(check_events):
    body = [{"role": "user", "content": [text()] * 1200}]
    for n in range(1500):
        body += [{"role": "assistant", "content": [call(f"c{n}")]}, {"role": "user", "content": [result(f"c{n}")]}]
    body.append({"role": "user", "content": "so that lots of even size would part pairs"})
    body.append({"role": "assistant", "content": [{"type": "compaction", "content": "s"}]})
    transcript = parse("anthropic-messages", json.dumps(body).encode())
    got = list(events(transcript, "w"))
    assert list(check_events(got)["w"]) == [f"m{len(body) - 1}.0"]
    removed = [set(event["span_ids"]) for event in got if event["type"] == "spans_removed"]
    pairs = [{f"c{n}", f"c{n}.result"} for n in range(1500)]
    assert len(removed) > 4 and all(pair <= lot or not pair & lot for lot in removed for pair in pairs)


@pytest.mark.parametrize("format", ["openai-chat", "anthropic-messages", "openhands-v0"])
@pytest.mark.parametrize("raw", [b"", b"{", b"7", b'{"a": 1}', b"[" * 100_000, b"\xff\xfe{", b'{"exchanges": [1]}'])
def test_a_file_of_another_kind_is_refused(format, raw):
    with pytest.raises(FormatError) as caught:
        parse(format, raw)
    assert str(caught.value) in ("not_json", "no_messages")
