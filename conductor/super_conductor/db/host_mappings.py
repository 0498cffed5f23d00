"""Queries on host mappings: the cell of a host, and its compute nodes."""

import dataclasses
from collections.abc import Collection, Mapping

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db import metadata_seq, models
from conductor.super_conductor.db.statements import insert_missing
from objects.hosts.host_mapping import HostMapping


@dataclasses.dataclass(frozen=True, slots=True)
class _Mapping:
    host: str
    cell_uuid: str
    node_uuids: list[str]


def find_host_mapping(session: Session, host: str) -> HostMapping | None:
    """Return the mapping of a host, None if it was not discovered."""
    row = session.get(models.HostMapping, host)
    return None if row is None else _to_object(row)


def find_host_of_node(session: Session, node: str) -> str | None:
    """Return the host that has a compute node with this UUID, or is called so; None if none is."""
    mapping = models.HostMapping
    has_node = sa.cast(mapping.node_uuids, sa.Text).contains(f'"{node}"', autoescape=True)
    query = sa.select(mapping.host).where(sa.or_(mapping.host == node, has_node))
    return session.scalars(query.limit(1)).first()


def list_host_mappings(session: Session, cell_uuid: str | None = None) -> list[HostMapping]:
    """Return the mappings of one cell, or all, ordered by host."""
    query = sa.select(models.HostMapping).order_by(models.HostMapping.host)
    if cell_uuid is not None:
        query = query.where(models.HostMapping.cell_uuid == cell_uuid)
    return [_to_object(row) for row in session.scalars(query)]


def list_node_uuids(session: Session, cell_uuid: str) -> dict[str, list[str]]:
    """Return host -> UUIDs of its compute nodes at the last discovery, for one cell."""
    query = sa.select(models.HostMapping).where(models.HostMapping.cell_uuid == cell_uuid)
    return {row.host: row.node_uuids for row in session.scalars(query)}


def node_uuids_of(session: Session, hosts: Collection[str]) -> list[str]:
    """Return the UUIDs of all compute nodes of these hosts, sorted."""
    found = find_host_mappings(session, hosts).values()
    return sorted({uuid for _cell, uuids in found for uuid in uuids})


def cells_of_hosts(session: Session) -> dict[str, str]:
    """Return host -> UUID of its cell, for all hosts."""
    query = sa.select(models.HostMapping.host, models.HostMapping.cell_uuid)
    return {row.host: row.cell_uuid for row in session.execute(query)}


def cells_of_nodes(session: Session) -> dict[str, str]:
    """Return UUID of a compute node -> UUID of its cell, for the nodes of all hosts."""
    query = sa.select(models.HostMapping.node_uuids, models.HostMapping.cell_uuid)
    return {node: cell for nodes, cell in session.execute(query) for node in nodes}


def nodes_by_host(session: Session, hosts: Collection[str]) -> dict[str, list[str] | None]:
    """Return host -> UUIDs of its compute nodes; None for a host that is not mapped."""
    found = {host: nodes for host, (_cell, nodes) in find_host_mappings(session, hosts).items()}
    return {name: found.get(name) for name in sorted(hosts)}


def find_host_mappings(
    session: Session, hosts: Collection[str]
) -> dict[str, tuple[str, list[str]]]:
    """Return host -> UUIDs of its cell and of its compute nodes, for those that are mapped."""
    mapping = models.HostMapping
    query = sa.select(mapping.host, mapping.cell_uuid, mapping.node_uuids)
    found = session.execute(query.where(mapping.host.in_(hosts)))
    return {row.host: (row.cell_uuid, row.node_uuids) for row in found}


def map_hosts(session: Session, cell_uuid: str, hosts: Mapping[str, Collection[str]]) -> None:
    """Map hosts (host -> node UUIDs) that are not mapped yet; existing mappings are kept."""
    host = models.HostMapping.host
    known = set(session.scalars(sa.select(host).where(host.in_(hosts))))
    rows = [
        _Mapping(name, cell_uuid, sorted(nodes))
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


def _to_object(row: models.HostMapping) -> HostMapping:
    return HostMapping.from_values(host=row.host, cell_uuid=row.cell_uuid)
