"""The state read from the changelog is the live one, whatever compaction, crashes and late writers did to the log."""

import json
import random
import struct
from collections.abc import Callable

import pytest
import toy_window
from hypothesis import event, given, settings
from hypothesis import strategies as st
from toy_window import ToyWindow

from plangate.core.policy import Policy
from plangate.shell import changelog
from plangate.shell.changelog import Change, ChangelogError, ChangelogWriter
from plangate.shell.changelog_reader import ChangelogReader, assemble_with
from plangate.wire.engine import Engine, Record


def to_json(value: object) -> bytes:
    return json.dumps(value).encode()


IDS = ["w1", "w2", "Fenster-\u00e4"]


class Owner:
    """A worker's windows and writer over one log, from its take-over on."""

    def __init__(self, log: list[Change], epoch: int, chunk_bytes: int) -> None:
        self.log = log
        self.windows: dict[str, ToyWindow] = {}
        stale = {}
        for window_id, window, extents in read(log):
            stale[window_id] = extents
            if window is not None:
                self.windows[window_id] = window
        self.writer = ChangelogWriter(struct.pack(">Q", epoch), stale, toy_window.take_patch, chunk_bytes)

    def step(self, window_id: str, offset: int) -> None:
        window = self.windows.setdefault(window_id, ToyWindow())
        if offset > window.head.last_offset:
            window.take(offset)

    def batch(self, events: list[tuple[int, str]]) -> list[Change]:
        """Decide a batch; the records that must reach the log before anything else happens."""
        for offset, window_id in events:
            self.step(window_id, offset)
        return self.writer.collect(
            [(window_id, self.windows[window_id]) for window_id in sorted({w for _, w in events})]
        )


def read(log: list[Change]) -> list[tuple[str, ToyWindow | None, dict]]:
    reader = ChangelogReader(toy_window.assemble, check=lambda patch: None)
    for key, value in log:
        reader.feed(key, value)
    return [tuple(entry) for entry in reader.windows()]


def states(log: list[Change]) -> dict[str, list[int]]:
    return {window_id: window.taken for window_id, window, _ in read(log) if window is not None}


def compact(log: list[Change], upto: int, dice: random.Random) -> list[Change]:
    """What a log cleaner may leave of the first `upto` records: of each key the newest; older ones too, as it likes.

    A tombstone may go once nothing older of its key is left.
    """
    newest = {change.key: number for number, change in enumerate(log[:upto])}
    kept = [c for n, c in enumerate(log[:upto]) if newest[c.key] == n or dice.random() < 0.3]
    seen: set[bytes] = set()
    left = []
    for change in kept:
        if change.value is None and change.key not in seen and dice.random() < 0.5:
            continue
        seen.add(change.key)
        left.append(change)
    return left + log[upto:]


