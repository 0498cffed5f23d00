"""When a workload that ended is started again."""

from compute_agent.virt.process.shim.spec import Restart


class Restarts:
    """The restarts of a workload by its policy; None means never."""

    def __init__(self, spec: Restart | None) -> None:
        self._spec = spec
        self._in_a_row = 0
        self.count = 0

    def is_wanted(self, code: int, seconds: float) -> bool:
        """Return whether to restart it after it ran for ``seconds``."""
        spec = self._spec
        if spec is None or (spec.policy == "on-failure" and code == 0):
            return False
        return not (self.count == 0 and code != 0 and seconds <= spec.settle_seconds)

    def next_delay(self, seconds: float) -> float:
        """Return the restart delay: a backoff that resets after a long enough run.

        It is computed here because the shim has no module but the standard library's.
        """
        assert self._spec is not None
        first, longest = float(self._spec.delay_seconds), float(self._spec.delay_seconds_max)
        if seconds > longest:
            self._in_a_row = 0
        delay = first * 2.0 ** min(self._in_a_row, 30)
        self._in_a_row += 1
        self.count += 1
        return min(delay, max(longest, first))
