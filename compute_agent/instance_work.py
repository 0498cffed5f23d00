"""The steps of building and destroying an instance, each written down before it is taken.

Every step may be taken twice: after a crash the journal says where an instance stands, and the work
begins again from there.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping

from oslo_utils import timeutils

from armillary import exception
from armillary.context import RequestContext, admin_context
from compute_agent.claims import Claims
from compute_agent.journal import Entry, Journal, State
from compute_agent.outbox import Outbox
from compute_agent.second_thoughts import OUT_OF_REACH, SecondThoughts
from compute_agent.virt.driver import ComputeDriver, GuestInfo
from compute_agent.work_queue import WorkQueue
from objects.instance import Instance
from objects.instance_fault import InstanceFault
from objects.request_spec import RequestSpec

LOG = logging.getLogger(__name__)

RUNNING = "running"

BuildOrder = tuple[Instance, RequestSpec]
"""What is to be built."""


class InstanceWork:
    """Builds and destroys on the drivers, in the queue's order. ``on_change`` is told the host."""

    def __init__(
        self,
        *,
        journal: Journal,
        drivers: Mapping[str, ComputeDriver],
        claims: Claims,
        queue: WorkQueue,
        outbox: Outbox,
        thoughts: SecondThoughts,
        on_change: Callable[[str], None],
    ) -> None:
        self._journal = journal
        self._drivers = drivers
        self._claims = claims
        self._queue = queue
        self._outbox = outbox
        self._thoughts = thoughts
        self._on_change = on_change
        self._unknown_hosts: set[str] = set()

    def start_build(
        self, context: RequestContext, host: str, uuid: str, order: BuildOrder | None = None
    ) -> None:
        """Build what the journal says, soon; ``order`` is what was just written there."""
        self._queue.build((host, uuid), lambda: self.build(context, host, uuid, order))

    def start_destroy(self, host: str, uuid: str) -> None:
        """Destroy what the journal says is being deleted, soon."""
        self._queue.chore((host, uuid), lambda: self.destroy(host, uuid))

    def resume(self) -> None:
        """Take up what is under way in the journal and nobody has in hand."""
        for entry in self._journal.list_entries(states=(State.BUILDING, State.DELETING)):
            if self._queue.is_in_hand(entry.key):
                continue
            if entry.host not in self._drivers:
                self._give_up(entry)
            elif entry.state is State.DELETING:
                LOG.info("%s: taking up its delete on %s", entry.instance_uuid, entry.host)
                self.start_destroy(*entry.key)
            else:
                context = admin_context(entry.request_id).for_instance(entry.instance_uuid)
                self.resume_build(context, entry)

    def resume_build(self, context: RequestContext, entry: Entry) -> None:
        """Take up a build, unless somebody has it in hand."""
        if self._queue.is_in_hand(entry.key):
            return
        LOG.info(
            "%s: taking up attempt %d of its build on %s",
            entry.instance_uuid, entry.attempt, entry.host,
        )  # fmt: skip
        self.start_build(context, *entry.key)

    def build(
        self, context: RequestContext, host: str, uuid: str, order: BuildOrder | None = None
    ) -> None:
        """Build an instance, unless it was overtaken by a delete or a later attempt."""
        context.update_store()  # log lines of this worker carry it
        entry = self._journal.find(host, uuid)
        if entry is None or entry.state is not State.BUILDING:
            return
        if not self._is_wanted(context, entry):
            return
        if order is not None and order[0].attempt == entry.attempt:
            instance, spec = order
        else:
            instance, spec = self._journal.get_build(host, uuid)
        driver = self._drivers[host]
        try:
            if entry.is_dirty:
                driver.destroy(uuid)
                self._journal.note_clean(host, uuid, entry.attempt)
            place = self._claims.claim(context, instance, spec)
            if place is None:
                return
            if place.is_anywhere:
                guest = driver.spawn(instance)  # a driver without cells knows of no places
            else:
                self._on_change(host)
                guest = driver.spawn(instance, place)
        except (exception.BuildFailed, exception.BuildAborted) as error:
            self._note_failure(entry, error)
        except Exception as error:
            LOG.exception("%s: attempt %d on %s broke", uuid, entry.attempt, host)
            with contextlib.suppress(Exception):
                driver.destroy(uuid)
            self._note_failure(entry, error)
        else:
            self._note_success(entry, guest)

    def _is_wanted(self, context: RequestContext, entry: Entry) -> bool:
        """Tell whether to go on with a build; leave nothing of one that was given up meanwhile."""
        host, uuid, attempt = entry.host, entry.instance_uuid, entry.attempt
        try:
            if self._thoughts.is_build_wanted(context, entry):
                return True
        except OUT_OF_REACH as error:
            LOG.info("%s: attempt %d waits, nobody says if it is wanted: %s", uuid, attempt, error)
            return False
        LOG.info("%s: attempt %d on %s is not wanted any more", uuid, attempt, host)
        if self._journal.begin_forget(host, uuid, attempt):
            self.destroy(host, uuid)
        return False

    def destroy(self, host: str, uuid: str) -> None:
        """Destroy an instance that is being deleted, or an attempt that is to be forgotten."""
        entry = self._journal.find(host, uuid)
        if entry is None or entry.state is not State.DELETING:
            return
        self._drivers[host].destroy(uuid)
        self._journal.finish_delete(host, uuid)
        LOG.info("%s: gone from %s", uuid, host)
        self._changed(host)

    def note_ended_guests(self) -> None:
        """Look for guests that ended by themselves, and report them."""
        for host, attempts in self._journal.list_running().items():
            driver = self._drivers.get(host)
            if driver is None:
                continue
            try:
                guests = {guest.instance_uuid: guest for guest in driver.list_guests()}
            except Exception:
                LOG.exception("The guests of host %s cannot be listed", host)
                continue
            for uuid, attempt in attempts.items():
                guest = guests.get(uuid)
                if guest is None or guest.power_state != RUNNING:
                    self._note_end(host, uuid, attempt, guest)

    def _note_end(self, host: str, uuid: str, attempt: int, guest: GuestInfo | None) -> None:
        exit_code = guest.exit_code if guest is not None else None
        if self._journal.end(host, uuid, attempt, exit_code):
            LOG.info("%s: ended by itself on %s, exit code %s", uuid, host, exit_code)
            self._changed(host)

    def _note_success(self, entry: Entry, guest: GuestInfo) -> None:
        is_current = self._journal.finish_build(
            entry.host, entry.instance_uuid, entry.attempt,
            power_state=guest.power_state, exit_code=guest.exit_code,
        )  # fmt: skip
        if not is_current:
            LOG.info("%s: attempt %d was overtaken", entry.instance_uuid, entry.attempt)
            return
        LOG.info("%s: attempt %d built on %s", entry.instance_uuid, entry.attempt, entry.host)
        self._changed(entry.host)

    def _note_failure(self, entry: Entry, error: Exception) -> None:
        fault = make_fault(entry.instance_uuid, entry.attempt, entry.host, error)
        is_current = self._journal.fail_build(
            entry.host, entry.instance_uuid, entry.attempt,
            fault=fault,
            retry=not isinstance(error, exception.BuildAborted),
            is_counted=is_hosts_fault(error),
        )  # fmt: skip
        if is_current:
            LOG.warning(
                "%s: attempt %d on %s failed: %s",
                entry.instance_uuid, entry.attempt, entry.host, error,
            )  # fmt: skip
            self._changed(entry.host)

    def _give_up(self, entry: Entry) -> None:
        """Send the builds of a host elsewhere that was taken out of the configuration."""
        if entry.host not in self._unknown_hosts:
            self._unknown_hosts.add(entry.host)
            LOG.warning("The journal names host %s, which this agent does not carry", entry.host)
        if entry.state is State.BUILDING:
            self._note_failure(entry, not_carried(entry.instance_uuid, entry.host))

    def _changed(self, host: str) -> None:
        self._outbox.wake()
        self._on_change(host)


