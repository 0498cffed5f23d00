"""Members of a server group and their hosts, read before each decision."""

import dataclasses
from collections.abc import Sequence
from functools import partial

from sqlalchemy.orm import Session

from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.db import build_requests, instance_mappings
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.db.zones import zone_attempts, zone_walks
from conductor.super_conductor.db.zones.zone_walks import WalkState
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.instances.instance_group import AFFINITY, InstanceGroup
from objects.request_spec import RequestSpec


@dataclasses.dataclass(frozen=True)
class Places:
    """Places of members as zone paths; this zone's path is empty.

    ``settled`` are the zones where members are, or may be; ``under_way`` has zone and host of each
    build in progress, which may still fail.
    """

    settled: frozenset[str]
    under_way: frozenset[tuple[str, str]]

    @property
    def below(self) -> list[str]:
        """Return the zones below this one among them."""
        return sorted({*self.settled, *(path for path, _host in self.under_way)} - {""})


def refresh(
    group: InstanceGroup,
    database: Database,
    cells: Cells,
    *,
    request_id: str | None,
    leaving_out: str | None = None,
) -> None:
    """Set a group's members and hosts.

    Raises CellUnavailable, because a guess might violate the policy. ``leaving_out`` is a member
    that is about to move: its present host does not count.
    """
    context = admin_context(request_id)
    zone_paths: list[str] = []
    with database.reader() as session:
        if server_groups.is_known(session, group.uuid):
            members = _living(session, server_groups.list_members(session, group.uuid))
            members = [uuid for uuid in members if uuid != leaving_out]
            here = members
            if group.policy == AFFINITY:
                zone_paths = places_of(session, members).below
        else:  # a group of another zone, which knows its members; some may be here
            members = group.members
            here = []
        delegated = zone_attempts.local_uuids_of(session, members)
        names = [name for name in {*here, *delegated} if name != leaving_out]
        hosts = set(build_requests.selected_hosts(session, names))
        by_cell = instance_mappings.cells_of(session, names)
    by_cell.pop(CELL0_UUID, None)
    for cell_uuid, uuids in by_cell.items():
        question = partial(
            CellConductorAPI.find_instance_hosts, context=context, instance_uuids=uuids
        )
        found = cells.call(cell_uuid, question)
        hosts.update(host for uuid, host in found.items() if uuid in uuids)
    group.members = [*members, *sorted(set(delegated).difference(members))]
    group.hosts = sorted(hosts)
    group.zone_paths = zone_paths


def places_of(session: Session, members: Sequence[str]) -> Places:
    """Return the places of those members that are on a host or being built on one."""
    settled = set()
    for mapping in instance_mappings.find_mappings(session, members).values():
        if mapping.zone_path is not None:
            settled.add(mapping.zone_path)
        elif mapping.cell_uuid not in (None, CELL0_UUID):
            settled.add("")
    under_way = set()
    for one in zone_walks.list_attempts(session, members):
        if one.state == WalkState.UNKNOWN:
            settled.add(one.path)
        else:
            under_way.add((one.path, one.host_id))
    return Places(frozenset(settled), frozenset(under_way))


def _living(session: Session, members: Sequence[str]) -> list[str]:
    """Return the members that are on a host or being scheduled, here or in another zone."""
    mappings = instance_mappings.find_mappings(session, members)
    in_cell0 = {
        uuid
        for uuid, mapping in mappings.items()
        if mapping.cell_uuid == CELL0_UUID and mapping.zone_path is None
    }
    return [uuid for uuid in members if uuid not in in_cell0]


def are_bound(spec: RequestSpec) -> bool:
    """Return whether the instances of a request must, or preferably should, share one host."""
    group = spec.instance_group
    return group is not None and group.policy in (AFFINITY, "soft-affinity")
