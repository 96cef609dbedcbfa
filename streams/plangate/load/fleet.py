"""Simulated agents: each plays transcripts into a window while its proposers try to prune it. Pure; time is given."""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Sequence
from itertools import count

import msgspec

from .decision import Decision
from .mirror import Mirror
from .plans import STRATEGIES, Plan, plan_value, resolved
from .scripts import Script, Step

FEWEST_SPANS = 8  # nobody prunes a window shorter than this
REST_WISHES = 4  # how many wishes a proposer leaves out after a refusal that no resolution mends
_OPENED, _CLOSED = Step(b',"type":"window_opened"}'), Step(b',"type":"window_closed"}')


def _confirmation(window_id: str, plan_id: str) -> bytes:
    """What a runtime that owns the store answers to an acceptance (contract section 4, `on_confirm`)."""
    return msgspec.json.encode({"type": "plan_committed", "window_id": window_id, "plan_id": plan_id})


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the agents are like. Times in seconds."""

    run: str
    agents: int = 50
    proposers: int = 2
    plan_every: int = 6  # turns between two wishes of a proposer
    think: float = 0.5  # mean time from what a proposer sees to its plan, as a model takes it
    entries: int = 60  # most entries of a plan
    rationale: int = 80  # characters of each entry's rationale
    resend: float = 0.01  # share of proposals that are sent a second time, as clients do that lost an answer
    patience: int = 3  # deferrals after which an agent appends nothing until its plan is through
    tries: int = 12  # plans that a proposer makes before it gives up
    seed: int = 1


class Wish(msgspec.Struct, eq=False):
    """One proposer's aim to prune, over all plans that it takes."""

    agent: Agent
    session: int
    proposer: int
    tries: int = 0
    avoid: set[str] = msgspec.field(default_factory=set)


class Proposal(msgspec.Struct, eq=False):
    """A plan that was sent."""

    plan_id: str
    window_id: str
    plan: Plan
    wish: Wish


class Outgoing(msgspec.Struct):
    """A record to be sent."""

    window_id: str
    value: bytes
    proposal: Proposal | None = None


class Agent(msgspec.Struct, eq=False):
    """One agent loop. A window lasts one conversation; then comes the next session in a window of its own."""

    number: int
    window_id: str = ""
    session: int = -1
    turns: int = 0
    mirror: Mirror = msgspec.field(default_factory=Mirror)
    steps: deque[Step] = msgspec.field(default_factory=deque)
    rests: dict[int, int] = msgspec.field(default_factory=dict)  # proposer -> turn before which it has no wish
    busy: set[int] = msgspec.field(default_factory=set)  # proposers that have a wish
    waiting: set[Wish] = msgspec.field(default_factory=set)  # wishes for which the agent holds still


