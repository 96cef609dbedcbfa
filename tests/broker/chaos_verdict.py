"""What a run did wrong: published outputs against those recomputed from the log. Pure."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from chaos_load import Place, Seen

from plangate.wire.engine import Out


@dataclass
class Verdict:
    """Counts of what was found; all but `repeats` must be 0. `notes`: the first few findings, in words."""

    answers: int = 0
    lost: int = 0
    conflicting: int = 0
    double_accepts: int = 0
    out_of_order: int = 0
    unstable: int = 0
    repeats: int = 0
    repeated_inputs: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def wrong(self) -> int:
        return self.lost + self.conflicting + self.double_accepts + self.out_of_order + self.unstable

    def note(self, text: str) -> None:
        if len(self.notes) < 20:
            self.notes.append(text)


def judge(during: Mapping[Place, list[Seen]], after: Mapping[Place, list[Seen]], wanted: Iterable[Out]) -> Verdict:
    """
    lost: recomputed and not published. conflicting: published with other bytes than recomputed, or not to be
    published at all. double accepts: more accepts of one window generation than recomputed (at least one is lawful).
    out of order: a window's answers, each where it stands first. unstable: what the reader alongside got at an offset
    is not what lies there afterwards. repeats: copies beyond the first; `repeated_inputs`: of how many input records,
    by input partition.
    """
    verdict = Verdict()
    expected = {_identity(out): out for out in wanted}
    published: Counter[tuple[str, bytes]] = Counter()
    order: dict[tuple[str, bytes], list[bytes]] = defaultdict(list)
    for records in after.values():
        for seen in records:
            name = _identity(seen.out)
            published[name] += 1
            if published[name] == 1:
                order[seen.out.topic, seen.out.key].append(name[1])
            if seen.out != expected.get(name):
                verdict.conflicting += 1
                verdict.note(f"conflicting: {name}")
    verdict.answers = len(published)
    for name in expected.keys() - published.keys():
        verdict.lost += 1
        verdict.note(f"lost: {name}")
    lawful: dict[tuple[str, bytes], list[bytes]] = defaultdict(list)
    for topic, number in expected:
        lawful[topic, expected[topic, number].key].append(number)
    for key, numbers in order.items():
        known = set(numbers)
        if [n for n in numbers if (key[0], n) in expected] != [n for n in lawful[key] if n in known]:
            verdict.out_of_order += 1
            verdict.note(f"out of order: {key}")
    _count_repeats(verdict, published)
    _count_double_accepts(verdict, [s.out for records in after.values() for s in records], expected.values())
    for place, records in during.items():
        now = {seen.offset: seen.out for seen in after.get(place, ())}
        different = sum(now.get(seen.offset) != seen.out for seen in records) + (len(now) != len(records))
        if different:
            verdict.unstable += different
            verdict.note(f"unstable: {place}: {len(records)} read during, {len(now)} after")
    return verdict


def _identity(out: Out) -> tuple[str, bytes]:
    return out.topic, dict(out.headers)["ce_id"]


def _count_repeats(verdict: Verdict, published: Counter[tuple[str, bytes]]) -> None:
    copies: dict[int, Counter[int]] = defaultdict(Counter)
    for (_, number), count in published.items():
        if count > 1:
            verdict.repeats += count - 1
            _, partition, offset, _ = number.decode().rsplit("/", 3)
            copies[int(partition)][int(offset)] = max(copies[int(partition)][int(offset)], count - 1)
    verdict.repeated_inputs = {partition: sum(found.values()) for partition, found in copies.items()}


def _count_double_accepts(verdict: Verdict, published: Iterable[Out], wanted: Iterable[Out]) -> None:
    lawful = _accepts(wanted)
    for generation, decisions in _accepts(published).items():
        extra = len(decisions) - max(1, len(lawful.get(generation, ())))
        if extra > 0:
            verdict.double_accepts += extra
            verdict.note(f"double accept: {generation}")


def _accepts(outs: Iterable[Out]) -> dict[tuple[str, int], set[str]]:
    found: dict[tuple[str, int], set[str]] = defaultdict(set)
    for out in outs:
        if out.topic == "plan-decisions" and b'"plan_accepted"' in out.value:
            made = json.loads(out.value)
            found[made["window_id"], made["window_generation"]].add(made["decision_id"])
    return found
