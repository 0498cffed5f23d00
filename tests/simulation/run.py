"""One seeded run: what was asked, what went wrong, and what came of it."""

import hashlib
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from armillary import exception
from tests.simulation.checks import Checks
from tests.simulation.faults import Faults
from tests.simulation.hub import HUB
from tests.simulation.stage import Stage
from tests.simulation.story import Story

STORY_SECONDS = (1.0, 1.5, 2.5, 4.5)
LINGER_SECONDS = (0.0, 0.0, 15.0)
"""How long faults may last after a story: in some runs hosts are given up."""
QUIET_SECONDS_MAX = 300.0
LOOK_SECONDS = 1.0
REST_SECONDS = 4.0
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


def run(
    stage: Stage, seed: int, say: Say = lambda line: None, *, repeats_all: bool = False
) -> Outcome:
    """Play a seed's story under its faults, let all come to rest, and look: uses up the stage.

    With ``repeats_all`` every message arrives two or three times.
    """
    HUB.take_seed(seed)
    trace = hashlib.sha256()

    def watch(who: str, what: str) -> None:
        line = f"{HUB.now:10.3f} {who:<10} {what}"
        trace.update(line.encode())
        say(line)

    HUB.watch = watch
    logs = _Logs(say)
    logging.getLogger().addHandler(logs)
    stage.world.set_options(_options(seed))
    story = _play(stage, seed, Faults(seed, repeats_all=repeats_all))
    logging.getLogger().removeHandler(logs)
    return Outcome(seed, HUB.failures, trace.hexdigest(), story.requests, HUB.events)


def _play(stage: Stage, seed: int, faults: Faults) -> Story:
    world, checks = stage.world, Checks(stage.world)
    rng = random.Random(f"length/{seed}")
    seconds, linger_seconds = rng.choice(STORY_SECONDS), rng.choice(LINGER_SECONDS)
    story = Story(world, seed, accepted=stage.servers, seconds=seconds)
    story.begin()
    faults.begin(world)
    HUB.run(lambda: bool(HUB.failures), seconds)
    faults.stop()
    HUB.run(lambda: bool(HUB.failures) or not faults.are_left(world), linger_seconds)
    faults.mend(world)
    HUB.watch("world", "is well again")
    deadline = HUB.now + QUIET_SECONDS_MAX
    _wait_until_quiet(story, checks, deadline)
    while not HUB.failures:
        HUB.run(lambda: bool(HUB.failures), REST_SECONDS)
        if checks.is_quiet():
            checks.check(story.accepted, story.asked)
            break
        _wait_until_quiet(story, checks, deadline)  # something began by itself: an offload
    return story


def _wait_until_quiet(story: Story, checks: Checks, deadline: float) -> None:
    while not HUB.failures and not (story.is_over and checks.is_quiet()):
        if HUB.now >= deadline:
            left = [*story.left(), *checks.left()]
            HUB.failures.extend(f"never done: {what}" for what in left)
        HUB.run(lambda: bool(HUB.failures), LOOK_SECONDS)


def _options(seed: int) -> dict[tuple[str | None, str], Any]:
    """Return what hosts fail at in this run, and what is done to servers by itself."""
    rng = random.Random(f"options/{seed}")
    failing = [f"host{rng.randint(1, 7)}:{rng.choice(FAILING)}" for _ in range(rng.randint(0, 2))]
    return {
        ("simulated", "failing_operations"): failing,
        ("simulated", "failure_rate"): rng.choice((0.0, 0.1, 0.3)),
        ("simulated", "failure_seed"): seed,
        (None, "reclaim_instance_interval"): rng.choice((0, 30)),
        (None, "shelved_offload_time"): rng.choice((-1, 0, 20)),
        (None, "resize_confirm_window"): rng.choice((0, 0, 30)),
    }


class _Logs(logging.Handler):
    """Says what the services log; an unexpected error is a failure of the run."""

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
