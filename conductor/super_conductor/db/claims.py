"""Queries on claims: accepted, held and ending ones."""

import dataclasses
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.common.leases import Lease
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete, update
from objects.claims.resource_claim import ClaimExplanation, ClaimState, NewClaim, ResourceClaim
from objects.traces.decision_trace import PlainTrace

COUNT = "claims"
"""Name of the quota of the number of claims."""
_AT_ONCE = 0.0
_ENDED = ""
"""Kind of a record whose claim was ended before it arrived."""

_IN_COLUMNS = ("uuid", "kind", "server_uuid", "ends_at")
_row = models.Claim


@dataclasses.dataclass(frozen=True)
class ClaimWork:
    """A claim with what is needed to work on it.

    ``reasons`` has the reasons of zones that cannot serve it. ``entries`` are the pools of
    the zones that have not been asked yet, best first, each as ``path:pool``.
    """

    claim: ResourceClaim
    context: RequestContext
    takes: int
    reasons: str | None = None
    entries: list[str] = dataclasses.field(default_factory=list)


def add(
    session: Session, asked: NewClaim, context: RequestContext, lease: Lease, *, now: datetime
) -> None:
    """Store an accepted claim under a lease."""
    rest = dataclasses.asdict(asked)
    columns = {name: rest.pop(name) for name in _IN_COLUMNS}
    session.add(
        models.Claim(
            **columns, asked=rest, project_id=context.project_id, user_id=context.user_id,
            state=ClaimState.PENDING, alternates=[], context=context, takes=1, created_at=now,
            **lease.columns,
        )
    )  # fmt: skip
    session.flush()


def add_ended(
    session: Session, uuid: str, context: RequestContext, *, now: datetime, free_at: float
) -> None:
    """Store the end of a claim that may still be asked for; it is removed after ``free_at``."""
    session.add(
        models.Claim(
            uuid=uuid, project_id=context.project_id or "", user_id=context.user_id or "",
            kind=_ENDED, state=ClaimState.DELETING,
            asked={
                "resources": {}, "is_delegated": True, "parent_zone": context.parent_zone or "",
            },
            alternates=[], context=context, takes=0, created_at=now, lease_expires_at=free_at,
        )
    )  # fmt: skip
    session.flush()


def set_zone(
    session: Session,
    lease: Lease,
    zone: str,
    *,
    entries: Sequence[str],
    reasons: str | None,
    trace: PlainTrace | None,
) -> bool:
    """Store which zone is asked for a pending claim, what is left, and why the last ones cannot.

    A trace of None keeps the stored one. Returns False if the end of the claim was accepted
    meanwhile, or the lease was lost.
    """
    told = {} if trace is None else {"trace": trace}
    return update(
        session, models.Claim,
        _row.uuid == lease.key, _row.lease_owner == lease.owner, _row.state == ClaimState.PENDING,
        zone=zone, alternates=list(entries), fault=reasons, **told,
    )  # fmt: skip


def find(session: Session, lease: Lease) -> ClaimWork | None:
    """Return the claim of a lease; None if it has ended, or the lease was lost.

    Without this check, a conductor that lost the lease would claim with the present owner's fence.
    """
    row = session.get(models.Claim, lease.key, populate_existing=True)
    if row is None or row.lease_owner != lease.owner:
        return None
    entries = list(row.alternates) if row.state == ClaimState.PENDING else []
    return ClaimWork(_claim(row), row.context, row.takes, row.fault, entries)


def get(session: Session, uuid: str, project_id: str | None) -> ResourceClaim:
    """Return a claim of a project, or of any project. Raises ClaimNotFound."""
    return _claim(_get_row(session, uuid, project_id))


def explain(session: Session, uuid: str, project_id: str | None) -> ClaimExplanation:
    """Return a claim with the trace of its decision. Raises ClaimNotFound."""
    row = _get_row(session, uuid, project_id)
    return ClaimExplanation(_claim(row), row.trace)


