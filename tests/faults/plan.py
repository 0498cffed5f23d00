"""Faults of a run, their order and duration: all of it from a seed."""

import dataclasses
import enum
import random
from collections.abc import Sequence


class Kind(enum.StrEnum):
    """What can go wrong."""

    KILL = "kill"
    """kill -9 of a process and its workers; it comes back after ``seconds``."""
    KILL_WORKER = "kill worker"
    """kill -9 of the workers alone; their master starts others."""
    PAUSE = "pause"
    """SIGSTOP, for longer than a lease lasts as a rule."""
    SLOW = "slow"
    """The process gets the processor for a fraction of the time."""
    CUT = "cut"
    """Nothing gets through between the process and one of its stores, without an error."""
    REFUSE = "refuse"
    """Its connections to a store are closed, and new ones refused."""
    DELAY = "delay"
    """Everything between the process and a store arrives late, by up to a second."""
    REPEAT = "repeat"
    """A part of what it publishes is published again, up to ``seconds`` later."""
    SKEW = "skew"
    """Its clock is wrong by up to three seconds, either way."""
    BROKER = "restart of the broker"
    """It is stopped as an operator does, and comes back after ``seconds``."""
    BROKER_KILL = "kill of the broker"
    """kill -9, as the next; what its queues had is there again, what was under way is lost."""
    DATABASE = "restart of the databases"
    """kill -9 of the server and all that it does; it comes back after ``seconds``."""


WEIGHTS = {
    Kind.KILL: 28,
    Kind.KILL_WORKER: 5,
    Kind.PAUSE: 14,
    Kind.SLOW: 6,
    Kind.CUT: 12,
    Kind.REFUSE: 10,
    Kind.DELAY: 7,
    Kind.REPEAT: 9,
    Kind.SKEW: 7,
    Kind.BROKER: 1,
    Kind.BROKER_KILL: 1,
    Kind.DATABASE: 1,
}
RESTARTS = (Kind.BROKER, Kind.BROKER_KILL, Kind.DATABASE)
LONG_ENOUGH_TO_BE_DOWN = (10.0, 18.0)
SECONDS = {
    Kind.KILL: (0.0, 6.0),
    Kind.KILL_WORKER: (0.0, 0.0),
    Kind.PAUSE: (1.0, 9.0),
    Kind.SLOW: (4.0, 12.0),
    Kind.CUT: (1.0, 9.0),
    Kind.REFUSE: (1.0, 8.0),
    Kind.DELAY: (3.0, 10.0),
    Kind.REPEAT: (4.0, 12.0),
    Kind.SKEW: (4.0, 15.0),
    Kind.BROKER: (0.0, 2.0),
    Kind.BROKER_KILL: (0.0, 2.0),
    Kind.DATABASE: (0.0, 2.0),
}


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that goes wrong, when ``after`` operations were accepted."""

    number: int
    kind: Kind
    after: int
    process: str
    seconds: float
    amount: float
    """From 0 to 1: of what the kind has more or less of."""

    def __str__(self) -> str:
        whom = "" if self.kind in RESTARTS else f" {self.process}"
        return f"{self.kind}{whom} for {self.seconds:.1f} s"


def make_plan(
    seed: int,
    faults: int,
    operations: int,
    processes: Sequence[str],
    agents: Sequence[str],
    *,
    pace: float = 1.0,
) -> list[Fault]:
    """Return as many faults, spread over the operations; each kind occurs if there are enough.

    Agents are half of all that is hit: they are what there is most of. They last ``pace`` times as
    long as usual.
    """
    rng = random.Random(f"plan/{seed}")
    kinds = list(Kind)
    rng.shuffle(kinds)
    kinds = kinds[:faults]
    kinds += rng.choices(list(WEIGHTS), list(WEIGHTS.values()), k=faults - len(kinds))
    rng.shuffle(kinds)
    plan = []
    for number, kind in enumerate(kinds):
        is_agent = rng.random() < 0.5
        process = rng.choice(agents if is_agent else processes)
        seconds = rng.uniform(*SECONDS[kind])
        if is_agent and kind in (Kind.KILL, Kind.PAUSE, Kind.CUT) and rng.random() < 0.3:
            seconds = rng.uniform(*LONG_ENOUGH_TO_BE_DOWN)
        after = round((number + rng.random()) * operations / (faults + 1))
        plan.append(Fault(number + 1, kind, after, process, seconds * pace, rng.random()))
    return plan
