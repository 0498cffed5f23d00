"""Queries on services. ``is_up`` is the state sent to schedulers; ``up`` is computed."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception, service_history
from conductor.common.cell_db import models
from conductor.common.clock import Clock, moment
from objects.hosts.agent_run import AgentRun
from objects.hosts.service import Service

COMPUTE = service_history.COMPUTE


class AsOf(NamedTuple):
    """When records are read, after how long without a heartbeat a service is down, and its cell."""

    now: datetime
    down_time_seconds: float
    cell_uuid: str | None

    @classmethod
    def present(cls, conf: cfg.ConfigOpts, now: Clock, cell_uuid: str | None) -> AsOf:
        """Return that of the present moment."""
        return cls(moment(now()), conf.service_down_time, cell_uuid)


class ServiceState(NamedTuple):
    """The state of a compute service as schedulers know it."""

    is_up: bool
    disabled: bool
    version: int


def has_fresh_heartbeat(row: models.Service, *, now: datetime, down_time_seconds: float) -> bool:
    """Return whether the last heartbeat is fresh; clock skew counts in both directions."""
    return _is_fresh(row.last_seen_up, now, down_time_seconds)


def has_living_agent(row: models.Service, *, now: datetime, down_time_seconds: float) -> bool:
    """Return whether the agent is alive, also if its hosts are down until it has settled them."""
    return any(
        _is_fresh(seen, now, down_time_seconds) for seen in (row.last_seen_up, row.agent_seen_at)
    )


def last_contact(row: models.Service) -> datetime | None:
    """Return the time of the agent's last message."""
    return max((at for at in (row.last_seen_up, row.agent_seen_at) if at is not None), default=None)


def _is_fresh(seen: datetime | None, now: datetime, seconds: float) -> bool:
    return seen is not None and abs(now - seen) <= timedelta(seconds=seconds)


def is_up(row: models.Service, *, now: datetime, down_time_seconds: float) -> bool:
    """Return whether a service is up: not forced down, with a fresh heartbeat."""
    return not row.forced_down and has_fresh_heartbeat(
        row, now=now, down_time_seconds=down_time_seconds
    )


def list_all(
    session: Session, at: AsOf, *where: sa.ColumnElement[bool], limit: int | None = None
) -> list[Service]:
    """Return all records, or those that match, ordered by host and binary."""
    query = sa.select(models.Service).where(*where)
    query = query.order_by(models.Service.host, models.Service.binary).limit(limit)
    return [to_object(row, at) for row in session.scalars(query)]


def are_of_hosts(hosts: Collection[str]) -> sa.ColumnElement[bool]:
    """Return the condition that a record is that of the compute service of one of these hosts."""
    return sa.and_(IS_COMPUTE, models.Service.host.in_(hosts))


def list_hosts(session: Session) -> list[str]:
    query = sa.select(models.Service.host).where(models.Service.binary == COMPUTE)
    return list(session.scalars(query))


def list_state_changes(
    session: Session, *, up: bool, now: datetime, down_time_seconds: float, limit: int
) -> list[str]:
    """Return hosts that are now up (or down) but were last reported to schedulers otherwise."""
    values = {**_down_time(now, down_time_seconds), "limit": limit}
    return list(session.scalars(_TURNED_UP if up else _TURNED_DOWN, values))


def changed_states(session: Session, *, now: datetime, down_time_seconds: float) -> set[bool]:
    """Return the values of ``up`` for which :func:`list_state_changes` finds any host."""
    return set(session.scalars(_WAYS_TURNED, _down_time(now, down_time_seconds)))


def get(session: Session, service_uuid: str) -> models.Service:
    """Return the row, locked. Raises ServiceNotFound."""
    return _one(session, service_uuid, for_update=True)


def find(session: Session, service_uuid: str) -> models.Service:
    """Return the row, for reading. Raises ServiceNotFound."""
    return _one(session, service_uuid, for_update=False)


def _one(session: Session, service_uuid: str, *, for_update: bool) -> models.Service:
    query = sa.select(models.Service).where(models.Service.uuid == service_uuid)
    row = session.scalars(query.with_for_update() if for_update else query).first()
    if row is None:
        raise exception.ServiceNotFound(service=service_uuid)
    return row


def find_by_hosts(session: Session, hosts: Collection[str]) -> dict[str, models.Service]:
    """Return host -> row of its compute service, for those that have one; one statement."""
    return {row.host: row for row in session.scalars(_BY_HOSTS, {"hosts": [*hosts]})}


