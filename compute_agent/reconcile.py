"""Ask the cell conductor what should be here, compare, and put it right."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Mapping, Sequence, Set

from oslo_config import cfg

from armillary import exception, measures
from armillary.context import admin_context
from compute_agent import reconcile_plan
from compute_agent.instance_work import InstanceWork
from compute_agent.journal import Journal
from compute_agent.outbox import Outbox
from compute_agent.virt.driver import ComputeDriver, GuestInfo
from compute_agent.wakeable_loop import WakeableLoop
from conductor.cell_rpcapi import CellConductorAPI
from objects.instance import Instance

LOG = logging.getLogger(__name__)

HOSTS_PER_MESSAGE_MAX = 500
RETRY_SECONDS = 5.0
DOUBT_RETRY_SECONDS = 1.0
DESTROY = "destroy"


class Reconciler:
    """Compares whenever ``request`` is called, and, after the first time, every so often.

    What is in doubt is compared again and again until nothing kept it from that; so is what is here
    of instances that are under way, with pauses that grow.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        journal: Journal,
        drivers: Mapping[str, ComputeDriver],
        conductor: CellConductorAPI,
        agent: str,
        work: InstanceWork,
        outbox: Outbox,
    ) -> None:
        self._conf = conf
        self._journal = journal
        self._drivers = drivers
        self._conductor = conductor
        self._agent = agent
        self._work = work
        self._outbox = outbox
        self._is_requested = threading.Event()
        self._lock = threading.Lock()
        self._doubts: set[reconcile_plan.Key] = set()
        self._undecided: set[reconcile_plan.Key] = set()
        self._undecided_pause_seconds = DOUBT_RETRY_SECONDS
        self._loop = WakeableLoop(f"{agent}-reconciler", self.step)

    def start(self) -> None:
        """Wait for the first request."""
        self._loop.start()

    def stop(self, wait_seconds: float) -> None:
        """Compare no more."""
        self._loop.stop(wait_seconds)

    def request(self) -> None:
        """Compare soon."""
        self._is_requested.set()
        self._loop.wake()

    def doubt(self, host: str, uuid: str) -> None:
        """Compare soon what is here of an instance: something of it came too late."""
        with self._lock:
            self._doubts.add((host, uuid))
        self.request()

    @property
    def undecided(self) -> set[reconcile_plan.Key]:
        """What is here of instances that were under way when it was compared last."""
        return set(self._undecided)

    def step(self) -> float | None:
        """Compare if that was ever asked for; return the seconds until the next time."""
        if not self._is_requested.is_set():
            return None
        try:
            self.reconcile()
        except exception.Unavailable as error:
            LOG.info("The conductor could not be asked what should run here: %s", error)
            return RETRY_SECONDS
        with self._lock:
            if self._doubts:
                return DOUBT_RETRY_SECONDS
        interval = float(self._conf.compute.reconcile_interval_seconds)
        interval += random.uniform(0.0, interval / 10)  # noqa: S311 - spreads load
        return self._undecided_pause_seconds if self._undecided else interval

    def reconcile(self) -> None:
        """Compare once and start what has to be done. Raises Unavailable when nobody answered."""
        with self._lock:
            doubts, self._doubts = self._doubts, set()
        try:
            doubts = self._compare(doubts)
        finally:
            with self._lock:
                self._doubts |= doubts

    def _compare(self, doubts: Set[reconcile_plan.Key]) -> set[reconcile_plan.Key]:
        """Return the doubts that are left: those about what something else was in hand of."""
        before = self._journal.snapshot()
        hosts, guests = self._list_guests()
        listed, moving = self._ask(hosts), self._ask_moving(hosts)
        self._note_undecided(reconcile_plan.undecided(hosts, before, guests, listed, moving))
        left = {key for key in doubts if key[1] in before.unreported}
        for action in reconcile_plan.plan(hosts, before, guests, listed, moving):
            uuid = action.key[1]
            if self._journal.serial(uuid) == before.serials.get(uuid, 0):
                self._carry_out(action)
            elif action.key in doubts:
                left.add(action.key)
        return left

    def _note_undecided(self, found: set[reconcile_plan.Key]) -> None:
        """Wait longer each time; a migration may wait for days to be confirmed."""
        is_news = bool(found - self._undecided)
        longer = min(
            2 * self._undecided_pause_seconds, self._conf.compute.reconcile_interval_seconds
        )
        self._undecided_pause_seconds = DOUBT_RETRY_SECONDS if is_news else longer
        self._undecided = found

    def _list_guests(self) -> tuple[list[str], dict[reconcile_plan.Key, GuestInfo]]:
        """Return the hosts that could be asked, and their guests."""
        hosts = []
        guests = {}
        for host, driver in self._drivers.items():
            try:
                of_host = driver.list_guests()
            except Exception:
                LOG.exception("The guests of host %s cannot be listed", host)
                continue
            hosts.append(host)
            guests.update({(host, guest.instance_uuid): guest for guest in of_host})
        return hosts, guests

    def _ask(self, hosts: Sequence[str]) -> list[Instance]:
        listed: list[Instance] = []
        for first in range(0, len(hosts), HOSTS_PER_MESSAGE_MAX):
            listed += self._conductor.list_host_instances(
                admin_context(), self._agent, hosts[first : first + HOSTS_PER_MESSAGE_MAX]
            )
        return listed

    def _ask_moving(self, hosts: Sequence[str]) -> set[reconcile_plan.Key]:
        """Return what is under way here; a conductor of before 1.2 moves nothing."""
        if not self._conductor.can_send("1.2"):
            return set()
        moving: set[reconcile_plan.Key] = set()
        for first in range(0, len(hosts), HOSTS_PER_MESSAGE_MAX):
            found = self._conductor.list_moving(
                admin_context(), self._agent, hosts[first : first + HOSTS_PER_MESSAGE_MAX]
            )
            moving |= {(each["host"], each["instance_uuid"]) for each in found}
        return moving

    def _carry_out(self, action: reconcile_plan.Action) -> None:
        host, uuid = action.key
        measures.reconciled(type(action).__name__.lower())
        match action:
            case reconcile_plan.Destroy():
                self._destroy(action)
            case reconcile_plan.Delete():
                LOG.info("%s: being deleted, and still on %s", uuid, host)
                self._journal.begin_delete(host, uuid)
                self._work.start_destroy(host, uuid)
            case reconcile_plan.ReportAgain():
                LOG.info("%s: the conductor has missed a report of %s", uuid, host)
                self._journal.report_again(host, uuid, action.attempt)
                self._outbox.wake()
            case reconcile_plan.Settle():
                LOG.info("%s: its move is over, it is in its place on %s", uuid, host)
                self._journal.settle(host, uuid, action.exit_code, has_ended=action.has_ended)
            case reconcile_plan.Adopt():
                LOG.warning(
                    "%s: not in the journal; taken over on %s, %s",
                    uuid, host, "ended" if action.has_ended else "running",
                )  # fmt: skip
                self._journal.adopt(
                    action.instance,
                    has_ended=action.has_ended,
                    exit_code=action.exit_code,
                    reports=action.reports,
                    place=action.place,
                )
                self._outbox.wake()

    def _destroy(self, action: reconcile_plan.Destroy) -> None:
        host, uuid = action.key
        if self._conf.compute.stray_guest_action != DESTROY:
            LOG.warning("%s: should not be on %s; kept (stray_guest_action)", uuid, host)
            return
        LOG.warning("%s: should not be on %s; destroying it", uuid, host)
        if self._journal.begin_forget(host, uuid, action.attempt):
            self._work.start_destroy(host, uuid)
