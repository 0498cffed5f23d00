"""Build and delete commands: recorded first, then executed in steps, repeated or rejected.

Every step is idempotent: after a crash the journal contains an instance's state, and the work
resumes from there.
"""

import contextlib
import logging
from collections.abc import Callable, Sequence

from oslo_utils import timeutils

from armillary import exception
from armillary.context import RequestContext, admin_context, current_context, log_context
from compute_agent.environment import Environment
from compute_agent.host.claims import Claims
from compute_agent.journal.journal import Acceptance, Entry, Kind, Report, State
from compute_agent.reporting.outbox import Outbox
from compute_agent.reporting.staleness_check import OUT_OF_REACH, StalenessCheck
from compute_agent.virt.driver import ComputeDriver, GuestInfo
from compute_agent.work.work_queue import WorkQueue
from objects.instance import Instance
from objects.instances.instance_fault import InstanceFault
from objects.request_spec import RequestSpec

LOG = logging.getLogger(__name__)

BuildContent = tuple[Instance, RequestSpec]
"""The instance to build and its request spec."""


class InstanceWork:
    """Builds and deletes instances through the queue. ``on_change`` gets the host.

    The cell conductor's commands may be duplicate, late or out of order. ``on_doubt`` gets the host
    and UUID of an instance whose state the conductor may have wrong. Until ``is_compared`` the
    journal may be older than what runs here.
    """

    def __init__(
        self,
        env: Environment,
        *,
        claims: Claims,
        queue: WorkQueue,
        outbox: Outbox,
        staleness_check: StalenessCheck,
        on_change: Callable[[str], None],
        on_doubt: Callable[[str, str], None] = lambda host, uuid: None,
        is_compared: Callable[[], bool] = lambda: True,
    ) -> None:
        self._is_compared = is_compared
        self._env = env
        self._claims = claims
        self._queue = queue
        self._outbox = outbox
        self._thoughts = staleness_check
        self._on_change = on_change
        self._on_doubt = on_doubt
        self._unknown_hosts: set[str] = set()

    # Commands -------------------------------------------------------------------------------------

    def build_all(self, context: RequestContext, builds: Sequence[BuildContent]) -> None:
        """Build instances, each on its host as its attempt; report the results.

        All are recorded before the first one starts.
        """
        carried = [build for build in builds if self._is_here(build[0])]
        accepted = self._env.journal.accept_builds(carried)
        for command, acceptance in zip(carried, accepted, strict=True):
            self._begin(context.for_instance(command[0].uuid), command, acceptance)

    def _is_here(self, instance: Instance) -> bool:
        """Return whether the agent manages an instance's node; reject the build if not."""
        driver = self._env.drivers.get(str(instance.host))
        if driver is not None and instance.node in (None, driver.node):
            return True
        self._refuse(instance, not_carried(instance.uuid, str(instance.host)))
        return False

    def _begin(self, context: RequestContext, command: BuildContent, accepted: Acceptance) -> None:
        instance, _spec = command
        host, uuid, attempt = str(instance.host), instance.uuid, instance.attempt
        LOG.info("%s: build attempt %d on %s: %s", uuid, attempt, host, accepted.value)
        match accepted:
            case Acceptance.NEW:
                self._start_build(context, host, uuid, command)
                self._on_change(host)
            case Acceptance.REPEATED:
                self._repeat(context, host, uuid, attempt)
            case Acceptance.OVER:
                reason = "this attempt has already ended"
                over = exception.BuildFailed(instance_uuid=uuid, host=host, reason=reason)
                self._refuse(instance, over)
            case Acceptance.IGNORED:
                pass

    def delete(self, uuid: str, host: str) -> None:
        """Destroy the instance and report it, even if there is none."""
        if not self._carries(host, uuid):
            return
        LOG.info("%s: deleting on %s", uuid, host)
        self._env.journal.begin_delete(host, uuid)
        self.start_destroy(host, uuid)
        self._on_change(host)

    def forget(self, uuid: str, host: str, attempt: int) -> None:
        """Destroy the remains of an attempt, without a report."""
        if not self._carries(host, uuid):
            return
        LOG.info("%s: cleaning up attempt %d on %s", uuid, attempt, host)
        if self._env.journal.begin_forget(host, uuid, attempt):
            self.start_destroy(host, uuid)
            self._on_change(host)

    def forget_stale(self, report: Report) -> None:
        """Destroy the guest of a build that is not wanted any more; compare others.

        The report of an end is also stale while a move or resize that failed here waits to be
        repeated: the record may name another attempt by then, and the guest is the only copy.
        """
        if report.kind == Kind.BUILD_SUCCEEDED:
            self.forget(report.instance_uuid, report.host, report.attempt)
        elif report.kind == Kind.INSTANCE_ENDED:
            self._on_doubt(report.host, report.instance_uuid)

    def _repeat(self, context: RequestContext, host: str, uuid: str, attempt: int) -> None:
        if self._env.journal.report_again(host, uuid, attempt):
            self._outbox.wake()
            return
        entry = self._env.journal.find(host, uuid)
        if entry is not None and entry.state is State.BUILDING:
            self._resume_build(context, entry)

    def _refuse(self, instance: Instance, error: exception.BuildFailed) -> None:
        LOG.warning("%s: %s", instance.uuid, error)
        fault = make_fault(instance.uuid, instance.attempt, str(instance.host), error)
        self._env.journal.refuse_build(instance, fault)
        self._outbox.wake()

    def _carries(self, host: str, uuid: str) -> bool:
        if host in self._env.drivers:
            return True
        LOG.warning("%s: command for host %s, which this agent does not manage", uuid, host)
        return False

    # Work from the journal ------------------------------------------------------------------------

    def _start_build(
        self, context: RequestContext, host: str, uuid: str, command: BuildContent | None = None
    ) -> None:
        """Queue a build from the journal; ``command`` is the entry's content, if just written."""
        self._queue.build((host, uuid), lambda: self._build(context, host, uuid, command))

    def start_destroy(self, host: str, uuid: str) -> None:
        """Queue the destruction of an instance that the journal marks as deleting.

        Its log lines carry the context of this thread.
        """
        context = current_context()

        def destroy() -> None:
            with log_context(context):
                self.destroy(host, uuid)

        self._queue.operation((host, uuid), destroy)

    def resume(self) -> None:
        """Resume the journal's unfinished builds and deletes that are not queued or running."""
        for entry in self._env.journal.list_entries(states=(State.BUILDING, State.DELETING)):
            if self._queue.has_task(entry.key):
                continue
            if entry.host not in self._env.drivers:
                self._give_up(entry)
            elif entry.state is State.DELETING and entry.is_silent and not self._is_compared():
                continue
            elif entry.state is State.DELETING:
                LOG.info("%s: resuming its delete on %s", entry.instance_uuid, entry.host)
                self.start_destroy(*entry.key)
            else:
                context = admin_context(entry.request_id).for_instance(entry.instance_uuid)
                self._resume_build(context, entry)

    def _resume_build(self, context: RequestContext, entry: Entry) -> None:
        """Resume a build, unless it is queued or running."""
        if self._queue.has_task(entry.key):
            return
        LOG.info(
            "%s: resuming attempt %d of its build on %s",
            entry.instance_uuid, entry.attempt, entry.host,
        )  # fmt: skip
        self._start_build(context, *entry.key)

    def _build(
        self, context: RequestContext, host: str, uuid: str, command: BuildContent | None = None
    ) -> None:
        """Build an instance, unless a delete or a later attempt superseded it."""
        context.update_store()  # request id in this worker's log lines
        entry = self._env.journal.find(host, uuid)
        if entry is None or entry.state is not State.BUILDING:
            return
        if not self._is_wanted(context, entry):
            return
        if command is not None and command[0].attempt == entry.attempt:
            instance, spec = command
        else:
            instance, spec = self._env.journal.get_build(host, uuid)
        driver = self._env.drivers[host]
        try:
            if entry.is_dirty and not self._clean(entry, driver):
                return
            place = self._claims.claim(context, instance, spec)
            if place is None:
                return
            if place.is_anywhere:
                guest = driver.spawn(instance)  # drivers without NUMA take no placement
            else:
                self._on_change(host)
                guest = driver.spawn(instance, place)
        except exception.BuildNotUndone as error:
            LOG.warning("%s; the build is repeated when its remains are removed", error)
            self._env.journal.note_dirty(host, uuid, entry.attempt)
        except (exception.BuildFailed, exception.BuildAborted) as error:
            self._note_failure(entry, error)
        except exception.JournalUnwritable:
            raise  # the build is resumed; its guest may run already
        except Exception as error:
            LOG.exception("%s: attempt %d on %s failed unexpectedly", uuid, entry.attempt, host)
            with contextlib.suppress(Exception):
                driver.destroy(uuid)
            self._note_failure(entry, error)
        else:
            self._note_success(entry, guest)

    def _clean(self, entry: Entry, driver: ComputeDriver) -> bool:
        """Remove the remains of a build; False if that has to be tried again.

        Until then the build keeps its claims, here and in placement: the room is not free.
        """
        host, uuid = entry.host, entry.instance_uuid
        try:
            driver.destroy(uuid)
        except exception.OperationFailed as error:
            LOG.warning("%s: what is left of its build cannot be removed yet: %s", uuid, error)
            return False
        return self._env.journal.note_clean(host, uuid, entry.attempt)

    def _is_wanted(self, context: RequestContext, entry: Entry) -> bool:
        """Return whether to continue a build; destroy what is left of an obsolete one."""
        host, uuid, attempt = entry.host, entry.instance_uuid, entry.attempt
        try:
            if self._thoughts.is_build_wanted(context, entry):
                return True
        except OUT_OF_REACH as error:
            LOG.info("%s: attempt %d waits for the conductor: %s", uuid, attempt, error)
            return False
        if self._renewed(context, entry):
            return False
        LOG.info("%s: attempt %d on %s is obsolete", uuid, attempt, host)
        if self._env.journal.begin_forget(host, uuid, attempt):
            self.destroy(host, uuid)
        return False

    def _renewed(self, context: RequestContext, entry: Entry) -> bool:
        """Renew the entry of a build that has long succeeded, and return whether it has.

        The journal then comes from a copy that was made while it was being built.
        """
        expected = self._thoughts.find_built(context, entry)
        if expected is None:
            return False
        guests = self._env.drivers[entry.host].list_guests()
        guest = next((g for g in guests if g.instance_uuid == entry.instance_uuid), None)
        LOG.warning("%s: was built on %s before; its entry is renewed", expected.uuid, entry.host)
        self._env.journal.renew(
            expected,
            has_ended=guest is None or guest.is_off,
            exit_code=None if guest is None else guest.exit_code,
            place=None if guest is None else guest.place,
        )
        self._changed(entry.host)
        return True

    def destroy(self, host: str, uuid: str) -> None:
        """Destroy an instance that is being deleted, or the remains of an obsolete attempt."""
        entry = self._env.journal.find(host, uuid)
        if entry is None or entry.state is not State.DELETING:
            return
        self._env.drivers[host].destroy(uuid)
        self._env.journal.finish_delete(host, uuid)
        LOG.info("%s: deleted from %s", uuid, host)
        self._changed(host)

    def _note_success(self, entry: Entry, guest: GuestInfo) -> None:
        is_current = self._env.journal.finish_build(
            entry.host, entry.instance_uuid, entry.attempt,
            power_state=guest.power_state, exit_code=guest.exit_code,
        )  # fmt: skip
        if not is_current:
            LOG.info("%s: attempt %d was superseded", entry.instance_uuid, entry.attempt)
            return
        LOG.info("%s: attempt %d built on %s", entry.instance_uuid, entry.attempt, entry.host)
        self._changed(entry.host)

    def _note_failure(self, entry: Entry, error: Exception) -> None:
        fault = make_fault(entry.instance_uuid, entry.attempt, entry.host, error)
        is_current = self._env.journal.fail_build(
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
        """Fail the builds of a host that was removed from the configuration."""
        if entry.host not in self._unknown_hosts:
            self._unknown_hosts.add(entry.host)
            LOG.warning("The journal has entries of host %s, unknown to this agent", entry.host)
        if entry.state is State.BUILDING:
            self._note_failure(entry, not_carried(entry.instance_uuid, entry.host))

    def _changed(self, host: str) -> None:
        self._outbox.wake()
        self._on_change(host)


def not_carried(uuid: str, host: str) -> exception.ComputeResourcesUnavailable:
    """Return the error for a build on a host that this agent does not manage."""
    return exception.ComputeResourcesUnavailable(
        instance_uuid=uuid, host=host, reason="the agent does not manage this host"
    )


def is_hosts_fault(error: Exception) -> bool:
    """Return whether a failure counts against the host, so that schedulers should avoid it."""
    others = exception.BuildAborted | exception.GroupPolicyViolation | exception.ImageUnsupported
    return not isinstance(error, others)


def make_fault(uuid: str, attempt: int, host: str, error: Exception) -> InstanceFault:
    """Return the fault record of a failed attempt; its details are for administrators."""
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
