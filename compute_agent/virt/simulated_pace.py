"""How long what simulated hosts pretend to do takes, and what of it fails: by ``[simulated]``."""

from __future__ import annotations

import fnmatch
import random
from collections.abc import Callable, Iterable, Iterator

from oslo_config import cfg

from armillary import exception

OPERATIONS = frozenset(
    {"power_off", "power_on", "reboot", "resize", "detach", "attach",
     "prepare_live", "live_migrate", "complete_live"}
)  # fmt: skip
COPY_STEP_SECONDS = 0.5


class Pace:
    """The clock and the dice of one host: the same seed, host and instance give the same again."""

    def __init__(self, conf: cfg.ConfigOpts, host: str, sleep: Callable[[float], None]) -> None:
        self._conf = conf
        self._host = host
        self._sleep = sleep

    def build(self, uuid: str) -> None:
        """Take the time of a build. Raises BuildFailed."""
        options = self._conf.simulated
        dice = self._dice(uuid)
        self._pass(dice, options.build_delay_seconds_min, options.build_delay_seconds_max)
        is_failing = any(fnmatch.fnmatchcase(self._host, glob) for glob in options.failing_hosts)
        if is_failing or dice.random() < options.failure_rate:
            raise exception.BuildFailed(
                instance_uuid=uuid, host=self._host, reason="simulated failure"
            )

    def operation(self, operation: str, uuid: str) -> None:
        """Take the time of an operation. Raises OperationFailed."""
        options = self._conf.simulated
        dice = self._dice(f"{uuid}/{operation}")
        self._pass(dice, options.operation_delay_seconds_min, options.operation_delay_seconds_max)
        self._check(operation, uuid)

    def copy(self, uuid: str, memory_mb: int) -> Iterator[int]:
        """Take the time of copying a guest's memory; yield the MiB left, at last 0.

        Raises OperationFailed when half of it is done, if that is to fail.
        """
        left_mb = float(memory_mb)
        while True:
            yield round(left_mb)
            if left_mb <= memory_mb / 2:
                self._check("live_migrate", uuid)
            if left_mb <= 0:
                return
            speed = self._conf.simulated.live_migration_mib_per_second
            portion_mb = min(left_mb, speed * COPY_STEP_SECONDS)
            self._sleep(portion_mb / speed)
            left_mb -= portion_mb

    def _check(self, operation: str, uuid: str) -> None:
        if is_failing(self._conf.simulated.failing_operations, self._host, operation):
            raise failed(operation, uuid, self._host, "simulated failure")

    def _pass(self, dice: random.Random, shortest: float, longest: float) -> None:
        self._sleep(dice.uniform(shortest, max(shortest, longest)))

    def _dice(self, what: str) -> random.Random:
        seed = self._conf.simulated.failure_seed
        return random.Random(f"{seed}/{self._host}/{what}")  # noqa: S311 - to be repeated


def is_failing(patterns: Iterable[str], host: str, operation: str) -> bool:
    """Whether one of ``operation`` or ``host:operation``, each a glob, matches."""
    for pattern in patterns:
        host_glob, _, operation_glob = pattern.rpartition(":")
        if fnmatch.fnmatchcase(host, host_glob or "*") and fnmatch.fnmatchcase(
            operation, operation_glob
        ):
            return True
    return False


def check_patterns(patterns: Iterable[str]) -> None:
    """Raise ConfigurationError for a pattern that matches no operation there is."""
    for pattern in patterns:
        glob = pattern.rpartition(":")[2]
        if not fnmatch.filter(OPERATIONS, glob):
            raise exception.ConfigurationError(
                reason=f"[simulated] failing_operations: '{pattern}': there is no operation "
                f"'{glob}', only {', '.join(sorted(OPERATIONS))}"
            )


def failed(operation: str, uuid: str, host: str, reason: str) -> exception.OperationFailed:
    """Return the error of a driver's method, which is called as ``operation``."""
    return exception.OperationFailed(
        instance_uuid=uuid, host=host, reason=reason,
        operation=operation.replace("_", " ").capitalize(),
    )  # fmt: skip