def states_by_hosts(session: Session, hosts: Collection[str]) -> dict[str, ServiceState]:
    """Return host -> state of its compute service as schedulers know it; one statement."""
    return {
        host: ServiceState(is_up, disabled, version)
        for host, is_up, disabled, version in session.execute(_STATES, {"hosts": [*hosts]})
    }


def belongs_to_agent(session: Session, host: str, agent: str) -> bool:
    """Return whether the compute service of ``host`` belongs to ``agent``."""
    return session.execute(_AGENT, {"host": host}).scalar() == agent


def hosts_of_agent(session: Session, agent: str) -> set[str]:
    """Return the hosts of an agent's compute services."""
    query = sa.select(models.Service.host).where(IS_COMPUTE, models.Service.agent == agent)
    return set(session.scalars(query))


def add(
    session: Session, hosts: Sequence[str], *, agent: str, version: int, disabled: bool,
    now: datetime, run: str | None = None,
) -> None:  # fmt: skip
    """Insert compute services at their first heartbeat; one statement.

    Another transaction may insert them first: see ``Database.insert_in_writer``.
    """
    if not hosts:
        return
    reason = "New services start disabled: [DEFAULT] enable_new_services" if disabled else None
    values = [
        {
            "uuid": str(uuid.uuid4()), "host": host, "binary": COMPUTE, "agent": agent,
            "version": version, "disabled": disabled, "disabled_reason": reason,
            "forced_down": False, "report_count": 1, "last_seen_up": now, "created_at": now,
            "is_up": True, "is_released": False, "run": run, "agent_seen_at": now,
        }
        for host in hosts
    ]  # fmt: skip
    session.execute(sa.insert(models.Service), values)


def record_host_heartbeats(
    session: Session,
    hosts: Collection[str],
    *,
    agent: str,
    version: int,
    now: datetime,
    down_time_seconds: float,
    is_bound: bool = False,
    run: AgentRun | None = None,
) -> int:
    """Store a heartbeat of compute services in one statement; return how many accepted it.

    A service accepts it from its own agent, or from any agent once its own has timed out; if
    ``is_bound``, from another agent only after it was released. A ``run`` is accepted if it is at
    work, or follows the one that is, or that one has timed out.
    """
    if not hosts:
        return 0
    session.flush()
    values = {"hosts": [*hosts], "by": agent, "of_version": version, "now": now}
    values |= _down_time(now, down_time_seconds)
    statement = _SEEN_OF_OWN if is_bound else _SEEN_OF_ANY
    if run is not None:
        statement = _OF_RUN[is_bound]
        values |= {"by_run": run.id, "runs": [run.id, *run.follows]}
    result: sa.CursorResult[Any] = session.execute(statement, values)  # type: ignore[assignment]
    return result.rowcount


def record_unsettled(
    session: Session,
    hosts: Collection[str],
    *,
    agent: str,
    now: datetime,
    down_time_seconds: float,
    run: AgentRun,
) -> int:
    """Record that a run is at work on hosts that stay down; return how many accepted it.

    It is accepted as in :func:`record_host_heartbeats`.
    """
    if not hosts:
        return 0
    session.flush()
    values = {"hosts": [*hosts], "by": agent, "now": now, "by_run": run.id}
    values |= {"runs": [run.id, *run.follows], **_down_time(now, down_time_seconds)}
    result: sa.CursorResult[Any] = session.execute(_UNSETTLED, values)  # type: ignore[assignment]
    return result.rowcount


def list_up_before(session: Session, before: datetime) -> dict[str, datetime]:
    """Return host -> last heartbeat stored, of the hosts that are up and had it before that."""
    rows = session.execute(_UP_BEFORE, {"before": before})
    return {host: at for host, at in rows if at is not None}


def note_seen(session: Session, hosts: Sequence[str], *, at: datetime) -> None:
    """Store the last heartbeats of hosts that are up, unless later ones are known."""
    session.execute(_NOTED, {"hosts": [*hosts], "at": at})


def end_run(session: Session, agent: str, run: str) -> None:
    """Record that an agent's run has ended, if it is the one at work."""
    session.execute(
        sa.update(models.Service)
        .where(IS_COMPUTE, models.Service.agent == agent, models.Service.run == run)
        .values(run=None)
        .execution_options(synchronize_session=False)
    )


