"""Faults of a run and their times: all of it from a seed."""

import random

from tests.simulation.bus import DELAY_SECONDS_MAX
from tests.simulation.hub import HUB
from tests.simulation.world import AGENTS, CELLS, SERVICES, TOP, World

SLOW_SECONDS_MAX = 6.0
EFFECTS_MAX = 60
"""A doomed process dies within so many effects."""
LATE_SECONDS_MAX = 20.0
"""Latest arrival of a repeat, where every message is repeated."""


class Faults:
    """Loses, delays and repeats messages; kills, cuts off, misleads processes, until ``stop``.

    With ``repeats_all`` every message and every answer arrives two or three times, the repeats late
    and in another order, and none is lost.
    """

    def __init__(self, seed: int, *, repeats_all: bool = False) -> None:
        self._rng = random.Random(f"faults/{seed}")
        self._repeats_all = repeats_all
        self._is_on = True
        calm = self._rng.random() < 0.2  # some runs are about operations crossing each other
        scale = 0.0 if calm else self._rng.choice((0.5, 1.0, 2.0))
        self._lost = 0.02 * scale
        self._twice = 0.04 * scale
        self._slow = 0.06 * scale
        self._seconds_between = 1.2 / scale if scale else None

    def _fate(self, sender: str, method: str) -> list[float]:
        """Return after how many seconds a message arrives, once for each time that it does."""
        delay = self._rng.uniform(0.0, DELAY_SECONDS_MAX)
        if not self._is_on:
            return [delay]
        if self._repeats_all:
            return [delay, *self._repeats(delay)]
        drawn = self._rng.random()
        if drawn < self._lost:
            HUB.watch(sender, f"loses {method}")
            return []
        if drawn < self._lost + self._twice:
            later = delay + self._rng.uniform(0.0, SLOW_SECONDS_MAX)
            HUB.watch(sender, f"sends {method} twice")
            return [delay, later]
        if drawn < self._lost + self._twice + self._slow:
            return [self._rng.uniform(0.0, SLOW_SECONDS_MAX)]
        return [delay]

    def _repeats(self, delay: float) -> list[float]:
        """Return when the repeats of a message arrive: immediately, soon, or much later."""
        widths = (DELAY_SECONDS_MAX, SLOW_SECONDS_MAX, LATE_SECONDS_MAX)
        count = self._rng.choice((1, 2))
        return [delay + self._rng.uniform(0.0, self._rng.choice(widths)) for _ in range(count)]

    def begin(self, world: World) -> None:
        """Let things go wrong from now on."""
        for broker in world.brokers.values():
            broker.fate = self._fate
        if self._seconds_between is None:
            return

        def strike() -> None:
            if self._is_on:
                kinds = (self._doom, self._doom, self._doom, self._kill, self._cut, self._skew)
                self._rng.choice(kinds)(world)
                HUB.after(self._pause(), strike)

        HUB.after(self._pause(), strike)

    def stop(self) -> None:
        """Let nothing more go wrong; what is broken stays so for its time."""
        self._is_on = False

    def are_left(self, world: World) -> bool:
        """Return whether a process is down or cut off, or will be."""
        return any(broker.cut for broker in world.brokers.values()) or any(
            not process.is_alive or process.effects_left is not None
            for process in world.processes.values()
        )

    def mend(self, world: World) -> None:
        """Mend what is broken."""
        for broker in world.brokers.values():
            for name in sorted(broker.cut):
                world.mend(name, broker)
        for name in world.names:
            world.start(name)
            world.processes[name].skew_seconds = 0.0
            world.processes[name].effects_left = None

    def _pause(self) -> float:
        assert self._seconds_between is not None
        return self._rng.expovariate(1.0 / self._seconds_between)

    def _doom(self, world: World) -> None:
        """Let a process die soon, in the middle of something."""
        name = self._rng.choice([*SERVICES, *AGENTS])
        process = world.processes[name]
        if not process.is_alive:
            return
        process.effects_left = self._rng.randrange(EFFECTS_MAX)
        died = process.on_death

        def on_death() -> None:
            died()
            HUB.after(self._rng.uniform(0.1, 12.0), lambda: world.start(name))

        process.on_death = on_death

    def _kill(self, world: World) -> None:
        """Let a process be away for long enough that others take notice."""
        name = self._rng.choice([*AGENTS, *AGENTS, *SERVICES])
        world.kill(name)
        HUB.after(self._rng.uniform(1.0, 30.0), lambda: world.start(name))

    def _cut(self, world: World) -> None:
        """Cut a process off from one of its brokers for a while."""
        broker = world.brokers[self._rng.choice((TOP, *CELLS))]
        name = self._rng.choice([*SERVICES, *AGENTS])
        world.cut(name, broker)
        HUB.after(self._rng.uniform(1.0, 20.0), lambda: world.mend(name, broker))

    def _skew(self, world: World) -> None:
        name = self._rng.choice([*SERVICES, *AGENTS])
        world.processes[name].skew_seconds = self._rng.uniform(-3.0, 3.0)
