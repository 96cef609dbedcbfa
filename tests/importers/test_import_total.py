"""Whatever JSON comes, parsing ends in lawful events or in FormatError."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plangate.importers import FORMATS, FormatError, events, parse

NAMES = st.sampled_from(
    "type role content id uuid parentUuid message messages tool_calls tool_call_id tool_use_id name input function "
    "arguments thinking signature data text source isSidechain agentId subtype isMeta isCompactSummary compactMetadata "
    "preservedSegment headUuid tailUuid microcompactMetadata compactedToolIds exchanges request response body choices "
    "traj trajectory action observation cause args tool_call_metadata model_response forgotten_event_ids "
    "forgotten_events_start_id "
    "forgotten_events_end_id function_call thinking_blocks refusal reasoning_content system image_urls".split()
)
WORDS = st.sampled_from(
    "user assistant system tool function developer text thinking redacted_thinking tool_use tool_result "
    "server_tool_use web_search_tool_result compaction image document progress agent_progress attachment "
    "compact_boundary microcompact_boundary message condensation run recall agent environment a b".split()
)
LEAVES = st.none() | st.booleans() | st.integers(-2, 4) | st.just(2**70) | st.just(1e999) | WORDS | st.text(max_size=3)


def json_values(leaves: int) -> st.SearchStrategy:
    return st.recursive(
        LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=5), max_leaves=leaves
    )


JSON = json_values(4)


def typed(kind: str, **fields: st.SearchStrategy) -> st.SearchStrategy:
    return st.fixed_dictionaries({}, optional={"type": st.just(kind), **fields})


IDS = st.sampled_from(["a", "b", "", "bad id"]) | JSON
BLOCK = st.one_of(
    typed("text", text=WORDS), typed("thinking", thinking=WORDS, signature=IDS), typed("tool_use", id=IDS, input=JSON),
    typed("tool_result", tool_use_id=IDS, content=JSON), typed("server_tool_use", id=IDS),
    typed("x_tool_result", tool_use_id=IDS), typed("compaction", content=JSON), JSON,
)  # fmt: skip
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "function"]) | JSON
CALLS = st.lists(typed("function", id=IDS, function=JSON), max_size=3) | JSON
MESSAGE = st.fixed_dictionaries(
    {"role": ROLES, "content": st.lists(BLOCK, max_size=4) | JSON},
    optional={
        "tool_calls": CALLS,
        "tool_call_id": IDS,
        "function_call": JSON,
        "name": IDS,
        "thinking_blocks": JSON,
        "id": IDS,
    },
)
RECORD = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "progress", "attachment"])},
    optional={"uuid": IDS, "parentUuid": IDS, "message": MESSAGE, "isSidechain": st.booleans(), "agentId": IDS,
              "data": JSON, "subtype": WORDS, "compactMetadata": JSON, "microcompactMetadata": JSON,
              "isCompactSummary": st.booleans(), "isMeta": st.booleans(), "attachment": JSON},
)  # fmt: skip
NUMBERS = st.integers(0, 6) | JSON
EVENT = st.fixed_dictionaries(
    {"id": NUMBERS},
    optional={"action": WORDS | JSON, "observation": WORDS, "cause": NUMBERS, "source": WORDS, "args": JSON,
              "content": JSON, "tool_call_metadata": JSON},
)  # fmt: skip
DOCUMENTS = {
    "openai-chat": st.lists(MESSAGE, max_size=8),
    "anthropic-messages": st.lists(MESSAGE, max_size=8),
    "claude-code": st.lists(RECORD, max_size=8),
    "openhands-v0": st.lists(EVENT, max_size=8),
}


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_likely_shapes(format, data, check_events):
    document = data.draw(DOCUMENTS[format])
    raw = "\n".join(map(json.dumps, document)) if format == "claude-code" else json.dumps(document)
    check_events(events(parse(format, raw.encode()), "w"))


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=100, deadline=None)
@given(document=json_values(40))
def test_any_json(format, document, check_events):
    _either(format, json.dumps(document).encode(), check_events)


@pytest.mark.parametrize("format", FORMATS)
@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=40))
def test_any_bytes(format, raw, check_events):
    _either(format, raw, check_events)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("depth", [90, 300, 400, 900, 990, 100_000])
def test_deep_nesting(format, depth, check_events):
    deep = "[" * depth + "]" * depth
    typed_deep = '{"type":"tool_result","content":[' * depth + "]}" * depth
    for inner in (deep, typed_deep):
        block = f'{{"type":"tool_use","id":"a","input":{inner}}},{inner}'
        message = f'{{"role":"assistant","content":[{block}],"tool_calls":[{{"id":"b","function":{inner}}}]}}'
        record = f'{{"type":"assistant","message":{message},"attachment":{inner}}}'
        event = f'{{"id":1,"action":"run","args":{{"a":{inner}}}}}'
        _either(
            format,
            {"claude-code": record, "openhands-v0": f"[{event}]"}.get(format, f"[{message}]").encode(),
            check_events,
        )


def _either(format: str, raw: bytes, check_events) -> None:
    try:
        transcript = parse(format, raw)
    except FormatError as error:
        assert str(error) in ("not_json", "not_json_lines", "no_messages")
        return
    check_events(events(transcript, "w"))
