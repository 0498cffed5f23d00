"""What becomes of an attempt: each change of a build, inside one transaction, rows locked.

The rows are the instance's and its build's. No function here talks to anybody: what has to be done
next is the build's stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from armillary import exception, measures
from conductor.cell_db import actions, builds, faults, host_seq, instances, models
from conductor.cell_db.builds import Stage
from objects.instance_fault import InstanceFault
from objects.selection import Selection


def selection(build: models.InstanceBuild) -> Selection:
    """Return the host of the current attempt."""
    return Selection.obj_from_primitive(build.selections[build.position])


def selections_so_far(build: models.InstanceBuild) -> list[Selection]:
    """Return the hosts that were tried, with the current attempt's at the end."""
    return [
        Selection.obj_from_primitive(primitive)
        for primitive in build.selections[: build.position + 1]
    ]


def claim_fence(build: models.InstanceBuild) -> int:
    """Return the fence of the present claim.

    It grows with every alternate that is tried, also with one that was refused: a claim for the
    former that arrives late must not replace the latter.
    """
    return build.fence + build.position


def start(
    session: Session, instance: models.Instance, build: models.InstanceBuild, *, now: datetime
) -> None:
    """Note that an alternate was claimed: now its agent has to build."""
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
    """End builds (instance, build, power state): they run."""
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
    """Note that an attempt failed on its host; the next alternate is next, or the end."""
    faults.record(
        session,
        fault.with_values(instance_uuid=instance.uuid, attempt=build.attempt, host=instance.host),
        now=now,
    )
    details = fault.details or fault.message
    _finish_event(session, instance, build, actions.ERROR, details, now)
    if not retry:
        _leave_host(session, instance, build, Stage.ABORTED, now=now)
    elif build.attempt >= attempts_max:
        _leave_host(session, instance, build, Stage.EXHAUSTED, now=now)
    else:
        _go_on(session, instance, build, attempt=build.attempt + 1, now=now)


def refuse(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    reason: str,
    *,
    now: datetime,
) -> None:
    """Note that placement refused an alternate: not an attempt; the next one takes its place."""
    actions.finish_event(
        session, instance.uuid, actions.CREATE, actions.CLAIM_EVENT, host=instance.host,
        attempt=build.attempt, result=actions.ERROR, details=reason, now=now,
    )  # fmt: skip
    _go_on(session, instance, build, attempt=build.attempt, now=now)


def give_up(
    session: Session, instance: models.Instance, build: models.InstanceBuild, *, now: datetime
) -> None:
    """End a build that failed, after its allocation was released: ERROR, with a reason."""
    if build.stage == Stage.EXHAUSTED:
        faults.record(session, _exhausted(session, instance), now=now)
    actions.finish(session, instance.uuid, actions.CREATE, message=actions.FAILED, now=now)
    instance.vm_state = "error"
    instance.task_state = None
    instance.power_state = None
    instance.updated_at = now
    session.delete(build)


def cut_short(
    session: Session, instance: models.Instance, build: models.InstanceBuild, *, now: datetime
) -> None:
    """End a build because the instance is being deleted."""
    details = "the server was deleted while it was being built"
    if build.stage == Stage.BUILD:
        _finish_event(session, instance, build, actions.ERROR, details, now)
    actions.finish(session, instance.uuid, actions.CREATE, message=actions.FAILED, now=now)
    session.delete(build)


def _go_on(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    *,
    attempt: int,
    now: datetime,
) -> None:
    if build.position + 1 >= len(build.selections):
        _leave_host(session, instance, build, Stage.EXHAUSTED, now=now)
        return
    measures.alternate_tried("claim_refused" if attempt == build.attempt else "build_failed")
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


def _leave_host(
    session: Session,
    instance: models.Instance,
    build: models.InstanceBuild,
    stage: str,
    *,
    now: datetime,
) -> None:
    former = instance.host
    if build.stage == Stage.CLAIM:  # an attempt that never began is none
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
        f"{event.host} could not be claimed: {event.details}"
        for action in actions.list_of(session, instance.uuid)
        for event in action.events
        if event.event == actions.CLAIM_EVENT
    ]
    count = "1 attempt" if len(failed) == 1 else f"{len(failed)} attempts"
    error = exception.MaxRetriesExceeded(reason=f"{count} failed, no further host is left.")
    return InstanceFault.from_values(
        instance_uuid=instance.uuid,
        attempt=0,
        code=500,
        message=error.message,
        details="; ".join(tried + refused),
    )
