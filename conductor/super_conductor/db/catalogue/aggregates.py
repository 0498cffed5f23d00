"""Queries on aggregates: sets of hosts that place each host in at most one availability zone.

Every change locks the ``metadata_seq`` row first. Changes are therefore serialised, and two of them
cannot put a host into two zones.
"""

import uuid
from collections.abc import Collection, Iterable
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import metadata_seq, models
from conductor.super_conductor.db.statements import delete, raise_if_duplicate
from objects.aggregate import AVAILABILITY_ZONE_KEY, Aggregate, AggregateChanges


def create_aggregate(
    session: Session,
    name: str,
    availability_zone: str | None,
    *,
    now: datetime,
    aggregate_uuid: str | None = None,
) -> Aggregate:
    """Store an empty aggregate. Raises AggregateExists, Invalid."""
    metadata_seq.increment_seq(session)
    metadata = {} if availability_zone is None else {AVAILABILITY_ZONE_KEY: availability_zone}
    _check_name(name)
    _check_metadata(metadata)
    _check_name_is_free(session, name)
    row = models.Aggregate(
        uuid=aggregate_uuid or str(uuid.uuid4()), name=name, metadata_=metadata, created_at=now,
        updated_at=None,
    )  # fmt: skip
    with raise_if_duplicate(session, exception.AggregateExists(name=name)):
        session.add(row)
    return _to_object(row, [])


def list_aggregates(session: Session) -> list[Aggregate]:
    """Return all aggregates ordered by id."""
    hosts: dict[int, list[str]] = {}
    for aggregate_id, host in session.execute(
        sa.select(models.AggregateHost.aggregate_id, models.AggregateHost.host).order_by(
            models.AggregateHost.host
        )
    ):
        hosts.setdefault(aggregate_id, []).append(host)
    rows = session.scalars(sa.select(models.Aggregate).order_by(models.Aggregate.id))
    return [_to_object(row, hosts.get(row.id, [])) for row in rows]


def list_aggregates_of(session: Session, host: str) -> list[Aggregate]:
    """Return the aggregates of a host ordered by id; of their hosts they name this one alone."""
    member, row = models.AggregateHost, models.Aggregate
    query = sa.select(row).join(member, member.aggregate_id == row.id).where(member.host == host)
    return [_to_object(each, [host]) for each in session.scalars(query.order_by(row.id))]


def names_by_uuid(session: Session) -> dict[str, str]:
    """Return UUID -> name of all aggregates."""
    rows = session.execute(sa.select(models.Aggregate.uuid, models.Aggregate.name))
    return {row.uuid: row.name for row in rows}


def get_aggregate(session: Session, aggregate: str) -> Aggregate:
    """Find by id or UUID (as text). Raises AggregateNotFound."""
    row = _get_row(session, aggregate)
    return _to_object(row, _hosts_of(session, row))


def update_aggregate(
    session: Session, aggregate: str, changes: AggregateChanges, *, now: datetime
) -> Aggregate:
    """Change an aggregate. Raises AggregateNotFound, AggregateExists, HostInOtherZone, Invalid."""
    metadata_seq.increment_seq(session)
    row = _get_row(session, aggregate)
    if changes.name is not None and changes.name != row.name:
        _check_name(changes.name)
        _check_name_is_free(session, changes.name)
        row.name = changes.name
    if changes.metadata is not None:
        _set_metadata(session, row, changes.metadata)
    row.updated_at = now
    with raise_if_duplicate(session, exception.AggregateExists(name=row.name)):
        return _to_object(row, _hosts_of(session, row))


def delete_aggregate(session: Session, aggregate: str) -> Aggregate:
    """Delete an empty aggregate and return it. Raises AggregateNotFound, AggregateInUse."""
    metadata_seq.increment_seq(session)
    row = _get_row(session, aggregate)
    hosts = _hosts_of(session, row)
    if hosts:
        raise exception.AggregateInUse(aggregate=row.name, hosts=_some(hosts))
    session.delete(row)
    session.flush()
    return _to_object(row, [])


def add_host(session: Session, aggregate: str, host: str, *, now: datetime) -> Aggregate:
    """Add a host. Raises AggregateNotFound, HostNotFound, AggregateHostExists, HostInOtherZone."""
    metadata_seq.increment_seq(session)
    row = _get_row(session, aggregate)
    if session.get(models.HostMapping, host) is None:
        raise exception.HostNotFound(host=host)
    if session.get(models.AggregateHost, (row.id, host)) is not None:
        raise exception.AggregateHostExists(aggregate=row.name, host=host)
    _check_zone(session, row, row.metadata_.get(AVAILABILITY_ZONE_KEY), [host])
    session.add(models.AggregateHost(aggregate_id=row.id, host=host))
    row.updated_at = now
    session.flush()
    return _to_object(row, _hosts_of(session, row))