def not_carried(uuid: str, host: str) -> exception.ComputeResourcesUnavailable:
    """Return the error of a build for a host that this agent does not have."""
    return exception.ComputeResourcesUnavailable(
        instance_uuid=uuid, host=host, reason="the agent does not carry this host"
    )


def is_hosts_fault(error: Exception) -> bool:
    """Whether a failure says something about the host, and schedulers should keep away from it."""
    return not isinstance(error, exception.BuildAborted | exception.GroupPolicyViolation)


def make_fault(uuid: str, attempt: int, host: str, error: Exception) -> InstanceFault:
    """Return the record of a failed attempt; its details are for administrators."""
    return InstanceFault.from_values(
        instance_uuid=uuid,
        attempt=attempt,
        host=host,
        message=_sentence_for_user(error),
        details=f"{type(error).__name__}: {error}",
        created_at=timeutils.utcnow(with_timezone=True),
    )


def _sentence_for_user(error: Exception) -> str:
    if isinstance(error, exception.GroupPolicyViolation):
        policy = error.kwargs["policy"]
        return f"The build failed: the host does not fit the server group's policy {policy}."
    if isinstance(error, exception.BuildFailed | exception.BuildAborted):
        return f"The build failed: {error.kwargs.get('reason') or 'no reason given'}."
    return "The build failed: unexpected error on the host."
