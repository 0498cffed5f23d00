"""Duration and failure of simulated operations, as configured in ``[simulated]``."""

import fnmatch
import random
from collections.abc import Callable, Iterable, Iterator

from oslo_config import cfg

from armillary import exception

OPERATIONS = frozenset(
    {"power_off", "power_on", "reboot", "resize", "detach", "attach",
     "pause", "unpause", "suspend", "resume", "rescue", "unrescue", "snapshot",
     "prepare_live", "live_migrate", "complete_live"}
)  # fmt: skip
COPY_STEP_SECONDS = 0.5


class SimulatedDelays:
    """Delays and random failures of one host, reproducible by seed, host and instance."""

    def __init__(self, conf: cfg.ConfigOpts, host: str, sleep: Callable[[float], None]) -> None:
        self._conf = conf
        self._host = host
        self._sleep = sleep

    def build(self, uuid: str) -> None:
        """Wait for the duration of a build. Raises BuildFailed."""
        options = self._conf.simulated
        rng = self._rng(uuid)
        self._pass(rng, options.build_delay_seconds_min, options.build_delay_seconds_max)
        is_failing = any(fnmatch.fnmatchcase(self._host, glob) for glob in options.failing_hosts)
        if is_failing or rng.random() < options.failure_rate:
            raise exception.BuildFailed(
                instance_uuid=uuid, host=self._host, reason="simulated failure"
            )

    def operation(self, operation: str, uuid: str) -> None:
        """Wait for the duration of an operation. Raises OperationFailed."""
        options = self._conf.simulated
        rng = self._rng(f"{uuid}/{operation}")
        self._pass(rng, options.operation_delay_seconds_min, options.operation_delay_seconds_max)
        self._check(operation, uuid)

    def copy(self, uuid: str, memory_mb: int) -> Iterator[int]:
        """Wait while a guest's memory is copied; yield the MiB left, 0 at the end.

        If it is to fail, raises OperationFailed after half of the memory.
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

    def _pass(self, rng: random.Random, shortest: float, longest: float) -> None:
        self._sleep(rng.uniform(shortest, max(shortest, longest)))

    def _rng(self, what: str) -> random.Random:
        seed = self._conf.simulated.failure_seed
        return random.Random(f"{seed}/{self._host}/{what}")  # noqa: S311 - reproducible


def is_failing(patterns: Iterable[str], host: str, operation: str) -> bool:
    """Return whether a pattern ``operation`` or ``host:operation``, with globs, matches."""
    for pattern in patterns:
        host_glob, _, operation_glob = pattern.rpartition(":")
        if fnmatch.fnmatchcase(host, host_glob or "*") and fnmatch.fnmatchcase(
            operation, operation_glob
        ):
            return True
    return False


def check_patterns(patterns: Iterable[str]) -> None:
    """Raise ConfigurationError for a pattern that matches no operation."""
    for pattern in patterns:
        glob = pattern.rpartition(":")[2]
        if not fnmatch.filter(OPERATIONS, glob):
            raise exception.ConfigurationError(
                reason=f"[simulated] failing_operations: '{pattern}': unknown operation "
                f"'{glob}', expected {', '.join(sorted(OPERATIONS))}"
            )


def failed(operation: str, uuid: str, host: str, reason: str) -> exception.OperationFailed:
    """Return the error of the driver method ``operation``."""
    return exception.OperationFailed(
        instance_uuid=uuid, host=host, reason=reason,
        operation=operation.replace("_", " ").capitalize(),
    )  # fmt: skip
