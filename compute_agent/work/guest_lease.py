"""Guest lease: guests are held while their host may have been given up.

A host without heartbeats (disconnected) counts as down after ``[DEFAULT] service_down_time``; then
its instances may be built on other hosts. A guest that continued here would run twice.
"""

import logging
from collections.abc import Callable, Iterable, Set

from armillary import exception
from compute_agent import boot_clock
from compute_agent.environment import Environment
from compute_agent.journal.held_guests import HeldGuests, Key
from compute_agent.reporting.staleness_check import ConductorLease
from compute_agent.virt.driver import RUNNING, ComputeDriver, GuestInfo
from compute_agent.work.wakeable_loop import WakeableLoop

LOG = logging.getLogger(__name__)

OFF, STRICT = "off", "strict"
TICK_SECONDS = 1.0
FOR_EVER_SECONDS = 1e9
SILENT_SHARE = 0.75
"""Share of the down time after which an agent that is not answered holds guests."""


class GuestLease:
    """Holds guests, and lets them continue.

    All guests of the agent are held after it was stalled for longer than the lease, half of the
    down time; with ``[compute] guest_lease = strict`` also while no heartbeat is answered. Guests
    whose arrival the conductor has not confirmed are held while no heartbeat is answered: the
    conductor lets them run elsewhere once this host counts as down.

    They continue when the conductor has answered, and what it does not expect here is destroyed or
    cannot be (``is_corrected``). A guest whose arrival it has not confirmed, or that is to be
    compared again (``list_doubts``), stays held until that is decided. ``on_settled`` is called
    whenever all that is not expected is gone (``is_settled``). ``is_corrected`` and ``is_settled``
    are given a time of the clock.
    """

    def __init__(
        self,
        env: Environment,
        *,
        conductor_lease: ConductorLease,
        held: HeldGuests,
        is_settled: Callable[[float], bool],
        is_corrected: Callable[[float], bool],
        list_doubts: Callable[[], Set[Key]],
        request_settlement: Callable[[], None],
        on_settled: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = boot_clock.seconds,
    ) -> None:
        self._env = env
        self._conductor_lease = conductor_lease
        self._held = held
        self._is_settled = is_settled
        self._is_corrected = is_corrected
        self._list_doubts = list_doubts
        self._request_settlement = request_settlement
        self._on_settled = on_settled
        self._clock = clock
        self._ticked_at = clock()
        self._extended_until = 0.0
        self._held_since: float | None = None
        self._holds_all = False
        self._keeps_some = False
        self._was_settled = False
        self._loop = WakeableLoop(f"{env.agent}-guest-lease", self.step)

    def start(self) -> None:
        """Start the loop. Guests that an earlier run held are let continue as any others."""
        self._ticked_at = self._clock()
        if self._env.conf.compute.guest_lease == OFF:
            self._extend_to(self._ticked_at + FOR_EVER_SECONDS, is_strict=False)
        if self._held.list_held():
            self._held_since = self._clock()
        self._loop.start()

    def stop(self, wait_seconds: float) -> None:
        self._loop.stop(wait_seconds)

    def wake(self) -> None:
        self._loop.wake()

    def step(self) -> float:
        """Hold guests or let them continue, and extend the lease; return the seconds to wait."""
        now = self._clock()
        stood_still, self._ticked_at = now - self._ticked_at, now
        mode = self._env.conf.compute.guest_lease
        if mode == OFF:
            self._note_settled()
            return TICK_SECONDS
        self._tell_unconfirmed()
        if stood_still > self.lease_seconds:
            self._hold_all(f"this agent was stalled for {stood_still:.0f} s")
        elif self._is_cut_off():
            if mode == STRICT:
                self._hold_all("no conductor answers")
            else:
                self._hold(self._held.list_unconfirmed())
        if self._held_since is not None:
            if self._may_continue(self._held_since):
                self._let_continue()
        elif self._keeps_some:
            self._continue_decided(self._undecided())
        if not self._holds_all:
            self._extend(now, is_strict=mode == STRICT)
        self._note_settled()
        return TICK_SECONDS

    @property
    def lease_seconds(self) -> float:
        return float(self._env.conf.service_down_time) / 2

    def _is_cut_off(self) -> bool:
        return (
            self._conductor_lease.silent_seconds() > SILENT_SHARE * self._env.conf.service_down_time
        )

    def _extend(self, now: float, *, is_strict: bool) -> None:
        """Extend the drivers' leases, before half of them has passed."""
        until = now + self.lease_seconds
        if is_strict:
            until = now + SILENT_SHARE * self._env.conf.service_down_time
            until -= self._conductor_lease.silent_seconds()
        if until - self._extended_until < self.lease_seconds / 8:
            return
        self._extend_to(until, is_strict=is_strict)

    def _extend_to(self, until: float, *, is_strict: bool) -> None:
        self._extended_until = until
        for driver in self._env.drivers.values():
            try:
                driver.extend_lease(until, is_strict=is_strict)
            except Exception:
                LOG.exception("Cannot extend the lease of the guests of host %s", driver.host)

    def _tell_unconfirmed(self) -> None:
        """Tell drivers that keep leases which guests the conductor may not know of.

        Those that are arriving are read first: a report of their arrival is written when it ends.
        """
        keeping = [driver for driver in self._env.drivers.values() if driver.keeps_lease]
        if not keeping:
            return
        keys = [*self._held.list_arriving(), *self._held.list_unconfirmed()]
        for driver in keeping:
            try:
                driver.note_unconfirmed({uuid for host, uuid in keys if host == driver.host})
            except OSError as error:
                LOG.warning("Cannot note which guests of %s are new: %s", driver.host, error)

    def _hold_all(self, reason: str) -> None:
        """Hold all guests; those of drivers that keep the lease themselves are held by then."""
        if not self._holds_all:
            LOG.warning("Guests are held until the conductor answers: %s", reason)
        self._holds_all = True
        self._hold(
            (host, guest.instance_uuid)
            for host, driver in self._env.drivers.items()
            if not driver.keeps_lease
            for guest in _running(driver)
        )
        self._held_since = self._clock()
        self._request_settlement()

    def _hold(self, keys: Iterable[Key]) -> None:
        """Pause guests that run; remember them first, so that a later run lets them continue."""
        held = set(self._held.list_held())
        wanted = [key for key in keys if key not in held and key[0] in self._env.drivers]
        running = {
            (host, guest.instance_uuid)
            for host in {host for host, _uuid in wanted}
            for guest in _running(self._env.drivers[host])
        }
        for host, uuid in wanted:
            if (host, uuid) not in running:
                continue
            driver = self._env.drivers[host]
            self._held_since = self._held_since or self._clock()
            self._held.add(host, uuid)
            LOG.warning("%s: held on %s until the conductor answers", uuid, host)
            try:
                driver.pause(uuid)
            except exception.ArmillaryError as error:
                LOG.warning("%s: cannot be held: %s", uuid, error)

    def _may_continue(self, since: float) -> bool:
        return self._conductor_lease.heard_of_at > since and self._is_corrected(since)

    def _let_continue(self) -> None:
        undecided = self._undecided()
        self._hold(undecided)  # drivers that keep the lease would let them continue with it
        LOG.info("The conductor has answered; guests that were held continue")
        self._holds_all, self._held_since = False, None
        self._continue_decided(undecided)

    def _undecided(self) -> set[Key]:
        """Return guests of which the conductor may decide yet that they do not belong here.

        What a stale report makes doubtful is in doubt before it counts as confirmed.
        """
        unconfirmed = self._held.list_unconfirmed()
        return {*unconfirmed, *self._list_doubts()}

    def _continue_decided(self, undecided: Set[Key]) -> None:
        deleting = self._held.list_deleting()
        held = self._held.list_held()
        for host, uuid in held:
            if (host, uuid) in undecided:
                continue
            try:
                if (host, uuid) not in deleting:
                    self._env.drivers[host].unpause(uuid)
            except (exception.ArmillaryError, KeyError) as error:
                LOG.info("%s: cannot be resumed on %s: %s", uuid, host, error)
            self._held.remove(host, uuid)
        self._keeps_some = not undecided.isdisjoint(held)

    def _note_settled(self) -> None:
        is_settled = self.is_settled()
        if is_settled and not self._was_settled:
            self._on_settled()
        self._was_settled = is_settled

    def is_settled(self) -> bool:
        """Return whether only what the conductor expects is here, as far as the agent knows."""
        if (
            self._held_since is not None
            or self._conductor_lease.silent_seconds() > self.lease_seconds
        ):
            return False
        return self._is_settled(self._conductor_lease.returned_at)


def _running(driver: ComputeDriver) -> list[GuestInfo]:
    try:
        return [guest for guest in driver.list_guests() if guest.power_state == RUNNING]
    except Exception:
        LOG.exception("Cannot list the guests of host %s", driver.host)
        return []