def remove_host(session: Session, aggregate: str, host: str, *, now: datetime) -> Aggregate:
    """Remove a host. Raises AggregateNotFound, AggregateHostNotFound."""
    metadata_seq.increment_seq(session)
    row = _get_row(session, aggregate)
    member = session.get(models.AggregateHost, (row.id, host))
    if member is None:
        raise exception.AggregateHostNotFound(aggregate=row.name, host=host)
    session.delete(member)
    row.updated_at = now
    session.flush()
    return _to_object(row, _hosts_of(session, row))


def remove_host_everywhere(session: Session, host: str) -> None:
    """Remove a deleted host from all aggregates."""
    metadata_seq.increment_seq(session)
    delete(session, models.AggregateHost, models.AggregateHost.host == host)


def zones_of_hosts(session: Session) -> dict[str, str]:
    """Return host -> availability zone, for hosts that an aggregate places in one."""
    return {
        host: aggregate.availability_zone
        for aggregate in list_aggregates(session)
        if aggregate.availability_zone is not None
        for host in aggregate.hosts
    }


def zones_of(session: Session, hosts: Collection[str]) -> dict[str, str]:
    """Return host -> availability zone for those of these hosts that an aggregate places in one."""
    query = sa.select(models.AggregateHost.host, models.Aggregate.metadata_).where(
        models.AggregateHost.aggregate_id == models.Aggregate.id,
        models.AggregateHost.host.in_(hosts),
    )
    return {
        host: metadata[AVAILABILITY_ZONE_KEY]
        for host, metadata in session.execute(query)
        if AVAILABILITY_ZONE_KEY in metadata
    }


def zone_names(session: Session) -> set[str]:
    """Return the availability zones named by aggregates."""
    found = session.scalars(sa.select(models.Aggregate.metadata_))
    return {
        metadata[AVAILABILITY_ZONE_KEY] for metadata in found if AVAILABILITY_ZONE_KEY in metadata
    }


def _set_metadata(session: Session, row: models.Aggregate, changes: dict[str, str | None]) -> None:
    changed = {**row.metadata_, **changes}
    metadata = {key: value for key, value in changed.items() if value is not None}
    _check_metadata(metadata)
    zone = metadata.get(AVAILABILITY_ZONE_KEY)
    if zone != row.metadata_.get(AVAILABILITY_ZONE_KEY):
        _check_zone(session, row, zone, _hosts_of(session, row))
    row.metadata_ = metadata


def _check_zone(
    session: Session, row: models.Aggregate, zone: str | None, hosts: Iterable[str]
) -> None:
    if zone is None:
        return
    others = sa.select(models.AggregateHost.host, models.Aggregate.metadata_).where(
        models.AggregateHost.aggregate_id == models.Aggregate.id,
        models.Aggregate.id != row.id,
        models.AggregateHost.host.in_(list(hosts)),
    )
    for host, metadata in session.execute(others):
        if metadata.get(AVAILABILITY_ZONE_KEY, zone) != zone:
            raise exception.HostInOtherZone(host=host, zone=metadata[AVAILABILITY_ZONE_KEY])


def _check_name(name: str) -> None:
    if not name.strip() or len(name) > models.NAME_LENGTH:
        raise exception.Invalid(
            reason=f"the name of an aggregate must have 1 to {models.NAME_LENGTH} characters"
        )


def _check_metadata(metadata: dict[str, str]) -> None:
    zone = metadata.get(AVAILABILITY_ZONE_KEY)
    if zone is not None and (not zone.strip() or ":" in zone or len(zone) > models.NAME_LENGTH):
        raise exception.Invalid(
            reason="the name of an availability zone must have 1 to "
            f"{models.NAME_LENGTH} characters and no colon, not {zone!r}"
        )


def _check_name_is_free(session: Session, name: str) -> None:
    taken = sa.select(models.Aggregate.id).where(models.Aggregate.name == name)
    if session.scalars(taken).first() is not None:
        raise exception.AggregateExists(name=name)


def _get_row(session: Session, aggregate: str) -> models.Aggregate:
    query = sa.select(models.Aggregate)
    if aggregate.isdecimal() and len(aggregate) < 10:
        query = query.where(models.Aggregate.id == int(aggregate))
    else:
        query = query.where(models.Aggregate.uuid == aggregate)
    row = session.scalars(query).one_or_none()
    if row is None:
        raise exception.AggregateNotFound(aggregate=aggregate)
    return row


def _hosts_of(session: Session, row: models.Aggregate) -> list[str]:
    query = sa.select(models.AggregateHost.host).where(models.AggregateHost.aggregate_id == row.id)
    return sorted(session.scalars(query))


def _some(hosts: list[str], count_max: int = 10) -> str:
    more = f" and {len(hosts) - count_max} more" if len(hosts) > count_max else ""
    return ", ".join(hosts[:count_max]) + more


def _to_object(row: models.Aggregate, hosts: list[str]) -> Aggregate:
    return Aggregate.from_values(
        id=row.id, uuid=row.uuid, name=row.name, hosts=hosts, metadata=row.metadata_,
        created_at=row.created_at, updated_at=row.updated_at,
    )  # fmt: skip