class Fleet:
    """All agents. `next` gives what is to be sent, `decided` takes what was answered."""

    def __init__(self, scripts: Sequence[Sequence[Script]], options: Options) -> None:
        self._scripts, self._options = scripts, options
        self._dice = random.Random(options.seed)
        self._agents = deque(Agent(number) for number in range(options.agents))
        self._plans: list[tuple[float, int, Wish, Plan]] = []
        self._again: deque[Outgoing] = deque()
        self._numbers = count(1)
        self._rationale = "." * options.rationale
        self.ends: Counter[str] = Counter()  # how wishes ended
        self.tries: Counter[int] = Counter()  # plans that wishes took which ended accepted
        self.streaks: Counter[int] = Counter()  # deferrals in a row of a window's plans, as told by each such deferral

    def next(self, now: float) -> Outgoing | None:
        """What is to be sent next: a plan that is due, else some agent's next event; None if all hold still."""
        if self._again:
            return self._again.popleft()
        while self._plans and self._plans[0][0] <= now:
            *_, wish, plan = heapq.heappop(self._plans)
            if wish.session == wish.agent.session:
                return self._propose(wish, plan)
            self._end(wish, "window closed")
        for _ in range(len(self._agents)):
            agent = self._agents.popleft()
            self._agents.append(agent)
            if not agent.waiting:
                return self._play(agent, now)
        return None

    def decided(self, proposal: Proposal, decision: Decision, now: float) -> None:
        """The first answer to a proposal: accept, try again, or give up (contract section 4)."""
        wish, agent = proposal.wish, proposal.wish.agent
        if decision.consecutive_deferrals:
            self.streaks[decision.consecutive_deferrals] += 1
        if wish.session != agent.session:
            return self._end(wish, "window closed")
        mirror = agent.mirror
        if decision.outcome == "accepted":
            mirror.accept(decision, proposal.plan.replacement_cost)
        generation = decision.live_generation if decision.new_generation is None else decision.new_generation
        if generation is not None:
            mirror.correct(generation, proposal.plan.changes)
        if decision.outcome == "accepted":
            self.tries[wish.tries] += 1
            if decision.commit == "awaiting_confirmation":
                self._again.append(Outgoing(agent.window_id, _confirmation(agent.window_id, decision.plan_id)))
            return self._end(wish, "accepted")
        if decision.outcome == "refused":
            return self._refused(wish, proposal.plan, decision, now)
        wish.avoid.update(decision.span_ids)
        if wish.tries >= self._options.patience:
            agent.waiting.add(wish)
        self._think(wish, now)

    def close(self) -> list[Outgoing]:
        """The end of all windows that are open."""
        return [Outgoing(agent.window_id, _CLOSED.value(agent.window_id)) for agent in self._agents if agent.window_id]

    def _play(self, agent: Agent, now: float) -> Outgoing:
        if not agent.steps:
            self._new_session(agent)
        step = agent.steps.popleft()
        agent.mirror.send(step)
        sent = Outgoing(agent.window_id, step.value(agent.window_id))
        if step.ends_turn:
            agent.turns += 1
            self._wish(agent, now)
        return sent

    def _new_session(self, agent: Agent) -> None:
        agent.session += 1
        agent.window_id = f"load-{self._options.run}-{agent.number}-{agent.session}"
        agent.mirror = Mirror()
        agent.turns = 0
        agent.rests.clear()
        agent.busy.clear()
        agent.waiting.clear()
        turn = agent.number + agent.session * self._options.agents
        of_file = self._scripts[turn % len(self._scripts)]
        agent.steps.extend((_OPENED, *of_file[turn // len(self._scripts) % len(of_file)], _CLOSED))

    def _wish(self, agent: Agent, now: float) -> None:
        if agent.turns % self._options.plan_every or len(agent.mirror.live) < FEWEST_SPANS:
            return
        for number in range(self._options.proposers):
            if number not in agent.busy and agent.turns >= agent.rests.get(number, 0):
                agent.busy.add(number)
                self._think(Wish(agent, agent.session, number), now)

    def _think(self, wish: Wish, now: float) -> None:
        """Make a plan of what is seen now; it will be sent when the model would be done."""
        make = STRATEGIES[(wish.agent.number + wish.proposer) % len(STRATEGIES)]
        plan = make(wish.agent.mirror, wish.avoid, self._options.entries)
        self._plan(wish, plan, now + self._dice.expovariate(1 / self._options.think))

    def _plan(self, wish: Wish, plan: Plan, due: float) -> None:
        if wish.tries >= self._options.tries:
            return self._end(wish, "gave up")
        if plan.empty:
            return self._end(wish, "nothing to prune")
        wish.tries += 1
        heapq.heappush(self._plans, (due, next(self._numbers), wish, plan))

    def _propose(self, wish: Wish, plan: Plan) -> Outgoing:
        agent = wish.agent
        plan_id = f"{self._options.run}-{next(self._numbers)}"
        # Sent now, so the gate sees all changes sent until now; the generation is that of when it was made.
        plan = msgspec.structs.replace(plan, changes=agent.mirror.changes)
        value = plan_value(plan, agent.window_id, plan_id, self._rationale)
        sent = Outgoing(agent.window_id, value, Proposal(plan_id, agent.window_id, plan, wish))
        if self._dice.random() < self._options.resend:
            self._again.append(sent)
        return sent

    def _refused(self, wish: Wish, plan: Plan, decision: Decision, now: float) -> None:
        if decision.resolution and decision.resolution.complete and decision.live_generation is not None:
            wish.avoid.update(decision.resolution.retain)
            return self._plan(wish, resolved(plan, decision.resolution.retain, decision.live_generation), now)
        if decision.unknown_ids:
            wish.avoid.update(decision.unknown_ids)
            return self._think(wish, now)
        wish.agent.rests[wish.proposer] = wish.agent.turns + REST_WISHES * self._options.plan_every
        self._end(wish, "refused")

    def _end(self, wish: Wish, how: str) -> None:
        self.ends[how] += 1
        if wish.session == wish.agent.session:
            wish.agent.busy.discard(wish.proposer)
            wish.agent.waiting.discard(wish)