def mark_up(session: Session, hosts: Collection[str], *, up: bool) -> None:
    """Store the state sent to schedulers; the caller renumbers the hosts' nodes."""
    if not hosts:
        return
    session.execute(
        sa.update(models.Service)
        .where(IS_COMPUTE, models.Service.host.in_(hosts))
        .values(is_up=up)
        .execution_options(synchronize_session=False)
    )


def begin_fencing(session: Session, host: str, *, now: datetime, until: datetime) -> bool:
    """Record that a host is being fenced; return whether no other conductor does it already."""
    result: sa.CursorResult[Any] = session.execute(  # type: ignore[assignment]
        sa.update(_TABLE)
        .where(
            IS_COMPUTE,
            models.Service.host == host,
            models.Service.fencing_until.is_(None) | (models.Service.fencing_until <= now),
        )
        .values(fencing_until=until)
    )
    return result.rowcount > 0


def end_fencing(session: Session, host: str, *, fenced_at: datetime | None) -> None:
    """Record that a host was fenced, or with ``fenced_at`` None that it could not be."""
    done = {} if fenced_at is None else {"fenced_at": fenced_at}
    session.execute(
        sa.update(_TABLE)
        .where(IS_COMPUTE, models.Service.host == host)
        .values(fencing_until=None, **done)
    )


def set_released(session: Session, hosts: Collection[str], *, is_released: bool) -> None:
    """Store whether hosts may go to another agent."""
    if hosts:
        session.execute(
            sa.update(models.Service)
            .where(IS_COMPUTE, models.Service.host.in_(hosts))
            .values(is_released=is_released)
            .execution_options(synchronize_session=False)
        )


def record_heartbeat(
    session: Session, host: str, binary: str, *, version: int, now: datetime
) -> None:
    """Store a heartbeat of a service without hosts; the first one creates its record.

    Another process of it may insert it first: see ``Database.insert_in_writer``.
    """
    values = {"of_host": host, "of_binary": binary, "of_version": version, "now": now}
    session.flush()
    result: sa.CursorResult[Any] = session.execute(_ALIVE, values)  # type: ignore[assignment]
    if result.rowcount:
        return
    session.add(
        models.Service(
            uuid=str(uuid.uuid4()), host=host, binary=binary, agent=None, version=version,
            disabled=False, disabled_reason=None, forced_down=False, report_count=1,
            last_seen_up=now, created_at=now, is_up=True,
        )
    )  # fmt: skip
    session.flush()


def oldest_versions(session: Session, *, now: datetime, down_time_seconds: float) -> dict[str, int]:
    """Return binary -> the oldest version of its services.

    All compute services count, since a host that is down comes back; others only while up.
    """
    since = {"since": now - timedelta(seconds=down_time_seconds)}
    return {str(binary): version for binary, version in session.execute(_OLDEST, since)}


def versions_of_agents(session: Session) -> dict[str, int]:
    """Return agent -> the oldest version of its compute services."""
    query = (
        sa.select(models.Service.agent, sa.func.min(models.Service.version))
        .where(IS_COMPUTE, models.Service.agent.is_not(None))
        .group_by(models.Service.agent)
    )
    return {str(agent): version for agent, version in session.execute(query)}


def version_of_agent(session: Session, agent: str) -> int | None:
    """Return the oldest version of an agent's compute services, None if it has none."""
    query = sa.select(sa.func.min(models.Service.version)).where(
        IS_COMPUTE, models.Service.agent == agent
    )
    return session.scalar(query)


def list_before(session: Session, version: int, *, limit: int) -> list[models.Service]:
    """Return records of services older than a version, ordered by host."""
    query = (
        sa.select(models.Service)
        .where(models.Service.version < version)
        .order_by(models.Service.host, models.Service.binary)
        .limit(limit)
    )
    return list(session.scalars(query))


def remove(session: Session, service_uuid: str) -> None:
    """Delete a record; idempotent."""
    session.execute(sa.delete(models.Service).where(models.Service.uuid == service_uuid))


def to_object(row: models.Service, at: AsOf) -> Service:
    """Convert a row to the object that other processes use; its zone is not known here."""
    columns = sa.inspect(models.Service).column_attrs
    values = {each.key: getattr(row, each.key) for each in columns if each.key in Service.fields}
    up = is_up(row, now=at.now, down_time_seconds=at.down_time_seconds)
    return Service.from_values(values, up=up, cell_uuid=at.cell_uuid)


def _down_time(now: datetime, seconds: float) -> dict[str, datetime]:
    """Return the times between which a heartbeat is fresh."""
    return {"since": now - timedelta(seconds=seconds), "until": now + timedelta(seconds=seconds)}