@pytest.fixture(autouse=True)
def small_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots come every few changes, and tombstones in several batches."""
    monkeypatch.setattr(changelog, "DELTA_OVERHEAD", 10)
    monkeypatch.setattr(changelog, "SMALL_SNAPSHOT", 60)
    monkeypatch.setattr(changelog, "TOMBSTONES_PER_BATCH", 3)


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**32), chunk_bytes=st.sampled_from([7, 25, 1000]), atomic=st.booleans())
def test_recovered_state_is_the_live_one(seed: int, chunk_bytes: int, atomic: bool) -> None:
    """Several owners one after another, each killed; some wake up and write what they had in hand.

    `atomic`: a batch is in the log whole or not at all, and no late writer gets through. Otherwise its records may be
    cut off anywhere, doubled, and mixed with those of an earlier owner.
    """
    dice = random.Random(seed)
    log: list[Change] = []
    everything: list[tuple[int, str]] = []
    committed = 0  # events whose batch is in the log
    asleep: list[list[Change]] = []  # records that killed or paused owners may still write
    for epoch in range(dice.randint(1, 4)):
        owner = Owner(log, epoch, chunk_bytes)
        # A window recovered is ahead of the committed offset at most, never behind; what comes again changes nothing.
        for offset, window_id in everything[:committed]:
            assert offset in owner.windows[window_id].taken
        position = committed
        for _ in range(dice.randint(1, 12)):
            while len(everything) < position + dice.randint(1, 4):
                everything.append((len(everything), dice.choice(IDS)))
            some = everything[position : position + dice.randint(1, 4)]
            records = owner.batch(some)
            position += len(some)
            if not atomic and dice.random() < 0.2:
                records = [r for r in records for _ in range(2)] if dice.random() < 0.5 else records + records
            if not atomic and asleep and dice.random() < 0.3:
                late = asleep.pop()
                cut = dice.randint(0, len(records))
                records = records[:cut] + late[: dice.randint(0, len(late))] + records[cut:]
                event("late writer")
            log += records
            committed = position
            if dice.random() < 0.3:
                log[:] = compact(log, dice.randint(0, len(log)), dice)
                event("compacted")
            recovered = states(log)
            for window_id, window in owner.windows.items():
                expected = window.taken
                if not atomic and recovered[window_id][-1] > window.head.last_offset:
                    # A late writer was ahead. Its outputs were acknowledged before, so going on from there is right.
                    last = recovered[window_id][-1]
                    expected = [offset for offset, named in everything if named == window_id and offset <= last]
                    event("late writer ahead")
                assert recovered[window_id] == expected
        everything += [(len(everything) + n, dice.choice(IDS)) for n in range(6)]
        unfinished = everything[committed : committed + dice.randint(0, 8)]
        if unfinished and not atomic:
            records = owner.batch(unfinished)
            cut = dice.randint(0, len(records))
            log += records[:cut]
            asleep.append(records[cut:])
            event("batch cut off")


def test_keys_of_a_window_are_bounded() -> None:
    """A long life of one window takes no more keys than two snapshots and their deltas."""
    owner = Owner([], 1, 1000)
    log: list[Change] = []
    for offset in range(500):
        log += owner.batch([(offset, "w")])
    assert len({change.key for change in log}) < 150
    assert states(log) == {"w": list(range(500))}


def test_stale_keys_are_deleted_only_after_the_snapshot_is_there() -> None:
    log: list[Change] = []
    first = Owner(log, 1, 7)
    log += first.batch([(0, "w"), (1, "v")])
    log += first.batch([(2, "w")])
    old = {change.key for change in log if change.key.startswith(b"w\0")}
    second = Owner(log, 2, 7)
    takeover = second.batch([(3, "w")])
    assert all(change.value is not None for change in takeover)
    deleted = [change for _ in range(9) for change in second.batch([(4, "v")]) if change.value is None]
    assert {change.key for change in deleted if change.key.startswith(b"w\0")} == old


def test_a_record_of_an_older_snapshot_that_comes_again_late_changes_nothing() -> None:
    owner = Owner([], 1, 1000)
    log: list[Change] = []
    for offset in range(30):
        log += owner.batch([(offset, "w")])
    for late in range(len(log)):
        assert states(log + log[late : late + 1]) == {"w": list(range(30))}


def test_a_change_that_is_not_complete_does_not_count() -> None:
    owner = Owner([], 1, 7)
    log = owner.batch([(0, "w")])
    snapshot = len(log)
    log += owner.batch([(1, "w")])
    assert len(log) > snapshot + 1, "the delta should have several chunks"
    assert states(log) == {"w": [0, 1]}
    assert states(log[:-1]) == {"w": [0]}
    assert states(log[: snapshot - 1]) == {}


@pytest.mark.parametrize(
    ("break_it", "says"),
    [
        (lambda c: Change(c.key, b"\x02" + c.value[1:]), "unknown format"),
        (lambda c: Change(c.key, b""), "unknown format"),
        (lambda c: Change(c.key, c.value[:9]), "cut off"),
        (lambda c: Change(b"w", c.value), "no key of ours"),
        (lambda c: Change(None, c.value), "no key of ours"),
        (lambda c: Change(b"\xff" + c.key, c.value), "no key of ours"),
        (lambda c: Change(b"wx" + c.key[2:], c.value), "no key of ours"),
        (lambda c: Change(c.key[:-1] + b"\x09", c.value), "contradict"),
        (lambda c: Change(c.key, c.value[:7] + struct.pack(">q", 7) + c.value[15:]), "not at the offset"),
    ],
)
def test_what_no_version_of_ours_wrote_is_an_error(break_it: Callable[[Change], Change], says: str) -> None:
    [change] = Owner([], 1, 1000).batch([(0, "w")])
    with pytest.raises(ChangelogError, match=says):
        read([break_it(change)])


def test_real_windows_come_back_whole() -> None:
    """With the state format of the wire: a recovered window answers the next event as the live one does."""

    def append(offset: int, window_id: str, **span: object) -> Record:
        value = {"type": "span_appended", "window_id": window_id, "spans": [{"cost_units": 5, "kind": "user", **span}]}
        return Record("window-events", 0, offset, window_id.encode(), to_json(value))

    engine = Engine()
    live: dict = {}
    writer = ChangelogWriter(b"12345678")
    log: list[Change] = []
    for offset in range(40):
        record = append(
            offset, f"w{offset % 3}", span_id=f"s{offset}", depends_on=[f"s{offset - 3}"] if offset > 2 else []
        )
        engine.process(live, record)
        window_id = f"w{offset % 3}"
        log += writer.collect([(window_id, live[window_id])])
    reader = ChangelogReader(assemble_with(Policy()))
    for change in compact(log, 30, random.Random(1)):
        reader.feed(change.key, change.value)
    recovered = {window_id: window for window_id, window, _ in reader.windows()}
    plan = {"type": "plan_proposed", "window_id": "w0", "plan_id": "p", "window_generation": 14}
    plan["entries"] = [{"span_id": "s0", "relevance": 0.1}]
    last = Record("window-events", 0, 40, b"w0", to_json(plan))
    expected = engine.process(live, last)
    assert expected and engine.process(recovered, last) == expected
