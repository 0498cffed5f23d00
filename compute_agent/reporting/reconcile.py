"""Reconciliation with the cell conductor: get the expected state, compare and correct."""

import logging
import random
import threading
from collections.abc import Callable, Iterable, Sequence, Set

from armillary import exception
from armillary.backoff import Backoff
from armillary.context import admin_context
from armillary.metrics import service_metrics
from compute_agent import boot_clock
from compute_agent.environment import Environment
from compute_agent.journal.journal import State
from compute_agent.reporting import reconcile_plan
from compute_agent.reporting.outbox import Outbox
from compute_agent.virt.driver import GuestInfo
from compute_agent.work.instance_work import InstanceWork
from compute_agent.work.wakeable_loop import WakeableLoop
from objects.instance import Instance

LOG = logging.getLogger(__name__)

HOSTS_PER_MESSAGE_MAX = 500
RETRY_SECONDS = 5.0
DOUBT_RETRY_SECONDS = 1.0
DESTROY = "destroy"
DESTROY_SECONDS_MAX = 30.0


class Reconciler:
    """Reconciles on ``request`` and, after the first one, periodically.

    Instances in doubt are compared again until the result is certain. Instances that are being
    moved are compared again with a backoff.
    """

    def __init__(
        self,
        env: Environment,
        *,
        work: InstanceWork,
        outbox: Outbox,
        clock: Callable[[], float] = boot_clock.seconds,
    ) -> None:
        self._clock = clock
        self._compared_at = float("-inf")
        self._destroying: set[reconcile_plan.Key] = set()
        self._logged_as_stuck: set[reconcile_plan.Key] = set()
        self._env = env
        self._work = work
        self._outbox = outbox
        self._is_requested = threading.Event()
        self._lock = threading.Lock()
        self._doubts: set[reconcile_plan.Key] = set()
        self._comparing: set[reconcile_plan.Key] = set()
        self._undecided: set[reconcile_plan.Key] = set()
        self._rounds_without_news = 0
        self._loop = WakeableLoop(f"{env.agent}-reconciler", self.step)

    def start(self) -> None:
        """Start the loop; it waits for the first request."""
        self._loop.start()

    def stop(self, wait_seconds: float) -> None:
        self._loop.stop(wait_seconds)

    def request(self) -> None:
        self._is_requested.set()
        self._loop.wake()

    def doubt(self, host: str, uuid: str) -> None:
        """Request a comparison of an instance after one of its reports or commands was stale."""
        with self._lock:
            self._doubts.add((host, uuid))
        self.request()

    def list_doubts(self) -> set[reconcile_plan.Key]:
        """Return the instances in doubt, those included that are being compared."""
        with self._lock:
            return self._doubts | self._comparing

    @property
    def undecided(self) -> set[reconcile_plan.Key]:
        """Instances here that were being moved at the last comparison."""
        return set(self._undecided)

    def step(self) -> float | None:
        """Reconcile if ever requested; return the seconds until the next time."""
        if not self._is_requested.is_set() or not self._env.is_admitted():
            return None
        try:
            self.reconcile()
        except exception.Unavailable as error:
            LOG.info("Cannot get the expected instances from the conductor: %s", error)
            return RETRY_SECONDS
        with self._lock:
            if self._doubts:
                return DOUBT_RETRY_SECONDS
        interval = float(self._env.conf.compute.reconcile_interval_seconds)
        if self._undecided:
            return Backoff(DOUBT_RETRY_SECONDS, interval).seconds(self._rounds_without_news)
        return interval + random.uniform(0.0, interval / 10)  # noqa: S311 - spreads load

    def reconcile(self) -> None:
        """Compare once and start the corrections. Raises Unavailable if the conductor is."""
        began_at = self._clock()
        with self._lock:
            doubts, self._doubts = self._doubts, set()
            self._comparing = doubts
        try:
            doubts = self._compare(doubts)
        finally:
            with self._lock:
                self._doubts |= doubts
                self._comparing = set()
        self._compared_at = began_at

    @property
    def is_compared(self) -> bool:
        """Whether the journal was compared with the records in this run."""
        return self._compared_at > float("-inf")

    def is_settled(self, since: float) -> bool:
        """Return whether what was unexpected at a comparison begun after ``since`` is destroyed.

        ``since`` is a time of the clock. Until then its resources are in use.
        """
        return self._compared_at >= since and not self._remaining()

    def is_corrected(self, since: float) -> bool:
        """Return whether the guests that are expected may continue.

        As :meth:`is_settled`, but what cannot be destroyed within ``DESTROY_SECONDS_MAX`` is not
        waited for.
        """
        if self._compared_at < since:
            return False
        remaining = self._remaining()
        if remaining and self._clock() - self._compared_at <= DESTROY_SECONDS_MAX:
            return False
        if remaining - self._logged_as_stuck:
            named = ", ".join(sorted(uuid for _host, uuid in remaining))
            LOG.error("Not destroyed within %.0f s: %s. A host that was down is up again when "
                      "they are gone", DESTROY_SECONDS_MAX, named)  # fmt: skip
        self._logged_as_stuck = remaining
        return True

    def _remaining(self) -> set[reconcile_plan.Key]:
        """Return what was unexpected at the last comparison and is not destroyed yet."""
        with self._lock:
            found = {key: self._env.journal.find(*key) for key in self._destroying}
        return {
            key for key, entry in found.items()
            if entry is not None and entry.state is State.DELETING
        }  # fmt: skip

    def _compare(self, doubts: Set[reconcile_plan.Key]) -> set[reconcile_plan.Key]:
        """Return the remaining doubts: instances that changed or have unsent reports."""
        before = self._env.journal.snapshot()
        hosts, guests = self._list_guests()
        listed, moving = self._ask(hosts), self._ask_moving(hosts)
        self._note_undecided(reconcile_plan.undecided(hosts, before, guests, listed, moving))
        left = {key for key in doubts if key[1] in before.unreported}
        expected = {(str(instance.host), instance.uuid) for instance in listed}
        self._set_destroying(
            key for key, entry in before.entries.items()
            if entry.state is State.DELETING
            and (key in self._destroying or (key[0] in hosts and key not in expected))
        )  # fmt: skip
        for action in reconcile_plan.plan(hosts, before, guests, listed, moving):
            uuid = action.key[1]
            if self._env.journal.serial(uuid) == before.serials.get(uuid, 0):
                self._execute(action)
            elif action.key in doubts:
                left.add(action.key)
        return left

    def _set_destroying(self, keys: Iterable[reconcile_plan.Key]) -> None:
        """Remember what is being destroyed; an earlier run may have begun it."""
        found = set(keys)
        with self._lock:
            self._destroying = found

    def _note_destroying(self, key: reconcile_plan.Key) -> None:
        with self._lock:
            self._destroying.add(key)

    def _note_undecided(self, found: set[reconcile_plan.Key]) -> None:
        """Back off while nothing changes; a migration may be unconfirmed for days."""
        is_news = bool(found - self._undecided)
        self._rounds_without_news = 0 if is_news else self._rounds_without_news + 1
        self._undecided = found

    def _list_guests(self) -> tuple[list[str], dict[reconcile_plan.Key, GuestInfo]]:
        """Return the hosts whose driver answered, and their guests."""
        hosts = []
        guests = {}
        for host, driver in self._env.drivers.items():
            try:
                of_host = driver.list_guests()
            except exception.Unavailable:  # the driver has said so
                continue
            except Exception:
                LOG.exception("Cannot list the guests of host %s", host)
                continue
            hosts.append(host)
            guests.update({(host, guest.instance_uuid): guest for guest in of_host})
        return hosts, guests

    def _ask(self, hosts: Sequence[str]) -> list[Instance]:
        listed: list[Instance] = []
        for first in range(0, len(hosts), HOSTS_PER_MESSAGE_MAX):
            listed += self._env.conductor.list_host_instances(
                admin_context(), self._env.agent, hosts[first : first + HOSTS_PER_MESSAGE_MAX]
            )
        return listed

    def _ask_moving(self, hosts: Sequence[str]) -> set[reconcile_plan.Key]:
        moving: set[reconcile_plan.Key] = set()
        for first in range(0, len(hosts), HOSTS_PER_MESSAGE_MAX):
            found = self._env.conductor.list_migrating_instances(
                admin_context(), self._env.agent, hosts[first : first + HOSTS_PER_MESSAGE_MAX]
            )
            moving |= {(each["host"], each["instance_uuid"]) for each in found}
        return moving

    def _execute(self, action: reconcile_plan.Action) -> None:
        host, uuid = action.key
        service_metrics.RECONCILED.add(type(action).__name__.lower())
        match action:
            case reconcile_plan.Destroy():
                self._destroy(action)
            case reconcile_plan.Delete():
                LOG.info("%s: being deleted, but still on %s", uuid, host)
                self._env.journal.begin_delete(host, uuid)
                self._note_destroying(action.key)
                self._work.start_destroy(host, uuid)
            case reconcile_plan.ReportAgain():
                LOG.info("%s: the conductor missed a report of %s", uuid, host)
                self._env.journal.report_again(host, uuid, action.attempt)
                self._outbox.wake()
            case reconcile_plan.ReportPower(_key, attempt, power_state, reason):
                if self._env.journal.note_power(host, uuid, attempt, power_state, reason):
                    LOG.warning("%s: recorded otherwise, but %s on %s", uuid, power_state, host)
                    self._outbox.wake()
            case reconcile_plan.Settle():
                LOG.info("%s: its move has ended, it stays on %s", uuid, host)
                self._env.journal.settle(host, uuid, action.exit_code, has_ended=action.has_ended)
            case reconcile_plan.Renew():
                LOG.warning(
                    "%s: its entry in the journal is older than its record; renewed on %s",
                    uuid, host,
                )  # fmt: skip
                self._env.journal.renew(
                    action.instance,
                    has_ended=action.has_ended,
                    exit_code=action.exit_code,
                    place=action.place,
                )
                self._outbox.wake()
            case reconcile_plan.Adopt():
                LOG.warning(
                    "%s: not in the journal; adopted on %s, %s",
                    uuid, host, "ended" if action.has_ended else "running",
                )  # fmt: skip
                self._env.journal.adopt(
                    action.instance,
                    has_ended=action.has_ended,
                    exit_code=action.exit_code,
                    reports=action.reports,
                    place=action.place,
                )
                self._outbox.wake()

    def _destroy(self, action: reconcile_plan.Destroy) -> None:
        host, uuid = action.key
        if self._env.conf.compute.stray_guest_action != DESTROY:
            LOG.warning("%s: unexpected on %s; kept (stray_guest_action)", uuid, host)
            return
        LOG.warning("%s: unexpected on %s; destroying it", uuid, host)
        if self._env.journal.begin_forget(host, uuid, action.attempt):
            self._note_destroying(action.key)
            self._work.start_destroy(host, uuid)
