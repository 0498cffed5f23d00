"""Who is in a server group, and on which hosts: read anew before each decision."""

from __future__ import annotations

from functools import partial

from armillary.context import admin_context
from armillary.db import Database
from conductor.api_db import build_requests, instance_mappings, server_groups
from conductor.cell_rpcapi import CellConductorAPI
from conductor.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.instance_group import InstanceGroup


def refresh(
    group: InstanceGroup,
    database: Database,
    cells: Cells,
    *,
    request_id: str | None,
    leaving_out: str | None = None,
) -> None:
    """Set a group's members and hosts. Raises CellUnavailable: a guess might break the policy.

    ``leaving_out`` is a member that is about to move: where it is does not count.
    """
    context = admin_context(request_id)
    with database.reader() as session:
        members = server_groups.list_members(session, group.uuid)
        members = [uuid for uuid in members if uuid != leaving_out]
        hosts = set(build_requests.selected_hosts(session, members))
        by_cell = instance_mappings.cells_of(session, members)
    by_cell.pop(CELL0_UUID, None)
    for cell_uuid, uuids in by_cell.items():
        question = partial(
            CellConductorAPI.find_instance_hosts, context=context, instance_uuids=uuids
        )
        found = cells.call(cell_uuid, question)
        hosts.update(found.values())
    group.members = members
    group.hosts = sorted(hosts)
