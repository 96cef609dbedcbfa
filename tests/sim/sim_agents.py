"""What agents do: send their events in bursts, retry where an answer was lost, use transactions, abort some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim_broker import INPUT
from sim_events import Made, grow
from sim_log import Entry, Place, Txn
from sim_loop import Loop

if TYPE_CHECKING:
    from sim_world import World


async def send(world: World) -> None:
    """All records of a seed, in order for each of its two streams; each stream has its partition."""
    rng, plan, logs = world.rng, world.plan, world.broker.logs
    streams = [grow(rng, world.policy, rng.randint(6, 13), f"{letter}-") for letter in "ab"]
    order = [place for place, made in enumerate(streams) for _ in made]
    rng.shuffle(order)
    waiting = [iter(made) for made in streams]
    txn: Txn | None = None
    touched: set[int] = set()
    for number, stream in enumerate(order):
        if rng.random() < 0.3:
            await _pause(world.loop, rng.uniform(0.0, 0.03))
        partition = stream % plan.partitions
        made = next(waiting[stream])
        if txn is None and rng.random() < 0.08:
            txn, touched = Txn(), set()
        if txn is not None and rng.random() < 0.1:
            aborted = Txn(False)
            _put(world, partition, made, aborted)
            world.note("agents: aborted record")
            logs[Place(INPUT, partition)].mark(aborted)
        _put(world, partition, made, txn)
        touched.add(partition)
        if txn is None and rng.random() < 0.06:
            world.note("agents: record doubled by a retry")
            _put(world, partition, made, None)
        if txn is not None and (rng.random() < 0.4 or number == len(order) - 1):
            world.note("agents: control record")
            txn.committed = True
            for one in sorted(touched):
                logs[Place(INPUT, one)].mark(txn)
            txn = None
    world.sending = False


def _put(world: World, partition: int, made: Made, txn: Txn | None) -> None:
    entry = Entry(0, made.key, made.value, made.headers, txn=txn, timestamp=int(world.loop.now * 1000))
    world.broker.produce(Place(INPUT, partition), [entry])
    world.made[id(entry)] = made


async def _pause(loop: Loop, seconds: float) -> None:
    woken = loop.create_future()
    loop.call_later(seconds, woken.set_result, None)
    await woken
