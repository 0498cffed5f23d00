"""Reports of cells, reduced to what each cell may speak of: its own hosts and instances.

A host belongs to the cell that it was discovered in first, an instance to the one that it is mapped
to. Reports of a cell about another cell's hosts and instances are left out; discovery logs such
hosts. Project and user of an instance are those of its mapping.
"""

import logging
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from conductor.common.cell_db.services import COMPUTE
from conductor.super_conductor.db import cell_changes, host_mappings, instance_mappings
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import InstanceOnHost
from objects.hosts.service import Service
from objects.instance import Instance
from objects.instances.instance_mapping import InstanceMapping
from objects.instances.migration import Migration

LOG = logging.getLogger(__name__)


def own_services(
    session: Session, by_cell: Mapping[str, Sequence[Service]]
) -> list[tuple[str, Service]]:
    """Return the services with their cells, without compute services on other cells' hosts."""
    cells = host_mappings.cells_of_hosts(session)
    return [
        (cell, one)
        for cell, found in by_cell.items()
        for one in found
        if one.binary != COMPUTE or cells.get(one.host, cell) == cell
    ]


def own_nodes(
    session: Session, by_cell: Mapping[str, Sequence[ComputeNode]]
) -> list[tuple[str, ComputeNode]]:
    """Return the compute nodes with their cells, without other cells' hosts and nodes."""
    cells = host_mappings.cells_of_hosts(session)
    nodes = host_mappings.cells_of_nodes(session)
    return [
        (cell, one)
        for cell, found in by_cell.items()
        for one in found
        if cells.get(one.host, cell) == cell and nodes.get(one.uuid, cell) == cell
    ]


def own_instances(
    session: Session, cell_uuid: str, instances: Sequence[Instance]
) -> list[Instance]:
    """Return those of a cell's instances that are mapped to it, with their project and user."""
    mappings = instance_mappings.find_mappings(session, [one.uuid for one in instances])
    own = {uuid for uuid, mapping in mappings.items() if mapping.cell_uuid == cell_uuid}
    for one in instances:
        if one.uuid not in own:
            LOG.debug("%s: reported by cell %s, which it is not mapped to", one.uuid, cell_uuid)
    return [with_owner(one, mappings[one.uuid]) for one in instances if one.uuid in own]


def own_names(
    session: Session, cell_uuid: str, instances: Sequence[InstanceOnHost]
) -> list[InstanceOnHost]:
    """Return those of a cell's instances that are mapped to it."""
    mappings = instance_mappings.find_mappings(session, [one.uuid for one in instances])
    return [
        one
        for one in instances
        if one.uuid in mappings and mappings[one.uuid].cell_uuid == cell_uuid
    ]


def own_migrations(session: Session, by_cell: Mapping[str, Sequence[Migration]]) -> list[Migration]:
    """Return the cells' migrations, each of an instance mapped to its cell or moving to or from it.

    Migrations of instances without a mapping are harmless: the super conductor has removed the
    instance earlier than the cell.
    """
    found = [(cell, move) for cell, moves in by_cell.items() for move in moves]
    uuids = {move.instance_uuid for _cell, move in found}
    homes = {
        uuid: mapping.cell_uuid
        for uuid, mapping in instance_mappings.find_mappings(session, uuids).items()
    }
    changes = cell_changes.find_all(session, {move.uuid for _cell, move in found})
    return [
        move.with_values(cell_uuid=cell)
        for cell, move in found
        if homes.get(move.instance_uuid, cell) == cell
        or (
            (change := changes.get(move.uuid)) is not None
            and change.instance_uuid == move.instance_uuid
            and change.has(cell)
        )
    ]


def with_owner(instance: Instance, mapping: InstanceMapping) -> Instance:
    """Set the project and user that an instance has by its mapping, and return it."""
    instance.project_id, instance.user_id = mapping.project_id, mapping.user_id
    return instance


def asked_for(instance: Instance, instance_uuid: str) -> Instance:
    """Return an instance from a cell. Raises RpcFailed if it is not the one asked for."""
    if instance.uuid != instance_uuid:
        raise exception.RpcFailed(
            method="get_instance", topic="cell_conductor",
            reason=f"wrong answer: asked for {instance_uuid}, got {instance.uuid}",
        )  # fmt: skip
    return instance
