"""Canaries: content put into any place of an input is in no output, state or error text (contract section 7)."""

from __future__ import annotations

import copy
import json
import logging
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from canarykit import CONTENT, IDENTIFIERS, Canaries, crafted, event_types
from wirekit import KEYS, SAMPLES, SPAN, TOPIC, Bench, Json, raw

from plangate.core.policy import Policy, PolicyError
from plangate.wire.keyring import sign
from plangate.wire.policy import load_policy
from plangate.wire.replay import replay_lines
from plangate.wire.state import StateVersionError, apply_patch, take_patch


def marked(node: Any, path: str, canaries: Canaries) -> Any:
    """A copy with canaries in every content field, and in name and value of an unknown field of every object."""
    if isinstance(node, list):
        return [marked(item, f"{path}[{i}]", canaries) for i, item in enumerate(node)]
    if not isinstance(node, dict):
        return node
    out: Json = {}
    for k, v in node.items():
        out[k] = canaries.new(f"{path}.{k}") if k in CONTENT else marked(v, f"{path}.{k}", canaries)
    out[canaries.new(f"{path}: unknown name")] = {"text": [canaries.new(f"{path}: unknown value")]}
    return out


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def with_at(node: Any, path: tuple[Any, ...], value: Any) -> Any:
    result = copy.deepcopy(node)
    at = result
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return result


def wrong(sample: Json, canaries: Canaries) -> Iterator[Json]:
    """The sample with each value in turn replaced by wrong types and by bad ids that hold a canary."""
    for path in places(sample):
        name = f"{sample['type']} {path}"
        bad = [{canaries.new(name): canaries.new(name)}, [[canaries.new(name)]], canaries.new(name) + "\u202e"]
        bad.append(canaries.new(name) + "x" * 300)
        at = sample
        for key in path:
            at = at[key]
        if not isinstance(at, str):
            bad.append(canaries.new(name))
        for value in bad:
            yield with_at(sample, path, value)


class Watch:
    """Feeds records and looks at everything that comes out, and at the state behind it."""

    def __init__(self, canaries: Canaries) -> None:
        self.bench, self.canaries, self.outputs = Bench(), canaries, 0
        self.numbers = 0
        self.lines = logging.Handler()
        self.lines.emit = lambda line: self.look(repr(line.__dict__).encode())  # type: ignore[method-assign]

    def feed(self, line: Json | bytes, signer: str | None = None, *, key: bytes = b"w", more: Any = ()) -> None:
        if isinstance(line, dict) and signer and "authority_seq" not in line:
            self.numbers += 1
            line = line | {"authority_seq": self.numbers}
        text = line if isinstance(line, bytes) else json.dumps(line).encode()
        headers = [*(sign(KEYS[signer], signer, TOPIC, text) if signer else ()), *more]
        logging.root.addHandler(self.lines)
        try:
            outs = self.bench.feed(text, headers, key)
        finally:
            logging.root.removeHandler(self.lines)
        for out in outs:
            self.outputs += 1
            self.look(b"\0".join([out.topic.encode(), out.key, out.value, repr(out.headers).encode()]))
            for _, value in out.headers:
                self.look(value)
        for window in self.bench.windows.values():
            self.look(take_patch(window))

    def look(self, data: bytes) -> None:
        assert not (found := self.canaries.leaks(data)), f"leak from {sorted(found)}"

    def end(self) -> None:
        for window in self.bench.windows.values():
            self.look(take_patch(window, full=True))
        assert self.outputs


def stripped(sample: Json) -> Json:
    return {k: v for k, v in sample.items() if k not in ("authority_seq", "sequence", "event_id")}


@pytest.mark.parametrize("signer", [None, "ps", "ci"])
@pytest.mark.parametrize("redaction", ["none", "hmac"])
def test_content_of_every_event_type_stays_inside(signer: str | None, redaction: str) -> None:
    canaries = Canaries()
    watch = Watch(canaries)
    policy = {"type": "policy_set", "window_id": "w", "policy": {"id_redaction": redaction}}
    watch.feed(marked(policy, "policy_set", canaries), "ps")
    for sample in SAMPLES:
        line = marked(stripped(sample), sample["type"], canaries)
        watch.feed(line, signer, more=[("x-note", canaries.new("header").encode()), ("ce_id", b"1")])
    watch.end()
    assert {p.split(".")[-1] for p in canaries.places} >= set(CONTENT) - {"text", "content"}


def crafted_stream(watch: Watch, signer: str | None) -> None:
    """Each event type with every field that its type has, in a window where most of them do something."""
    canaries = watch.canaries
    policy = {"policy_version": "v", "limits": {canaries.new("limits: name"): canaries.new("limits: value")}}
    watch.feed(crafted(event_types()[0], canaries), None)
    for _ in range(2):
        for kind in event_types():
            line = stripped(crafted(kind, canaries))
            if line["type"] == "policy_set":
                line["policy"] |= policy
            watch.feed(line, signer)
    watch.end()


