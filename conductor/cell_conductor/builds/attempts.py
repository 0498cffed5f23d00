"""Transitions of a build attempt, each inside one transaction with its rows locked.

The rows are the instance's and its build's. Nothing here does I/O other than the database: the
build's stage says what to do next.
"""

import dataclasses
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from armillary import exception
from armillary.metrics import service_metrics
from conductor.common.cell_db import (
    actions,
    builds,
    faults,
    host_seq,
    instance_changes,
    instances,
    models,
)
from conductor.common.cell_db.builds import Stage
from objects.allocations.fence import Fence
from objects.instances.instance_fault import InstanceFault
from objects.selection import Selection


def selection(build: models.InstanceBuild) -> Selection:
    """Return the host of the current attempt."""
    return Selection.obj_from_primitive(build.selections[build.position])


def selections_so_far(build: models.InstanceBuild) -> list[Selection]:
    """Return the selections tried so far, the current attempt's last."""
    return [
        Selection.obj_from_primitive(primitive)
        for primitive in build.selections[: build.position + 1]
    ]


def claim_fence(build: models.InstanceBuild) -> int:
    """Return the fence of the current claim.

    It increases with every alternate, including refused ones: a late claim for an earlier
    alternate must not replace a later one.
    """
    return int(Fence.from_int(build.fence).after(build.position))


def succeed(
    session: Session,
    built: Sequence[tuple[models.Instance, models.InstanceBuild, str]],
    *,
    now: datetime,
) -> None:
    """End successful builds (instance, build, power state)."""
    if not built:
        return
    steps = [(instance.uuid, instance.host, build.attempt) for instance, build, _state in built]
    actions.finish_event_of_all(
        session, actions.CREATE, actions.BUILD_EVENT, steps, result=actions.SUCCESS, now=now
    )
    actions.finish_all(
        session, [uuid for uuid, _host, _attempt in steps], actions.CREATE, message=None, now=now
    )
    for instance, _build, _state in built:
        instance_changes.forget_password(instance)
    for power_state in {state for *_, state in built}:
        rows = [instance for instance, _build, state in built if state == power_state]
        running = {"vm_state": "active", "task_state": None, "power_state": power_state}
        instances.set_all(session, rows, {**running, "launched_at": now, "updated_at": now})
    builds.delete_all(session, [build for _instance, build, _state in built])


@dataclasses.dataclass(frozen=True, slots=True)
class Attempt:
    """The current attempt of a build; the session has locked its rows."""

    session: Session
    instance: models.Instance
    build: models.InstanceBuild
    now: datetime

    def start(self) -> None:
        """Record that an alternate was claimed; its agent has to build next."""
        self.build.stage = Stage.BUILD
        self.build.tries = 0
        actions.start_event(
            self.session, self.instance.uuid, actions.CREATE, actions.BUILD_EVENT,
            host=self.instance.host, attempt=self.build.attempt, now=self.now,
        )  # fmt: skip

    def fail(self, fault: InstanceFault, *, retry: bool, attempts_max: int) -> None:
        """Record a failed attempt; continue with the next alternate, or end the build."""
        build, instance = self.build, self.instance
        stored = fault.with_values(
            instance_uuid=instance.uuid, attempt=build.attempt, host=instance.host
        )
        faults.record(self.session, stored, now=self.now)
        self._finish_event(actions.BUILD_EVENT, fault.details or fault.message)
        if not retry:
            self._unplace(Stage.ABORTED)
        elif build.attempt >= attempts_max:
            self._unplace(Stage.EXHAUSTED)
        else:
            self._try_next(attempt=build.attempt + 1)

    def refuse(self, reason: str) -> None:
        """Record that placement refused an alternate.

        This does not count as an attempt; the next alternate takes its place.
        """
        self._finish_event(actions.CLAIM_EVENT, reason)
        self._try_next(attempt=self.build.attempt)

    def give_up(self) -> None:
        """End a failed build after its allocation was released: ERROR, with a reason."""
        instance = self.instance
        if self.build.stage == Stage.EXHAUSTED:
            faults.record(self.session, _exhausted(self.session, instance), now=self.now)
        self._finish_action()
        instance.vm_state = "error"
        instance.task_state = None
        instance.power_state = None
        instance.updated_at = self.now
        instance_changes.forget_password(instance)

    def end_by_delete(self) -> None:
        """End a build because the instance is being deleted."""
        if self.build.stage == Stage.BUILD:
            details = "the server was deleted while it was being built"
            self._finish_event(actions.BUILD_EVENT, details)
        self._finish_action()
        instance_changes.forget_password(self.instance)

    def _try_next(self, *, attempt: int) -> None:
        build, instance = self.build, self.instance
        if build.position + 1 >= len(build.selections):
            self._unplace(Stage.EXHAUSTED)
            return
        reason = "claim_refused" if attempt == build.attempt else "build_failed"
        service_metrics.ALTERNATES_TRIED.add(reason)
        build.position += 1
        chosen = selection(build)
        former = instance.host
        build.stage = Stage.CLAIM
        build.tries = 0
        build.attempt = instance.attempt = attempt
        instance.host, instance.node = chosen.service_host, chosen.nodename
        instance.availability_zone = chosen.availability_zone or instance.availability_zone
        instance.updated_at = self.now
        host_seq.touch_hosts(self.session, [former, instance.host])

    def _unplace(self, stage: str) -> None:
        build, instance = self.build, self.instance
        former = instance.host
        if build.stage == Stage.CLAIM:  # the attempt never started, so it does not count
            build.attempt = instance.attempt = build.attempt - 1
        build.stage = stage
        build.tries = 0
        instance.host = instance.node = None
        instance.updated_at = self.now
        host_seq.touch_hosts(self.session, [former])

    def _finish_event(self, event: str, details: str) -> None:
        actions.finish_event(
            self.session, self.instance.uuid, actions.CREATE, event, host=self.instance.host,
            attempt=self.build.attempt, result=actions.ERROR, details=details, now=self.now,
        )  # fmt: skip

    def _finish_action(self) -> None:
        uuid = self.instance.uuid
        actions.finish(self.session, uuid, actions.CREATE, message=actions.FAILED, now=self.now)
        self.session.delete(self.build)


def _exhausted(session: Session, instance: models.Instance) -> InstanceFault:
    failed = faults.list_of(session, instance.uuid)
    tried = [
        f"attempt {fault.attempt} on {fault.host}: {fault.details or fault.message}"
        for fault in failed
    ]
    refused = [
        f"claim on {event.host} failed: {event.details}"
        for action in actions.list_of(session, instance.uuid)
        for event in action.events
        if event.event == actions.CLAIM_EVENT
    ]
    count = "1 attempt" if len(failed) == 1 else f"{len(failed)} attempts"
    last = f" Last: {failed[-1].message}" if failed else ""
    reason = f"{count} failed; no alternate host is left.{last}"
    error = exception.MaxRetriesExceeded(reason=reason)
    return InstanceFault.from_values(
        instance_uuid=instance.uuid,
        attempt=0,
        code=500,
        message=error.message,
        details="; ".join(tried + refused),
    )
