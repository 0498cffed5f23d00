"""Discovery of unmapped hosts of cells, and of instances that a cell brought along."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy.orm import Session

from armillary.context import RequestContext, admin_context
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.db import cells as cells_db
from conductor.super_conductor.db import host_mappings, instance_mappings, request_specs
from conductor.super_conductor.db.instance_mappings import NewMapping
from conductor.super_conductor.db.request_specs import NewSpec
from conductor.super_conductor.hosts import departed_hosts
from conductor.super_conductor.hosts.cell_enrolments import CellEnrolments
from conductor.super_conductor.hosts.cells import Answers, Cells
from objects.aggregate import Aggregate
from objects.cell_mapping import CellMapping
from objects.instance import Instance
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ServerFilters
from objects.request_spec import RequestSpec

LOG = logging.getLogger(__name__)

_PAGE_SIZE = 500


@dataclasses.dataclass(frozen=True)
class Discovered:
    """Discovered hosts. Hosts with new or changed nodes are in both lists."""

    new_hosts: dict[str, list[str]]
    """Cell name -> hosts that have just been mapped to it."""
    changed_hosts: list[str]
    """Hosts whose compute nodes differ from the mapped ones."""
    down_cells: list[str]
    left_aggregates: list[Aggregate] = dataclasses.field(default_factory=list)
    """Aggregates that hosts have left whose services were deleted."""


class ForeignHosts:
    """Hosts that a cell reports although it may not have them; each is logged once."""

    def __init__(self) -> None:
        self._logged: dict[str, set[str]] = {}

    def note(self, cell: CellMapping, hosts: Iterable[str]) -> None:
        """Note all such hosts of a cell, and log those that are new."""
        found = set(hosts)
        for host in sorted(found - self._logged.get(cell.uuid, set())):
            LOG.warning(
                "Host %s of cell %s is mapped to another cell, or its name is one that the cell's "
                "key is not enrolled for; it is left out. Give the host another name, remove its "
                "old service and mapping, approve it (armillary-manage cell approve-host %s %s), "
                "or enrol the cell for it (armillary-manage key hosts)",
                host,
                cell.name,
                cell.name,
                host,
            )
        self._logged[cell.uuid] = found


def discover_hosts(
    database: Database, cells: Cells, foreign: ForeignHosts, *, cell_uuid: str | None = None
) -> Discovered:
    """Map unmapped hosts of all enabled cells, or of one.

    ``cell_uuid`` selects one cell. ``foreign`` is kept by callers that repeat this. Raises
    CellNotFound for an unknown cell. The result names cells that did not answer.
    """
    asked = database.read(_cells_to_ask, cell_uuid)
    answers: Answers[dict[str, list[str]]] = cells.ask_all(_hosts_of, among=asked)
    found = Discovered({}, [], answers.down_cells)
    for cell in asked:
        if cell.uuid not in answers.by_cell:
            continue
        hosts = answers.by_cell[cell.uuid]
        found.left_aggregates.extend(_forget_departed(database, cell, hosts))
        refused = _not_enrolled(database, cells.enrolments, cell, hosts)
        new, changed, others = _compare(
            database, cell, {host: hosts[host] for host in hosts.keys() - refused}
        )
        others += sorted(refused)
        foreign.note(cell, others)
        if new:
            LOG.info("Cell %s: new hosts %s", cell.name, ", ".join(new))
            found.new_hosts[cell.name] = new
        found.changed_hosts.extend(changed)
    return found


def find_refused_hosts(database: Database, cells: Cells, cell_uuid: str) -> list[str]:
    """Return the hosts of a cell that its key is not enrolled for, and that are mapped nowhere.

    Raises CellNotFound, CellUnavailable.
    """
    hosts = cells.call(cell_uuid, _hosts_of)
    mapped = database.read(host_mappings.cells_of_hosts)
    new = sorted(hosts.keys() - mapped.keys())
    return [host for host in new if not cells.enrolments.may_have(cell_uuid, host)]


def map_instances(database: Database, cells: Cells, cell_uuid: str) -> int:
    """Map unmapped instances of a cell; return their number.

    Raises CellNotFound, CellUnavailable.
    """
    context = admin_context()
    marker: InstanceMarker | None = None
    count = 0
    while page := cells.call(cell_uuid, _page_after(context, marker)):
        count += _map_page(database, cell_uuid, page)
        last = page[-1]
        assert last.created_at is not None
        marker = InstanceMarker(last.created_at, last.uuid)
    return count


def _cells_to_ask(session: Session, cell_uuid: str | None) -> list[CellMapping]:
    if cell_uuid is not None:
        return [cells_db.get_cell(session, cell_uuid)]
    return [cell for cell in cells_db.list_cells(session) if not cell.disabled]


def _hosts_of(cell: CellConductorAPI) -> dict[str, list[str]]:
    return cell.list_known_hosts(admin_context())


def _not_enrolled(
    database: Database, enrolments: CellEnrolments, cell: CellMapping, hosts: Iterable[str]
) -> set[str]:
    """Return the unmapped hosts whose names the cell is not enrolled for."""
    wrong = {host for host in hosts if not enrolments.may_have(cell.uuid, host)}
    if not wrong:
        return wrong
    with database.reader() as session:
        return wrong - host_mappings.list_node_uuids(session, cell.uuid).keys()


def _forget_departed(
    database: Database, cell: CellMapping, hosts: Mapping[str, list[str]]
) -> list[Aggregate]:
    """Forget the hosts whose deletion was requested and that the cell no longer has."""
    with database.reader() as session:
        gone = sorted(host_mappings.list_leaving(session, cell.uuid) - hosts.keys())
    if not gone:
        return []
    LOG.info("Cell %s: hosts %s were deleted", cell.name, ", ".join(gone))
    return database.run_in_writer(
        lambda session: [
            aggregate
            for host in gone
            for aggregate in departed_hosts.forget(session, host, cell.uuid)
        ]
    )


def _compare(
    database: Database, cell: CellMapping, hosts: Mapping[str, list[str]]
) -> tuple[list[str], list[str], list[str]]:
    """Store new and changed hosts; return both, and those of other cells, sorted."""
    known = database.read(host_mappings.list_node_uuids, cell.uuid)
    new = sorted(hosts.keys() - known.keys())
    changed = sorted(host for host, nodes in hosts.items() if known.get(host, []) != nodes)
    if not new and not changed:
        return [], [], []
    hosts = _without_foreign_nodes(database, cell, hosts)
    changed = [host for host in changed if known.get(host, []) != hosts[host]]

    def write(session: Session) -> None:
        host_mappings.map_hosts(session, cell.uuid, {host: hosts[host] for host in new})
        for host in changed:
            host_mappings.set_node_uuids(session, host, cell.uuid, hosts[host])

    database.run_in_writer(write)
    ours = database.read(host_mappings.list_node_uuids, cell.uuid)
    return (
        [host for host in new if host in ours],
        [host for host in changed if host in ours],
        [host for host in new if host not in ours],
    )


def _without_foreign_nodes(
    database: Database, cell: CellMapping, hosts: Mapping[str, list[str]]
) -> dict[str, list[str]]:
    """Return the hosts without the compute nodes of other cells' hosts."""
    cells = database.read(host_mappings.cells_of_nodes)
    own = {
        host: [node for node in nodes if cells.get(node, cell.uuid) == cell.uuid]
        for host, nodes in hosts.items()
    }
    for host, nodes in hosts.items():
        if len(own[host]) < len(nodes):
            LOG.warning("Cell %s: host %s has compute nodes of another cell", cell.name, host)
    return own


def _page_after(context: RequestContext, marker: InstanceMarker | None) -> Any:
    return lambda cell: cell.list_instances(
        context, filters=ServerFilters(), limit=_PAGE_SIZE, marker=marker
    )


def _map_page(database: Database, cell_uuid: str, page: list[Instance]) -> int:
    def write(session: Session) -> int:
        unmapped = instance_mappings.unmapped(session, [one.uuid for one in page])
        strays = [one for one in page if one.uuid in unmapped]
        if strays:
            now = datetime.now(UTC)
            rows = [
                NewMapping.of(one, one.reservation_id, now=now, cell_uuid=cell_uuid)
                for one in strays
            ]
            instance_mappings.add_mappings(session, rows)
            request_specs.add_missing_specs(session, [_spec_of(one) for one in strays])
        return len(strays)

    return database.run_in_writer(write)


def _spec_of(instance: Instance) -> NewSpec:
    spec = RequestSpec.from_values(
        instance_uuid=instance.uuid,
        project_id=instance.project_id,
        user_id=instance.user_id,
        flavor=instance.flavor,
        image=instance.image,
        is_bfv=instance.boots_from_volume,
        num_instances=1,
    )
    return NewSpec(instance.uuid, spec.obj_to_primitive())
