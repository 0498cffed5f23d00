"""Members of an affinity group that look for their host at the same time, each in its request.

Zones below know a host for such a group once a member is there, and else offer none to a group that
has members elsewhere. So the first request goes as if the others were not there, and these wait, if
there is no host for them, until it is known where the first one is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.api_db import models
from conductor.api_db.reservations import Reservation
from conductor.api_db.zone_walks import WalkState
from conductor.moments import moment
from conductor.tasks.base import Parts
from objects.decision_trace import DecisionTrace
from objects.instance_group import AFFINITY, InstanceGroup
from objects.request_spec import RequestSpec


@dataclasses.dataclass(frozen=True)
class Companions:
    """Other members whose host is not known: those to be waited for, and those that may wait."""

    ahead: list[str]
    behind: list[str]


class Waits(Exception):
    """There is no host yet: look again soon. ``str`` says for what."""


def leave_out_those_behind(session: Session, group: InstanceGroup, reservation_id: str) -> None:
    """Have a group tell only of members that are somewhere, or come before this request."""
    if group.policy == AFFINITY:
        behind = set(_find(session, group.members, reservation_id).behind)
        group.members = [uuid for uuid in group.members if uuid not in behind]


def reason_to_give_up(
    parts: Parts,
    reservation: Reservation,
    spec: RequestSpec,
    trace: DecisionTrace | None,
    reason: str,
) -> str:
    """Return why a request that found no host ends. Raises ``Waits`` while it need not.

    It waits no longer than a zone is asked what became of an attempt: after that the place of
    whoever is on its way there is as good as known.
    """
    group = spec.instance_group
    if group is None or group.policy != AFFINITY or group.hosts:
        return reason
    if trace is None or not trace.zones:
        return reason
    with parts.database.reader() as session:
        ahead = _find(session, group.members, reservation.reservation_id).ahead
    if not ahead:
        return reason
    limit = timedelta(seconds=parts.conf.zones.reconcile_timeout_seconds)
    if moment(parts.now()) < reservation.accepted_at + limit:
        raise Waits(f"{reason} Its server group's policy is affinity: it waits for {ahead[0]}.")
    return (
        f"{reason} For {limit.total_seconds():.0f} s it waited for other members of its server "
        f"group, whose policy is affinity: {ahead[0]} is still on its way to a host."
    )


def _find(session: Session, members: Sequence[str], reservation_id: str) -> Companions:
    """Sort the members of other requests; who has a host is none of them.

    Nor is who was deleted: that one is no member any more.
    """
    request, walk, chosen = models.BuildRequest, models.ZoneWalk, models.BuildSelection
    rows = session.execute(
        sa.select(request.instance_uuid, request.reservation_id, request.created_at, walk.state)
        .outerjoin(walk, walk.instance_uuid == request.instance_uuid)
        .outerjoin(chosen, chosen.instance_uuid == request.instance_uuid)
        .where(
            request.instance_uuid.in_(members),
            chosen.instance_uuid.is_(None),
        )
        .order_by(request.created_at, request.reservation_id, request.instance_uuid)
    ).all()
    own = [row.created_at for row in rows if row.reservation_id == reservation_id]
    found = Companions([], [])
    for row in rows:
        if row.reservation_id == reservation_id or row.state == WalkState.UNKNOWN:
            continue
        place = row.created_at, row.reservation_id
        is_ahead = row.state is not None or not own or place < (own[0], reservation_id)
        (found.ahead if is_ahead else found.behind).append(row.instance_uuid)
    return found
