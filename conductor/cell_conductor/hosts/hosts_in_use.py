"""Hosts with instances, and the availability zones of these."""

from collections.abc import Collection

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import instances, migrations, models
from conductor.common.cell_db.flow_states import Move
from objects.hosts.host_answers import ZoneUse
from objects.selection import Selection


def find(session: Session, hosts: Collection[str]) -> dict[str, str]:
    """Return host -> an instance that is there, may be built there or is moved from or to there."""
    return {
        **_next_hosts_of_builds(session, hosts),
        **_hosts_of_moves(session, hosts),
        **_next_hosts_of_moves(session, hosts),
        **{host: uuids[0] for host, uuids in instances.uuids_on_hosts(session, hosts).items()},
    }


def list_zone_uses(session: Session) -> list[ZoneUse]:
    """Return how many living instances each pair of host and zone has; None: no host, no zone."""
    row = models.Instance
    query = (
        sa.select(row.host, row.availability_zone, sa.func.count(), sa.func.min(row.uuid))
        .where(row.deleted_at.is_(None), row.hidden.is_(False))
        .group_by(row.host, row.availability_zone)
    )
    return [ZoneUse(host, zone, count, uuid) for host, zone, count, uuid in session.execute(query)]


def _next_hosts_of_builds(session: Session, hosts: Collection[str]) -> dict[str, str]:
    row = models.InstanceBuild
    found = session.execute(sa.select(row.instance_uuid, row.position, row.selections))
    return {
        host: uuid
        for uuid, position, selections in found
        for one in selections[position:]
        if (host := Selection.obj_from_primitive(one).service_host) in hosts
    }


def _hosts_of_moves(session: Session, hosts: Collection[str]) -> dict[str, str]:
    return {
        host: move.instance_uuid
        for move in migrations.list_of_hosts(session, hosts)
        for host in (move.source_host, move.dest_host)
        if host is not None and host in hosts
    }


def _next_hosts_of_moves(session: Session, hosts: Collection[str]) -> dict[str, str]:
    row = models.InstanceOperation
    found = session.scalars(sa.select(row).where(row.migration_uuid.is_not(None)))
    return {
        host: operation.instance_uuid
        for operation in found
        for host in Move.of(operation).hosts_left
        if host in hosts
    }
