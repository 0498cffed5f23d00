"""Requests to guests that must not be carried out again when their message is repeated.

A late repeat would dump a guest's memory twice, or bring back a password that its user has
replaced meanwhile.
"""

import dataclasses
import threading
from collections import OrderedDict
from collections.abc import Callable

REQUESTS_KEPT_MAX = 256
"""Number of requests whose repeats are recognised, until the agent restarts."""


@dataclasses.dataclass
class _Request:
    lock: threading.Lock = dataclasses.field(default_factory=threading.Lock)
    is_done: bool = False


class GuestRequests:
    """Carries out each request to a guest once. Thread-safe; guests do not wait for each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: OrderedDict[tuple[str, str], _Request] = OrderedDict()

    def run_once(self, instance_uuid: str, request_id: str, work: Callable[[], None]) -> None:
        """Run ``work`` unless it succeeded before for the request; raise what it raises."""
        request = self._find_or_add((instance_uuid, request_id))
        with request.lock:
            if not request.is_done:
                work()
                request.is_done = True

    def _find_or_add(self, key: tuple[str, str]) -> _Request:
        with self._lock:
            request = self._requests.setdefault(key, _Request())
            if len(self._requests) > REQUESTS_KEPT_MAX:
                self._requests.popitem(last=False)
            return request
