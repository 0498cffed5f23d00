"""Start of the guests that ran when their host ended, ``resume_guests_state_on_host_boot``."""

import logging
from collections.abc import Callable, Mapping
from functools import partial

from armillary import exception
from compute_agent.environment import Environment
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.journal.journal import State
from compute_agent.work.work_queue import WorkQueue

LOG = logging.getLogger(__name__)

Key = tuple[str, str]
"""Host and instance UUID."""


class GuestResume:
    """Starts guests again once the journal was compared: others may have been evacuated.

    A guest ended with its host if the journal has it as running, and it is off without an exit
    code. Until it is started, or cannot be, it does not count as stopped.
    """

    def __init__(
        self, env: Environment, *, queue: WorkQueue, is_compared: Callable[[], bool]
    ) -> None:
        self._env = env
        self._queue = queue
        self._is_compared = is_compared
        self._waiting: dict[Key, int] = {}

    def begin(self) -> None:
        """Note the guests to start; at the start of the agent, before it looks for stopped ones."""
        if not self._env.conf.resume_guests_state_on_host_boot:
            return
        for host, attempts in self._env.journal.list_running().items():
            if host in self._env.drivers:
                self._note(host, attempts)
        if self._waiting:
            LOG.info("%d guests ended with their host and are started again", len(self._waiting))

    def is_waiting(self, host: str, uuid: str) -> bool:
        """Return whether a guest is to be started."""
        return (host, uuid) in self._waiting

    def run(self) -> None:
        """Queue the starts, once the journal was compared with the records."""
        if not self._waiting or not self._is_compared():
            return
        for key in list(self._waiting):
            if not self._queue.has_task(key):
                self._queue.operation(key, partial(self._start, key))

    def _note(self, host: str, attempts: Mapping[str, int]) -> None:
        for guest in self._env.drivers[host].list_guests():
            attempt = attempts.get(guest.instance_uuid)
            has_ended = guest.is_off and not guest.is_moving and guest.exit_code is None
            if attempt is not None and has_ended:
                self._waiting[host, guest.instance_uuid] = attempt

    def _start(self, key: Key) -> None:
        """Start a guest if it is still as it was; the next check reports one that cannot run."""
        host, uuid = key
        try:
            entry = self._env.journal.find(host, uuid)
            is_same = entry is not None and entry.attempt == self._waiting.get(key)
            if entry is None or not is_same or entry.state is not State.RUNNING:
                return
            instance, _spec = self._env.journal.get_build(host, uuid)
            self._env.drivers[host].power_on(instance, entry.place or ANYWHERE)
            LOG.info("%s: started again on %s", uuid, host)
        except exception.ArmillaryError as error:
            LOG.warning("%s: cannot be started again on %s: %s", uuid, host, error)
        finally:
            self._waiting.pop(key, None)
