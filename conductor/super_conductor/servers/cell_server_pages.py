"""Paged listing of all servers as their cells have them, one cell at a time."""

from collections.abc import Iterator, Sequence

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CellMapping
from objects.instance import Instance
from objects.instances.server_answers import CellServerMarker, CellServerPage, InstanceMarker
from objects.instances.server_filters import ServerFilters

PAGE_SIZE_MAX = 1000


class CellServers:
    """Endpoint: lists living servers in the cells that they are mapped to, by their UUIDs there.

    A server built here for another zone, or for a cross-zone build of this zone, has its local
    UUID, which is also its consumer's. Servers in other zones are left out.
    """

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells

    def list_cell_servers(
        self, context: RequestContext, *, limit: int, marker: CellServerMarker | None = None
    ) -> CellServerPage:
        """See ``SuperConductorAPI``."""
        if not 1 <= limit <= PAGE_SIZE_MAX:
            raise exception.Invalid(reason=f"limit is {limit}, it must be 1 to {PAGE_SIZE_MAX}")
        cells = sorted(self._cells.list_cells(), key=lambda cell: cell.uuid)
        left = [cell for cell in cells if marker is None or cell.uuid >= marker.cell_uuid]
        if not left:
            return CellServerPage([], [])
        cell, *others = left
        is_same_cell = marker is not None and marker.cell_uuid == cell.uuid
        after = marker.after if marker is not None and is_same_cell else None
        answers = self._cells.ask_all(
            lambda one: one.list_instances(
                context, filters=ServerFilters(), limit=limit, marker=after
            ),
            among=[cell],
        )
        found = answers.by_cell.get(cell.uuid, [])
        return CellServerPage(
            instances=self._mapped_here(cell, found),
            down_cells=list(answers.down_cells),
            marker=_next(cell, found, limit, others),
        )

    def pages(self, context: RequestContext, *, limit: int) -> Iterator[CellServerPage]:
        """Yield all pages."""
        page = self.list_cell_servers(context, limit=limit)
        yield page
        while page.marker is not None:
            page = self.list_cell_servers(context, limit=limit, marker=page.marker)
            yield page

    def _mapped_here(self, cell: CellMapping, instances: Sequence[Instance]) -> list[Instance]:
        mappings = self._database.read(
            instance_mappings.find_mappings, [one.uuid for one in instances]
        )
        kept = []
        for one in instances:
            mapping = mappings.get(one.uuid)
            is_here = mapping is not None and mapping.cell_uuid == cell.uuid
            if mapping is not None and is_here and not mapping.queued_for_delete:
                kept.append(cell_reports.with_owner(one, mapping))
        return kept


def _next(
    cell: CellMapping, found: Sequence[Instance], limit: int, others: Sequence[CellMapping]
) -> CellServerMarker | None:
    if len(found) < limit:
        return CellServerMarker(others[0].uuid) if others else None
    last = found[-1]
    assert last.created_at is not None, "read from a database"
    return CellServerMarker(cell.uuid, InstanceMarker(last.created_at, last.uuid))