def list_claims(
    session: Session,
    *,
    project_id: str | None,
    server_uuid: str | None,
    kind: str | None,
    pool: str | None,
    limit: int,
    marker: str | None,
) -> list[ResourceClaim]:
    """Return the claims of a project, or of all, newest first; perhaps of one server, kind or pool.

    Only those after ``marker``. Raises ClaimNotFound unless that is a claim of the project.
    """
    wanted = {"project_id": project_id, "server_uuid": server_uuid, "kind": kind}
    query = sa.select(_row).where(_row.kind != _ENDED)
    query = query.order_by(_row.created_at.desc(), _row.uuid)
    for name, value in wanted.items():
        if value is not None:
            query = query.where(getattr(_row, name) == value)
    if pool is not None:
        query = query.where(sa.or_(_row.pool_name == pool, _row.pool_uuid == pool))
    if marker is not None:
        last = _get_row(session, marker, project_id)
        is_later = sa.and_(_row.created_at == last.created_at, _row.uuid > last.uuid)
        query = query.where(sa.or_(_row.created_at < last.created_at, is_later))
    return [_claim(row) for row in session.scalars(query.limit(limit))]


def settle(
    session: Session,
    /,
    lease: Lease,
    *,
    free_at: float,
    now: datetime,
    trace: PlainTrace | None,
    **values: Any,
) -> bool:
    """Store the outcome of a pending claim, and release its lease until ``free_at``.

    A trace of None keeps the stored one. Returns False, and changes nothing, if its end was
    accepted meanwhile, or the lease was lost.
    """
    told = {} if trace is None else {"trace": trace}
    return update(
        session, models.Claim,
        _row.uuid == lease.key, _row.lease_owner == lease.owner, _row.state == ClaimState.PENDING,
        lease_owner=None, lease_expires_at=free_at, updated_at=now, **told, **values,
    )  # fmt: skip


def end(session: Session, uuids: Collection[str], *, now: datetime) -> None:
    """Accept the end of claims: those without a lease are free immediately."""
    _end(session, _row.uuid.in_(uuids), now)


def end_of_servers(session: Session, server_uuids: Collection[str], *, now: datetime) -> None:
    """Accept the end of the claims that belong to servers."""
    _end(session, _row.server_uuid.in_(server_uuids), now)


def remove(session: Session, lease: Lease) -> None:
    """Delete a claim whose resources are released."""
    delete(session, models.Claim, _row.uuid == lease.key, _row.lease_owner == lease.owner)


def known(session: Session, uuids: Iterable[str]) -> set[str]:
    """Return those of these claims that exist."""
    return set(session.scalars(sa.select(_row.uuid).where(_row.uuid.in_(list(uuids)))))


def amount_of(resource_class: str) -> str:
    """Return the name of the quota of the amount of a resource class."""
    return f"{COUNT}:{resource_class}"


def is_quota(name: str) -> bool:
    """Return whether a quota is one of claims."""
    return name == COUNT or name.startswith(amount_of(""))


def count(session: Session, project_id: str) -> int:
    """Return the number of a project's claims, without those made for a parent zone."""
    return usage(session, project_id)[COUNT]


def usage(session: Session, project_id: str) -> Mapping[str, int]:
    """Return a project's usage by the names of its quotas.

    Claims in ERROR count, but hold no amounts. Those made for a parent zone count there.
    """
    rows = session.execute(sa.select(_row.state, _row.asked).where(_row.project_id == project_id))
    used: Counter[str] = Counter({COUNT: 0})
    for state, asked in rows:
        if asked.get("is_delegated"):
            continue
        used[COUNT] += 1
        if state != ClaimState.ERROR:
            used.update({amount_of(name): n for name, n in asked["resources"].items()})
    return used


def _end(session: Session, which: sa.ColumnElement[bool], now: datetime) -> None:
    is_new = _row.state != ClaimState.DELETING
    free = {"state": ClaimState.DELETING, "updated_at": now, "lease_expires_at": _AT_ONCE}
    update(session, models.Claim, which, is_new, _row.lease_owner.is_(None), **free)
    update(session, models.Claim, which, is_new, state=ClaimState.DELETING, updated_at=now)


def _get_row(session: Session, uuid: str, project_id: str | None) -> models.Claim:
    row = session.get(models.Claim, uuid)
    if row is None or project_id not in (None, row.project_id):
        raise exception.ClaimNotFound(claim=uuid)
    return row


def _claim(row: models.Claim) -> ResourceClaim:
    columns = {name: getattr(row, name) for name in _IN_COLUMNS}
    return ResourceClaim(
        asked=NewClaim(**columns, **row.asked),
        project_id=row.project_id, user_id=row.user_id, state=row.state,
        created_at=row.created_at, updated_at=row.updated_at,
        pool_uuid=row.pool_uuid, pool_name=row.pool_name, zone=row.zone,
        alternates=[] if row.pool_uuid is None else list(row.alternates),
        fault=row.fault if row.state == ClaimState.ERROR else None,
    )  # fmt: skip
