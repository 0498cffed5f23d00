"""Queries on instances. Only those that return rows include deleted instances.

Times are aware datetimes. Functions run in the caller's transaction. A transaction that changes
what belongs to an instance locks the instance's row before any other row.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session
from sqlalchemy.orm.attributes import set_committed_value

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.cell_db import (
    actions,
    compute_nodes,
    faults,
    instance_filters,
    migrations,
    models,
    notify,
)
from conductor.common.cell_db.stored_object import StoredObject
from objects.hosts.host_answers import InstanceOnHost
from objects.instance import Instance
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ServerFilters

OFFLOAD_FAILED = "offload_failed"
"""Key of ``migration_payload``: the disk of a shelved server could not be stored as an image.

It stays on its host until its user requests the offload again.
"""

NAMES_OF_HOST_MAX = 1000
"""Maximum number of instances of one host in a list of names."""

_NOT_COLUMNS = frozenset(
    {
        "flavor", "image", "metadata", "settings", "cell_uuid", "fault", "zone", "host_ip",
        "addresses", "pinned_availability_zone", "scheduler_hints",
    }
)  # fmt: skip
"""Fields of the object that have no column, or are stored in another form."""

_IS_ALIVE = models.Instance.deleted_at.is_(None)

# Frequent queries, built once: building costs more than executing.
_ROWS = sa.select(models.Instance).where(
    models.Instance.uuid.in_(sa.bindparam("uuids", expanding=True))
)
_LIVING = _ROWS.where(_IS_ALIVE)
_LOCK = (
    _ROWS.order_by(models.Instance.uuid).with_for_update().execution_options(populate_existing=True)
)
_PLACED = (
    sa.select(models.Instance.host, models.Instance.uuid)
    .where(_IS_ALIVE, models.Instance.host.is_not(None))
    .order_by(models.Instance.uuid)
)
_PLACED_ON = _PLACED.where(models.Instance.host.in_(sa.bindparam("hosts", expanding=True)))


def insert(session: Session, instances: Sequence[Instance], *, now: datetime) -> list[str]:
    """Insert instances that do not exist yet, deleted or not, and return their UUIDs.

    One statement to look up and one to insert. ``created_at`` is kept (``now`` if it has none), in
    whole seconds as on the wire, so that all readers agree where a page of a list ends. Another
    transaction may insert one first: see ``Database.insert_in_writer``.
    """
    known = set(
        session.scalars(
            sa.select(models.Instance.uuid).where(
                models.Instance.uuid.in_([instance.uuid for instance in instances])
            )
        )
    )
    new = {instance.uuid: instance for instance in instances if instance.uuid not in known}
    if new:
        session.execute(sa.insert(models.Instance), [values_of(made, now) for made in new.values()])
    return list(new)


def insert_failed(
    session: Session,
    context: RequestContext,
    failed: Sequence[Instance],
    fault: InstanceFault,
    *,
    now: datetime,
) -> list[str]:
    """Insert instances that found no host: in ERROR, without a host, with the fault and an action.

    For cell0; a fixed number of statements. Returns the UUIDs of new instances; existing ones,
    deleted or not, are left alone, so the call is idempotent. ``fault`` may be about any instance;
    each gets a copy.
    """
    in_error = [
        instance.with_values(
            vm_state="error",
            task_state=None,
            power_state=None,
            host=None,
            node=None,
            settings=None if instance.settings is None else instance.settings.without_password(),
        )
        for instance in failed
    ]
    new = set(insert(session, in_error, now=now))
    made = [instance for instance in in_error if instance.uuid in new]
    if not made:
        return []
    faults.add(session, [fault.with_values(instance_uuid=uuid) for uuid in new], now=now)
    keys = actions.start(session, context, actions.CREATE, made, now=now)
    actions.start_events(
        session, actions.SCHEDULE_EVENT, [(key, None, 0) for key in keys.values()], now=now
    )
    actions.finish_events(
        session, list(keys.values()), actions.ERROR, details=fault.details, now=now
    )
    actions.finish_all(session, list(new), actions.CREATE, message=actions.FAILED, now=now)
    return [instance.uuid for instance in made]


def get(session: Session, instance_uuid: str, *, cell_uuid: str | None) -> Instance:
    """Return an existing instance with its latest fault. Raises InstanceNotFound."""
    found = list_by_uuids(session, [instance_uuid], cell_uuid=cell_uuid)
    if not found:
        raise exception.InstanceNotFound(instance_uuid=instance_uuid)
    return found[0]


def list_by_uuids(
    session: Session, instance_uuids: Collection[str], *, cell_uuid: str | None
) -> list[Instance]:
    """Return those of these instances that are not deleted, unordered."""
    found = session.scalars(_LIVING, {"uuids": [*instance_uuids]}).all()
    return _to_objects(session, found, cell_uuid)


def list_page(
    session: Session,
    *,
    filters: ServerFilters,
    limit: int,
    marker: InstanceMarker | None = None,
    cell_uuid: str | None,
) -> list[Instance]:
    """Return instances in the order of ``filters``, then newest first (created_at, UUID)."""
    query = instance_filters.page_of(filters, marker).limit(limit)
    found = _to_objects(session, session.scalars(query).all(), cell_uuid)
    for instance in found:
        if instance.settings is not None:
            instance.settings = instance.settings.without_files()
    return found


def list_on_hosts(
    session: Session, hosts: Collection[str], *, cell_uuid: str | None
) -> list[Instance]:
    """Return the instances, not deleted, whose current attempt is on one of these hosts."""
    query = sa.select(models.Instance).where(_IS_ALIVE, models.Instance.host.in_(hosts))
    return _to_objects(session, session.scalars(query).all(), cell_uuid)


def uuids_on_hosts(session: Session, hosts: Collection[str] | None = None) -> dict[str, list[str]]:
    """Return host -> sorted UUIDs of its instances, for these hosts or for all."""
    if hosts is None:
        rows = session.execute(_PLACED)
    else:
        rows = session.execute(_PLACED_ON, {"hosts": [*hosts]})
    found: dict[str, list[str]] = {}
    for host, uuid in rows:
        found.setdefault(str(host), []).append(uuid)
    return found


def names_on_hosts(session: Session, hosts: Collection[str]) -> list[InstanceOnHost]:
    """Return the instances on hosts, not deleted, newest first, at most 1000 of each host."""
    row = models.Instance
    query = sa.select(row.uuid, row.name, row.host, row.node).where(_IS_ALIVE, row.host.in_(hosts))
    query = query.order_by(row.created_at.desc(), row.uuid.desc())
    counts: Counter[str] = Counter()
    found = []
    for uuid, name, at, node in session.execute(query):
        host = str(at)
        counts[host] += 1
        if counts[host] <= NAMES_OF_HOST_MAX:
            found.append(InstanceOnHost(uuid, name, host, node))
    return found


def hosts_of(session: Session, instance_uuids: Collection[str]) -> dict[str, str]:
    """Return instance -> host for those that are not deleted and have one."""
    query = sa.select(models.Instance.uuid, models.Instance.host).where(
        _IS_ALIVE, models.Instance.host.is_not(None), models.Instance.uuid.in_(instance_uuids)
    )
    return {uuid: host for uuid, host in session.execute(query) if host is not None}


def hosts_of_group(session: Session, group_uuid: str) -> dict[str, str]:
    """Return instance -> host for the members of a server group that have a host."""
    query = sa.select(models.Instance.uuid, models.Instance.host).where(
        _IS_ALIVE, models.Instance.host.is_not(None), models.Instance.group_uuid == group_uuid
    )
    return {uuid: host for uuid, host in session.execute(query) if host is not None}


def find_rows(session: Session, instance_uuids: Collection[str]) -> dict[str, models.Instance]:
    """Return rows by UUID, including deleted ones, for reading."""
    return {row.uuid: row for row in session.scalars(_ROWS, {"uuids": [*instance_uuids]})}


def lock(session: Session, instance_uuid: str) -> models.Instance | None:
    """Lock and return the row, even of a deleted instance; None if unknown."""
    return lock_all(session, [instance_uuid]).get(instance_uuid)


def lock_all(session: Session, instance_uuids: Collection[str]) -> dict[str, models.Instance]:
    """Lock rows, including deleted ones, always in the same order; return them by UUID."""
    return {row.uuid: row for row in session.scalars(_LOCK, {"uuids": [*instance_uuids]})}


def set_all(session: Session, rows: Sequence[models.Instance], values: Mapping[str, Any]) -> None:
    """Set the same columns of locked rows, in one statement."""
    session.execute(
        sa.update(models.Instance)
        .where(models.Instance.uuid.in_([row.uuid for row in rows]))
        .values(values)
        .execution_options(synchronize_session=False)
    )
    for row in rows:
        was = row.vm_state, row.task_state
        for name, value in values.items():
            set_committed_value(row, name, value)
        if (row.vm_state, row.task_state) != was:
            notify.changed(session, row, old_state=was[0], old_task_state=was[1])


def delete(session: Session, instance_uuid: str, *, now: datetime) -> bool:
    """Mark an instance as deleted; False if it does not exist or already is."""
    return bool(delete_all(session, [instance_uuid], now=now))


def delete_all(session: Session, instance_uuids: Collection[str], *, now: datetime) -> int:
    """Mark instances as deleted, in one statement; return how many."""
    result: sa.CursorResult[Any] = session.execute(  # type: ignore[assignment]
        sa.update(models.Instance)
        .where(_IS_ALIVE, models.Instance.uuid.in_(instance_uuids))
        .values(vm_state="deleted", task_state=None, power_state=None,
                deleted_at=now, updated_at=now)
    )  # fmt: skip
    return result.rowcount


def purge(database: Database, *, deleted_before: datetime, batch_size: int = 500) -> int:
    """Purge instances deleted before a time with all their records; return how many.

    One transaction for each batch.
    """

    def purge_batch(session: Session) -> int:
        deleted = models.Instance.deleted_at < deleted_before
        query = sa.select(models.Instance.uuid).where(deleted).limit(batch_size)
        uuids = session.scalars(query).all()
        if uuids:
            remove(session, uuids)
        return len(uuids)

    total = 0
    while count := database.run_in_writer(purge_batch):
        total += count
    return total


def remove(session: Session, instance_uuids: Sequence[str]) -> None:
    """Delete the rows of these instances with their faults, actions and migrations."""
    faults.remove(session, instance_uuids)
    actions.remove(session, instance_uuids)
    migrations.remove(session, instance_uuids)
    session.execute(sa.delete(models.Instance).where(models.Instance.uuid.in_(instance_uuids)))


def to_object(
    row: models.Instance,
    *,
    cell_uuid: str | None,
    fault: InstanceFault | None = None,
    host_ip: str | None = None,
) -> Instance:
    values = {
        column: getattr(row, column) for column in Instance.fields if column not in _NOT_COLUMNS
    }
    return Instance.from_values(
        values,
        flavor=row.flavor.load(),
        image=None if row.image is None else row.image.load(),
        metadata=row.metadata_,
        settings=None if row.settings is None else row.settings.load(),
        cell_uuid=cell_uuid,
        fault=fault,
        addresses=row.addresses or [],
        host_ip=host_ip,
    )


def _to_objects(
    session: Session, rows: Sequence[models.Instance], cell_uuid: str | None
) -> list[Instance]:
    latest = faults.latest(session, [row.uuid for row in rows if _may_show_fault(row)])
    found = compute_nodes.host_ips(session, {row.host for row in rows if row.host is not None})
    return [
        to_object(
            row,
            cell_uuid=cell_uuid,
            fault=latest.get(row.uuid),
            host_ip=found.get((row.host, row.node)),
        )
        for row in rows
    ]


def _may_show_fault(row: models.Instance) -> bool:
    return row.vm_state == "error" or row.power_state in ("paused", "suspended", "crashed")


def values_of(instance: Instance, now: datetime) -> dict[str, Any]:
    """Return the columns of an instance's row that come from the object."""
    values = {
        column.key: getattr(instance, column.key)
        for column in sa.inspect(models.Instance).column_attrs
        if column.key in Instance.fields and column.key not in {"flavor", "image", "settings"}
    }
    return {
        **values,
        "flavor": StoredObject.of(instance.flavor),
        "image": None if instance.image is None else StoredObject.of(instance.image),
        "metadata_": instance.metadata,
        "settings": None if instance.settings is None else StoredObject.of(instance.settings),
        "created_at": (instance.created_at or now).replace(microsecond=0),
    }


def count_by_state(session: Session) -> dict[str, int]:
    """Return how many instances that are not deleted are in each state."""
    state = models.Instance.vm_state
    rows = session.execute(sa.select(state, sa.func.count()).where(_IS_ALIVE).group_by(state))
    return dict(row._tuple() for row in rows)
