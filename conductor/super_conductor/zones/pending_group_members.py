"""Members of an affinity group that are scheduled at the same time by different requests.

A child zone offers hosts for such a group only if the members are on one of its own hosts or are
not placed yet. So the first request is scheduled as if the other members did not exist. The others
wait, if no host was found for them, until the host of the first one is known.
"""

import dataclasses
from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.clock import moment
from conductor.super_conductor.db import models
from conductor.super_conductor.db.reservations import Reservation
from conductor.super_conductor.db.zones.zone_walks import WalkState
from conductor.super_conductor.peers import Environment
from objects.instances.instance_group import AFFINITY, InstanceGroup
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import DecisionTrace


@dataclasses.dataclass(frozen=True)
class PendingMembers:
    """Pending members of other requests: only those ``ahead`` are waited for."""

    ahead: list[str]
    behind: list[str]


class MustWait(Exception):
    """No host was found yet: retry soon. ``str`` gives the reason."""


def remove_later_members(session: Session, group: InstanceGroup, reservation_id: str) -> None:
    """Remove group members that are not placed yet and come after this request."""
    if group.policy == AFFINITY:
        behind = set(_find(session, group.members, reservation_id).behind)
        group.members = [uuid for uuid in group.members if uuid not in behind]


def failure_reason(
    env: Environment,
    reservation: Reservation,
    spec: RequestSpec,
    trace: DecisionTrace | None,
    reason: str,
) -> str:
    """Return why a request that found no host fails.

    Raises ``MustWait`` while it should be retried.

    It waits at most ``[zones] reconcile_timeout_seconds``: as long as a zone is asked about the
    outcome of an attempt. After that the pending members are not waited for any longer.
    """
    group = spec.instance_group
    if group is None or group.policy != AFFINITY or group.hosts:
        return reason
    if trace is None or not trace.zones:
        return reason
    with env.database.reader() as session:
        ahead = _find(session, group.members, reservation.reservation_id).ahead
    if not ahead:
        return reason
    limit = timedelta(seconds=env.conf.zones.reconcile_timeout_seconds)
    if moment(env.now()) < reservation.accepted_at + limit:
        raise MustWait(f"{reason} Its server group's policy is affinity: waiting for {ahead[0]}.")
    return (
        f"{reason} Waited {limit.total_seconds():.0f} s for other members of its affinity "
        f"server group; {ahead[0]} still has no host."
    )


def _find(session: Session, members: Sequence[str], reservation_id: str) -> PendingMembers:
    """Return the members of other requests whose host is not known yet.

    Members with a host are left out, and so are deleted ones, which have left the group.
    """
    request, walk, chosen = models.BuildRequest, models.ZoneWalk, models.BuildSelection
    rows = session.execute(
        sa.select(request.instance_uuid, request.reservation_id, request.created_at, walk.state)
        .outerjoin(walk, walk.instance_uuid == request.instance_uuid)
        .outerjoin(chosen, chosen.instance_uuid == request.instance_uuid)
        .where(request.instance_uuid.in_(members), chosen.instance_uuid.is_(None))
        .order_by(request.created_at, request.reservation_id, request.instance_uuid)
    ).all()
    own = [row.created_at for row in rows if row.reservation_id == reservation_id]
    found = PendingMembers([], [])
    for row in rows:
        if row.reservation_id == reservation_id or row.state == WalkState.UNKNOWN:
            continue
        place = row.created_at, row.reservation_id
        is_ahead = row.state is not None or not own or place < (own[0], reservation_id)
        (found.ahead if is_ahead else found.behind).append(row.instance_uuid)
    return found
