"""Transitions of a build attempt, each inside one transaction with its rows locked.

The rows are the instance's and its build's. Nothing here does I/O other than the database: the
build's stage says what to do next.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from armillary import exception, service_metrics
from conductor.common.cell_db import actions, builds, faults, host_seq, instances, models
from conductor.common.cell_db.builds import Stage
from objects.fence import Fence
from objects.instance_fault import InstanceFault
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


def start(
    session: Session, instance: models.Instance, build: models.InstanceBuild, *, now: datetime
) -> None:
    """Record that an alternate was claimed; its agent has to build next."""
    build.stage = Stage.BUILD
    build.tries = 0
    actions.start_event(
        session, instance.uuid, actions.CREATE, actions.BUILD_EVENT,
        host=instance.host, attempt=build.attempt, now=now,
    )  # fmt: skip


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
    for power_state in {state for *_, state in built}:
        rows = [instance for instance, _build, state in built if state == power_state]
        running = {"vm_state": "active", "task_state": None, "power_state": power_state}
        instances.set_all(session, rows, {**running, "launched_at": now, "updated_at": now})
    builds.delete_all(session, [build for _instance, build, _state in built])


def fail(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    fault: InstanceFault,
    *,
    retry: bool,
    attempts_max: int,
    now: datetime,
) -> None:
    """Record a failed attempt; continue with the next alternate, or end the build."""
    faults.record(
        session,
        fault.with_values(instance_uuid=instance.uuid, attempt=build.attempt, host=instance.host),
        now=now,
    )
    details = fault.details or fault.message
    _finish_event(session, instance, build, actions.ERROR, details, now)
    if not retry:
        _unplace(session, instance, build, Stage.ABORTED, now=now)
    elif build.attempt >= attempts_max:
        _unplace(session, instance, build, Stage.EXHAUSTED, now=now)
    else:
        _try_next(session, instance, build, attempt=build.attempt + 1, now=now)


def refuse(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    reason: str,
    *,
    now: datetime,
) -> None:
    """Record that placement refused an alternate.

    This does not count as an attempt; the next alternate takes its place.
    """
    actions.finish_event(
        session, instance.uuid, actions.CREATE, actions.CLAIM_EVENT, host=instance.host,
        attempt=build.attempt, result=actions.ERROR, details=reason, now=now,
    )  # fmt: skip
    _try_next(session, instance, build, attempt=build.attempt, now=now)


def give_up(
    session: Session, instance: models.Instance, build: models.InstanceBuild, *, now: datetime
) -> None:
    """End a failed build after its allocation was released: ERROR, with a reason."""
    if build.stage == Stage.EXHAUSTED:
        faults.record(session, _exhausted(session, instance), now=now)
    actions.finish(session, instance.uuid, actions.CREATE, message=actions.FAILED, now=now)
    instance.vm_state = "error"
    instance.task_state = None
    instance.power_state = None
    instance.updated_at = now
    session.delete(build)


def end_by_delete(
    session: Session, instance: models.Instance, build: models.InstanceBuild, *, now: datetime
) -> None:
    """End a build because the instance is being deleted."""
    details = "the server was deleted while it was being built"
    if build.stage == Stage.BUILD:
        _finish_event(session, instance, build, actions.ERROR, details, now)
    actions.finish(session, instance.uuid, actions.CREATE, message=actions.FAILED, now=now)
    session.delete(build)


def _try_next(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    *,
    attempt: int,
    now: datetime,
) -> None:
    if build.position + 1 >= len(build.selections):
        _unplace(session, instance, build, Stage.EXHAUSTED, now=now)
        return
    service_metrics.alternate_tried("claim_refused" if attempt == build.attempt else "build_failed")
    build.position += 1
    chosen = selection(build)
    former = instance.host
    build.stage = Stage.CLAIM
    build.tries = 0
    build.attempt = instance.attempt = attempt
    instance.host, instance.node = chosen.service_host, chosen.nodename
    instance.availability_zone = chosen.availability_zone or instance.availability_zone
    instance.updated_at = now
    host_seq.touch_hosts(session, [former, instance.host])


def _unplace(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    stage: str,
    *,
    now: datetime,
) -> None:
    former = instance.host
    if build.stage == Stage.CLAIM:  # the attempt never started, so it does not count
        build.attempt = instance.attempt = build.attempt - 1
    build.stage = stage
    build.tries = 0
    instance.host = instance.node = None
    instance.updated_at = now
    host_seq.touch_hosts(session, [former])


def _finish_event(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    result: str,
    details: str | None,
    now: datetime,
) -> None:
    actions.finish_event(
        session, instance.uuid, actions.CREATE, actions.BUILD_EVENT, host=instance.host,
        attempt=build.attempt, result=result, details=details, now=now,
    )  # fmt: skip


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
    error = exception.MaxRetriesExceeded(reason=f"{count} failed; no alternate host is left.")
    return InstanceFault.from_values(
        instance_uuid=instance.uuid,
        attempt=0,
        code=500,
        message=error.message,
        details="; ".join(tried + refused),
    )
