"""The consumer group: members, generations, rebalances in which everybody gives up everything first."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from random import Random

from aiokafka.errors import IllegalGenerationError, RebalanceInProgressError, UnknownMemberIdError
from sim_loop import Loop

SESSION_SECONDS = 0.12
REBALANCE_SECONDS = 0.2
Assignment = tuple[int, set[int]]


class Member:
    def __init__(self) -> None:
        self.seen = 0.0
        self.waiting: Future[Assignment] | None = None


class Group:
    """`generation` counts rebalances; `assigned` is what each member has in it."""

    def __init__(self, loop: Loop, rng: Random, partitions: int, note: Callable[[str], None]) -> None:
        self.loop, self.rng, self.partitions, self.note = loop, rng, partitions, note
        self.generation = 0
        self.members: dict[str, Member] = {}
        self.assigned: dict[str, set[int]] = {}
        self.rebalancing = False
        self._round = 0

    def join(self, name: str, answer: Future[Assignment]) -> None:
        """Enter, or enter again, and wait for all others."""
        member = self.members.setdefault(name, Member())
        member.waiting = answer
        self._seen(name, member)
        if not self.rebalancing:
            self._start()
        self._complete()

    def leave(self, name: str) -> None:
        if self.members.pop(name, None) is not None:
            self._start()
            self._complete()

    def heartbeat(self, name: str, generation: int) -> None:
        """Raises what tells a member to join again."""
        self._check(name, generation)
        self._seen(name, self.members[name])
        if self.rebalancing:
            raise RebalanceInProgressError

    def commit(self, name: str, generation: int) -> None:
        """Raises if this member may not move offsets (any more)."""
        self._check(name, generation)

    def _check(self, name: str, generation: int) -> None:
        if name not in self.members:
            raise UnknownMemberIdError
        if generation != self.generation:
            raise IllegalGenerationError

    def _seen(self, name: str, member: Member) -> None:
        member.seen = self.loop.now
        self.loop.after(SESSION_SECONDS, self._expire, name, member, member.seen)

    def _expire(self, name: str, member: Member, seen: float) -> None:
        if self.members.get(name) is member and member.seen == seen and member.waiting is None:
            self.note("group drops a silent member")
            self.leave(name)

    def _start(self) -> None:
        self.rebalancing = True
        self._round += 1
        self.loop.after(REBALANCE_SECONDS, self._hurry, self._round)

    def _hurry(self, round_: int) -> None:
        if self.rebalancing and self._round == round_:
            for name in [name for name, member in self.members.items() if member.waiting is None]:
                self.note("group drops a member that did not join in time")
                del self.members[name]
            self._complete()

    def _complete(self) -> None:
        if not self.rebalancing or any(member.waiting is None for member in self.members.values()):
            return
        self.rebalancing = False
        self.generation += 1
        self.assigned = {name: set() for name in self.members}
        names = list(self.members)
        for partition in range(self.partitions):
            if names:
                self.assigned[self.rng.choice(names)].add(partition)
        for name, member in self.members.items():
            answer, member.waiting = member.waiting, None
            self._seen(name, member)
            if answer is not None and not answer.done():
                answer.set_result((self.generation, set(self.assigned[name])))