# Frequent queries, built once: building costs more than executing. --------------------------------

_TABLE: sa.Table = models.Service.__table__  # type: ignore[assignment]
_SINCE: sa.BindParameter[datetime] = sa.bindparam("since")
_UNTIL: sa.BindParameter[datetime] = sa.bindparam("until")
_SEEN_UP = models.Service.last_seen_up
IS_COMPUTE = models.Service.binary == COMPUTE
_IS_AMONG = sa.and_(IS_COMPUTE, models.Service.host.in_(sa.bindparam("hosts", expanding=True)))
_IS_FRESH = sa.and_(_SEEN_UP >= _SINCE, _SEEN_UP <= _UNTIL, ~models.Service.forced_down)
_HOSTS = (
    sa.select(models.Service.host)
    .where(IS_COMPUTE)
    .order_by(models.Service.host)
    .limit(sa.bindparam("limit"))
)
_HAS_COME = sa.and_(models.Service.is_up.is_(False), _IS_FRESH)
_HAS_GONE = sa.and_(models.Service.is_up.is_(True), _SEEN_UP.is_(None) | ~_IS_FRESH)
_TURNED_UP, _TURNED_DOWN = _HOSTS.where(_HAS_COME), _HOSTS.where(_HAS_GONE)
_WAYS_TURNED = (
    sa.select(models.Service.is_up.is_(False)).where(IS_COMPUTE, _HAS_COME | _HAS_GONE).distinct()
)
_UP_BEFORE = sa.select(models.Service.host, models.Service.last_seen_up).where(
    IS_COMPUTE, models.Service.is_up, sa.bindparam("before") > _SEEN_UP
)
_BY_HOSTS = sa.select(models.Service).where(_IS_AMONG)
_AGENT = sa.select(_TABLE.c.agent).where(
    _TABLE.c.binary == COMPUTE, _TABLE.c.host == sa.bindparam("host")
)
_STATES = sa.select(
    models.Service.host, models.Service.is_up, models.Service.disabled, models.Service.version
).where(_IS_AMONG)
_SEEN = (
    sa.update(_TABLE)
    .where(_IS_AMONG)
    .values(
        agent=sa.bindparam("by"), version=sa.bindparam("of_version"),
        last_seen_up=sa.bindparam("now"), agent_seen_at=sa.bindparam("now"),
        report_count=models.Service.report_count + 1,
    )
)  # fmt: skip
_NOTED = (
    sa.update(_TABLE)
    .where(_IS_AMONG, models.Service.is_up, sa.bindparam("at") > _SEEN_UP)
    .values(last_seen_up=sa.bindparam("at"), agent_seen_at=sa.bindparam("at"))
)
_IS_OWN = models.Service.agent == sa.bindparam("by")
_IS_SILENT = sa.and_(
    *(
        seen.is_(None) | (seen < _SINCE) | (seen > _UNTIL)
        for seen in (_SEEN_UP, models.Service.agent_seen_at)
    )
)
_SEEN_OF_OWN = _SEEN.where(_IS_OWN | models.Service.is_released)
_SEEN_OF_ANY = _SEEN.where(_IS_OWN | _IS_SILENT)
_MAY_RUN = (
    models.Service.run.is_(None)
    | models.Service.run.in_(sa.bindparam("runs", expanding=True))
    | _IS_SILENT
    | ~_IS_OWN
)
_UNSETTLED = (
    sa.update(_TABLE)
    .where(_IS_AMONG, _IS_OWN, _MAY_RUN)
    .values(run=sa.bindparam("by_run"), agent_seen_at=sa.bindparam("now"))
)
_OF_RUN = {
    is_bound: seen.where(_MAY_RUN).values(run=sa.bindparam("by_run"))
    for is_bound, seen in ((True, _SEEN_OF_OWN), (False, _SEEN_OF_ANY))
}
_ALIVE = (
    sa.update(_TABLE)
    .where(
        models.Service.host == sa.bindparam("of_host"),
        models.Service.binary == sa.bindparam("of_binary"),
    )
    .values(
        version=sa.bindparam("of_version"), last_seen_up=sa.bindparam("now"),
        report_count=models.Service.report_count + 1,
    )
)  # fmt: skip
_OLDEST = (
    sa.select(models.Service.binary, sa.func.min(models.Service.version))
    .where(IS_COMPUTE | (_SEEN_UP >= _SINCE))
    .group_by(models.Service.binary)
)
