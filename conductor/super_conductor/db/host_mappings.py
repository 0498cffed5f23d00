"""Queries on host mappings: the cell of a host, and its compute nodes."""

import dataclasses
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import metadata_seq, models
from conductor.super_conductor.db.statements import insert_missing


@dataclasses.dataclass(frozen=True, slots=True)
class HostMapping:
    """The cell of a host, set by discovery; a host is in exactly one cell."""

    host: str
    cell_uuid: str
    node_uuids: list[str]
    """UUIDs of its compute nodes at the last discovery."""


def find_host_mapping(session: Session, host: str) -> HostMapping | None:
    """Return the mapping of a host, None if it was not discovered."""
    return find_host_mappings(session, [host]).get(host)


def find_host_mappings(session: Session, hosts: Collection[str]) -> dict[str, HostMapping]:
    """Return the mappings of these hosts, as far as they were discovered."""
    return {one.host: one for one in _list(session, models.HostMapping.host.in_(hosts))}


def find_host_of_node(session: Session, node: str) -> HostMapping | None:
    """Return the host that has a compute node with this UUID, or is called so; None if none is."""
    row = models.HostMapping
    has_node = sa.cast(row.node_uuids, sa.Text).contains(f'"{node}"', autoescape=True)
    return next(iter(_list(session, sa.or_(row.host == node, has_node))), None)


def list_host_mappings(session: Session, cell_uuid: str | None = None) -> list[HostMapping]:
    """Return the mappings of one cell, or all, ordered by host."""
    if cell_uuid is None:
        return _list(session)
    return _list(session, models.HostMapping.cell_uuid == cell_uuid)


def list_node_uuids(session: Session, cell_uuid: str) -> dict[str, list[str]]:
    """Return host -> UUIDs of its compute nodes, for one cell."""
    return {one.host: one.node_uuids for one in list_host_mappings(session, cell_uuid)}


def node_uuids_of(session: Session, hosts: Collection[str]) -> list[str]:
    """Return the UUIDs of all compute nodes of these hosts, sorted."""
    found = find_host_mappings(session, hosts).values()
    return sorted({uuid for one in found for uuid in one.node_uuids})


def cells_of_hosts(session: Session) -> dict[str, str]:
    """Return host -> UUID of its cell, for all hosts."""
    query = sa.select(models.HostMapping.host, models.HostMapping.cell_uuid)
    return {row.host: row.cell_uuid for row in session.execute(query)}


def cells_of_nodes(session: Session) -> dict[str, str]:
    """Return UUID of a compute node -> UUID of its cell, for the nodes of all hosts."""
    return {node: one.cell_uuid for one in _list(session) for node in one.node_uuids}


def nodes_by_host(session: Session, hosts: Collection[str]) -> dict[str, list[str] | None]:
    """Return host -> UUIDs of its compute nodes; None for a host that is not mapped."""
    found = find_host_mappings(session, hosts)
    return {host: found[host].node_uuids if host in found else None for host in sorted(hosts)}


def map_hosts(session: Session, cell_uuid: str, hosts: Mapping[str, Collection[str]]) -> None:
    """Map hosts (host -> node UUIDs) that are not mapped yet; existing mappings are kept."""
    host = models.HostMapping.host
    known = set(session.scalars(sa.select(host).where(host.in_(hosts))))
    rows = [
        HostMapping(name, cell_uuid, sorted(nodes))
        for name, nodes in sorted(hosts.items())
        if name not in known
    ]
    insert_missing(session, models.HostMapping, rows)


def set_node_uuids(
    session: Session, host: str, cell_uuid: str, node_uuids: Collection[str]
) -> None:
    """Store the compute nodes of a host that is mapped to this cell."""
    session.execute(
        sa.update(models.HostMapping)
        .where(models.HostMapping.host == host, models.HostMapping.cell_uuid == cell_uuid)
        .values(node_uuids=sorted(node_uuids))
    )


def set_leaving(session: Session, host: str, cell_uuid: str, *, is_leaving: bool) -> None:
    """Store whether the deletion of the service of a host of this cell was requested."""
    session.execute(
        sa.update(models.HostMapping)
        .where(models.HostMapping.host == host, models.HostMapping.cell_uuid == cell_uuid)
        .values(is_leaving=is_leaving)
    )


def list_leaving(session: Session, cell_uuid: str) -> set[str]:
    """Return the hosts of a cell whose services' deletion was requested."""
    query = sa.select(models.HostMapping.host).where(
        models.HostMapping.cell_uuid == cell_uuid, models.HostMapping.is_leaving.is_(True)
    )
    return set(session.scalars(query))


def delete_host_mapping(session: Session, host: str) -> bool:
    """Delete the mapping of a host; return whether it existed.

    The metadata gets another number, so that schedulers ask again which cell has which host.
    """
    row = session.get(models.HostMapping, host)
    if row is None:
        return False
    session.delete(row)
    session.flush()
    metadata_seq.host_taken(session)
    return True


def _list(session: Session, *where: sa.ColumnElement[bool]) -> list[HostMapping]:
    row = models.HostMapping
    query = sa.select(row.host, row.cell_uuid, row.node_uuids).where(*where).order_by(row.host)
    return [HostMapping(*found) for found in session.execute(query)]
