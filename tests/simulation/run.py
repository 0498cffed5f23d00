"""One seeded run: what was asked, what went wrong, and what came of it."""

from __future__ import annotations

import hashlib
import logging
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from armillary import exception
from tests.simulation.checks import Checks
from tests.simulation.faults import Faults
from tests.simulation.hub import HUB
from tests.simulation.story import Story
from tests.simulation.world import World

STORY_SECONDS = 60.0
START_SECONDS = 14.0
QUIET_SECONDS_MAX = 300.0
LOOK_SECONDS = 10.0
FAILING = ("attach", "detach", "resize", "prepare_live", "live_migrate", "power_on", "power_off")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What a run found. ``trace`` is the same for every run of the seed."""

    seed: int
    failures: list[str]
    trace: str
    requests: int
    events: int


def run(seed: int, say: Say = lambda line: None, *, seconds: float = STORY_SECONDS) -> Outcome:
    """Play a seed's story under its faults, let all come to rest, and look."""
    HUB.begin(seed)
    trace = hashlib.sha256()

    def watch(who: str, what: str) -> None:
        line = f"{HUB.now:10.3f} {who:<10} {what}"
        trace.update(line.encode())
        say(line)

    HUB.watch = watch
    logs = _Logs(say)
    logging.getLogger().addHandler(logs)
    with tempfile.TemporaryDirectory(prefix="armillary-simulation-", dir=_memory()) as folder:
        faults = Faults(seed)
        world = World(Path(folder), faults.fate, _options(seed))
        try:
            story = _play(world, faults, Checks(world), seed, seconds)
        finally:
            world.close()
            logging.getLogger().removeHandler(logs)
    return Outcome(seed, HUB.failures, trace.hexdigest(), story.requests, HUB.events)


def _play(world: World, faults: Faults, checks: Checks, seed: int, seconds: float) -> Story:
    for name in world.names:
        world.start(name)
    HUB.run(lambda: False, START_SECONDS)
    story = Story(world, seed, seconds=seconds)
    story.begin()
    faults.begin(world)
    HUB.run(lambda: story.is_over or bool(HUB.failures), seconds + 2 * STORY_SECONDS)
    faults.end(world)
    HUB.watch("world", "is well again")
    deadline = HUB.now + QUIET_SECONDS_MAX
    HUB.run(lambda: bool(HUB.failures), LOOK_SECONDS)
    while not HUB.failures and (left := checks.left()):
        if HUB.now >= deadline:
            HUB.failures.extend(f"never done: {what}" for what in left)
        HUB.run(lambda: bool(HUB.failures), LOOK_SECONDS)
    if not HUB.failures:
        HUB.run(lambda: bool(HUB.failures), 2 * LOOK_SECONDS)  # what agents compare now and then
        checks.check(story.accepted)
    return story


def _options(seed: int) -> dict[tuple[str | None, str], Any]:
    """Return what hosts fail at in this run."""
    dice = random.Random(f"options/{seed}")
    failing = [
        f"host{dice.randint(1, 7)}:{dice.choice(FAILING)}" for _ in range(dice.randint(0, 2))
    ]
    return {
        ("simulated", "failing_operations"): failing,
        ("simulated", "failure_rate"): dice.choice((0.0, 0.1, 0.3)),
        (None, "reclaim_instance_interval"): dice.choice((0, 0)),
        (None, "shelved_offload_time"): dice.choice((-1, 0, 20)),
        (None, "resize_confirm_window"): dice.choice((0, 0, 30)),
    }


def _memory() -> str | None:
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class _Logs(logging.Handler):
    """Says what the services log; an error that nobody expects is a failure of the run."""

    def __init__(self, say: Say) -> None:
        super().__init__(logging.INFO)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        who = HUB.current.process.name if HUB.current else "-"
        text = f"{record.name}: {record.getMessage()}"
        self._say(f"{HUB.now:10.3f} {who:<10} log {record.levelname} {text}")
        error = record.exc_info[1] if record.exc_info else None
        is_dying = HUB.current is not None and not HUB.current.process.is_alive
        if error is None or is_dying or isinstance(error, exception.ArmillaryError):
            return
        if record.levelno >= logging.ERROR:
            HUB.failures.append(f"{who} logs {text}: {error!r}")
            self._say(logging.Formatter().formatException(record.exc_info))  # type: ignore[arg-type]
