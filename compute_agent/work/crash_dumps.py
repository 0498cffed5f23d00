"""Crash dumps of guests: each request triggers one, however often its message arrives."""

import threading
from collections import deque

from compute_agent.virt.driver import ComputeDriver

REQUESTS_KEPT_MAX = 256
"""Number of requests whose repeats are recognised, until the agent restarts."""


class CrashDumps:
    """Triggers crash dumps. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._triggered: deque[tuple[str, str]] = deque(maxlen=REQUESTS_KEPT_MAX)

    def trigger(self, driver: ComputeDriver, instance_uuid: str, request_id: str) -> None:
        """Trigger the dump of a request, once. Raises what the driver raises."""
        key = (instance_uuid, request_id)
        with self._lock:
            if key in self._triggered:
                return
            driver.trigger_crash_dump(instance_uuid)
            self._triggered.append(key)