@pytest.mark.parametrize("signer", [None, "ps", "ci"])
def test_content_of_every_field_of_every_type_stays_inside(signer: str | None) -> None:
    """The fields come from the types, so one that is added is covered, and is content until somebody says otherwise."""
    canaries = Canaries()
    crafted_stream(Watch(canaries), signer)
    assert len(canaries.places) > 500


def test_identifiers_are_fields_that_there_are() -> None:
    names = set()

    def walk(info: Any) -> None:
        for field in getattr(info, "fields", ()):
            names.add(field.encode_name)
            walk(field.type)
        for inner in [*getattr(info, "types", ()), *filter(None, [getattr(info, "item_type", None)])]:
            walk(inner)

    for kind in event_types():
        walk(msgspec.inspect.type_info(kind))
    assert IDENTIFIERS - {"type"} <= names


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s["type"])
@pytest.mark.parametrize("signer", [None, "ps"])
def test_wrong_values_and_bad_ids_stay_inside(sample: Json, signer: str | None) -> None:
    """Texts that are lawful ids are ids, not content; so only places that no lawful id may hold are looked at here."""
    canaries = Canaries()
    watch = Watch(canaries)
    watch.feed({"type": "span_appended", "window_id": "w", "spans": [SPAN, {"span_id": "b", "cost_units": 3}]})
    for line in wrong(stripped(sample), canaries):
        watch.feed(line, signer)
    watch.end()


def test_dead_letter_bytes_and_keys_stay_inside() -> None:
    canaries = Canaries()
    watch = Watch(canaries)
    forms = [b"%s", b'"%s', b'{"type":"%s"}', b'{"%s":1}', b'["%s"]', b"\xff%s", b"[" * 5000 + b'"%s"', b"NaN %s"]
    forms.append(b'{"type":"window_opened","window_id":"w","window_id":"%s"}')
    for i, form in enumerate(forms):
        watch.feed(form % canaries.new(f"form {i}").encode())
    watch.feed(raw(SAMPLES[0]), key=canaries.new("key").encode())
    forged = [("plangate-key-id", b"ps"), ("plangate-signature", canaries.new("signature").encode())]
    for headers in ([("plangate-key-id", canaries.new("key id").encode())], forged):
        watch.feed({"type": "window_opened", "window_id": "w"}, more=headers)
    watch.end()


def test_replay_holds_content_back_too() -> None:
    canaries = Canaries()
    lines: list[bytes] = []
    for source in (None, "policy_store", canaries.new("source")):
        for sample in SAMPLES:
            line = marked(stripped(sample), sample["type"], canaries) | {"window_id": f"w{len(lines) // len(SAMPLES)}"}
            lines.append(raw(line if source is None else {"value": line, "source": source}))
    lines += [canaries.new("no json").encode(), raw({"value": canaries.new("value")}), raw({canaries.new("name"): 1})]
    outputs = list(replay_lines(lines))
    assert len(outputs) > len(SAMPLES)
    assert not (found := set().union(*(canaries.leaks(out) for out in outputs))), sorted(found)


def test_error_texts_hold_no_values() -> None:
    canaries = Canaries()
    texts = []
    for name in Policy.__struct_fields__:
        if name == "policy_version":
            continue
        for bad in (canaries.new(name) * 40, {canaries.new(name): canaries.new(name)}, [{"x": canaries.new(name)}]):
            try:
                load_policy(raw({name: bad, canaries.new("unknown"): 1}))
            except PolicyError as error:
                texts.append(str(error) + repr(error))
    with pytest.raises(PolicyError) as caught:
        load_policy(canaries.new("file").encode())
    with pytest.raises(StateVersionError) as newer:
        apply_patch(None, b"\x92\x63\xaf" + canaries.new("patch").encode()[:15])
    texts += [str(caught.value), str(newer.value)]
    assert len(texts) > 20
    assert not canaries.leaks("\n".join(texts).encode())


def test_headers_pass_nothing_on_but_a_traceparent() -> None:
    canaries = Canaries()
    watch = Watch(canaries)
    lawful = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    names = ("traceparent", "tracestate", "baggage", "ce_id", "ce_type", "content-type", "plangate-duplicate", "x")
    headers = [(name, canaries.new(name).encode()) for name in names]
    headers += [("traceparent", lawful), ("traceparent", lawful[:-1] + b"2"), ("traceparent", b"0" * 9_000_000)]
    headers += [(canaries.new("name of a header"), b"1"), ("traceparent", lawful + canaries.new("tail").encode())]
    watch.feed(SAMPLES[1], more=headers)
    watch.end()
    outs = watch.bench.feed(raw(SAMPLES[2]), headers)
    assert outs and all([v for n, v in out.headers if n == "traceparent"] == [lawful] for out in outs)
    assert all(sum(len(v) for _, v in out.headers) < 300 for out in outs)
