"""Reports of power states: guests that stopped, were paused or continued without a command."""

import logging
from collections.abc import Callable, Mapping

from armillary import exception
from compute_agent.environment import Environment
from compute_agent.reporting.outbox import Outbox
from compute_agent.virt.driver import GuestInfo
from compute_agent.work.work_queue import WorkQueue

LOG = logging.getLogger(__name__)

CHECKS_OF_DOUBTFUL_POWER = 2


class PowerReports:
    """Compares the guests of all hosts with the journal. ``on_change`` gets the host.

    ``on_doubt`` gets the host and UUID of an instance whose state the conductor may have wrong. A
    guest that ``is_starting`` has not stopped.
    """

    def __init__(
        self,
        env: Environment,
        *,
        queue: WorkQueue,
        outbox: Outbox,
        on_change: Callable[[str], None],
        on_doubt: Callable[[str, str], None] = lambda host, uuid: None,
        is_starting: Callable[[str, str], bool] = lambda host, uuid: False,
    ) -> None:
        self._env = env
        self._queue = queue
        self._outbox = outbox
        self._on_change = on_change
        self._on_doubt = on_doubt
        self._is_starting = is_starting
        self._doubted: set[tuple[str, str]] = set()
        self._powers: dict[tuple[str, str], str] = {}
        self._doubtful_powers: dict[tuple[str, str], int] = {}
        """How often a guest's power state is reported yet, changed or not."""

    def report(self) -> None:
        """Report guests that stopped, are paused or go on by themselves; doubt those back on."""
        ended = self._env.journal.list_ended()
        self._doubted &= ended.keys()
        for host in {host for host, _uuid in ended} & self._env.drivers.keys():
            self._doubt_running(host, ended)
        running = self._env.journal.list_running()
        here = {(host, uuid) for host, attempts in running.items() for uuid in attempts}
        for kept in (self._powers, self._doubtful_powers):
            for key in set(kept) - here:
                kept.pop(key, None)
        for host, attempts in running.items():
            driver = self._env.drivers.get(host)
            if driver is None:
                continue
            try:
                guests = {guest.instance_uuid: guest for guest in driver.list_guests()}
            except exception.Unavailable:  # the driver has said so
                continue
            except Exception:
                LOG.exception("Cannot list the guests of host %s", host)
                continue
            for uuid, attempt in attempts.items():
                guest = guests.get(uuid)
                if guest is not None and not guest.is_off:
                    self._note_power(host, attempt, guest)
                elif not self._is_starting(host, uuid):
                    self._note_end(host, uuid, attempt, guest)

    def doubt(self, host: str, uuid: str) -> None:
        """Report the power state of a guest at the next checks, even if it did not change.

        What a failed command was to do may have been done; the conductor does not listen while it
        ends the operation.
        """
        self._doubtful_powers[host, uuid] = CHECKS_OF_DOUBTFUL_POWER

    def _doubt_running(self, host: str, ended: Mapping[tuple[str, str], int]) -> None:
        """Have guests compared with the record, once each, that run though they have ended."""
        try:
            guests = self._env.drivers[host].list_guests()
        except exception.Unavailable as error:  # the driver has said so
            LOG.debug("Cannot list the guests of host %s: %s", host, error)
            return
        except Exception:
            LOG.exception("Cannot list the guests of host %s", host)
            return
        for guest in guests:
            key = (host, guest.instance_uuid)
            if guest.is_off or guest.is_moving or key in self._doubted:
                continue
            if key in ended and not self._queue.has_task(key):
                self._doubted.add(key)
                self._on_doubt(*key)

    def _note_power(self, host: str, attempt: int, guest: GuestInfo) -> None:
        """Report a guest that was paused, or continued, since the last check.

        The first check after the start is the reconciliation's, which knows the records.
        """
        key = (host, guest.instance_uuid)
        former = self._powers.setdefault(key, guest.power_state)
        is_doubtful = key in self._doubtful_powers
        if (former == guest.power_state and not is_doubtful) or guest.is_moving:
            return
        if self._env.journal.note_power(*key, attempt, guest.power_state, guest.reason):
            self._count_doubt(key)
            LOG.info("%s: %s on %s (%s)", key[1], guest.power_state, host, guest.reason)
            self._powers[key] = guest.power_state
            self._outbox.wake()

    def _count_doubt(self, key: tuple[str, str]) -> None:
        left = self._doubtful_powers.pop(key, 1) - 1
        if left:
            self._doubtful_powers[key] = left

    def _note_end(self, host: str, uuid: str, attempt: int, guest: GuestInfo | None) -> None:
        exit_code = guest.exit_code if guest is not None else None
        reason = guest.reason if guest is not None else None
        self._powers.pop((host, uuid), None)
        self._doubtful_powers.pop((host, uuid), None)
        if self._env.journal.end(host, uuid, attempt, exit_code, reason):
            LOG.info("%s: stopped by itself on %s, exit code %s (%s)",
                     uuid, host, exit_code, reason)  # fmt: skip
            self._outbox.wake()
            self._on_change(host)
