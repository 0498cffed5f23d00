"""Migrations of servers as users see, abort and force them: in the records of their cells."""

import dataclasses

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.hosts.cell_reports import own_migrations
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.servers.server_views import ServerReader
from objects.cell_mapping import CELL0_UUID
from objects.instances.migration import Migration
from objects.instances.server_answers import MigrationPage
from objects.instances.server_filters import MigrationFilters


class ServerMigrations:
    """Migrations of all cells; see ``SuperConductorAPI``."""

    def __init__(self, database: Database, cells: Cells, servers: ServerReader) -> None:
        self._database = database
        self._cells = cells
        self._servers = servers

    def list_migrations(
        self, context: RequestContext, *, filters: MigrationFilters, limit: int
    ) -> MigrationPage:
        """Return the newest migrations of all cells; see ``SuperConductorAPI``.

        Those of a deleted server are listed as long as its cell keeps them. Raises InstanceNotFound
        for a server that the caller cannot see, CellUnavailable for one whose cell is silent.
        """
        if filters.instance_uuid:
            self._servers.check_reachable(context, filters.instance_uuid)
        if filters.marker is not None:
            filters = self._after(context, filters, filters.marker)
        answers = self._cells.ask_all(
            lambda cell: cell.list_migrations(context, filters=filters, limit=limit)
        )
        if filters.instance_uuid and answers.down_cells:
            self._servers.check_reachable(context, filters.instance_uuid)
        by_uuid: dict[str, Migration] = {}
        own = self._database.read(own_migrations, answers.by_cell)
        for move in own:
            if move.uuid not in by_uuid or _touched(move) > _touched(by_uuid[move.uuid]):
                by_uuid[move.uuid] = move  # for a move between cells, both have a record
        found = list(by_uuid.values())
        found.sort(key=lambda move: (move.created_at, move.uuid), reverse=True)
        return MigrationPage(found[:limit], answers.down_cells)

    def _after(
        self, context: RequestContext, filters: MigrationFilters, marker: str
    ) -> MigrationFilters:
        """Return the filters of the page after a migration. Raises Invalid if there is none."""
        found = self.list_migrations(context, filters=MigrationFilters(uuid=marker), limit=1)
        if not found.migrations:
            raise exception.Invalid(reason=f"there is no migration {marker}, the marker")
        last = found.migrations[0]
        return dataclasses.replace(
            filters, marker=None, after_created_at=last.created_at, after_uuid=last.uuid
        )

    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Abort a live migration; see ``SuperConductorAPI``."""
        self._cells.call(
            self._cell_of_migration(context, instance_uuid, migration_uuid),
            lambda cell: cell.abort_migration(context, instance_uuid, migration_uuid),
        )

    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        """Complete a live migration immediately; see ``SuperConductorAPI``."""
        self._cells.call(
            self._cell_of_migration(context, instance_uuid, migration_uuid),
            lambda cell: cell.force_migration(context, instance_uuid, migration_uuid),
        )

    def _cell_of_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> str:
        instance = self._servers.get_server(context, instance_uuid)
        if instance.cell_uuid in (None, CELL0_UUID):
            raise exception.MigrationNotFound(migration=migration_uuid)
        return str(instance.cell_uuid)


def _touched(move: Migration) -> float:
    """Return when a cell last changed a migration, in seconds since 1970."""
    moment = move.updated_at or move.created_at
    return 0.0 if moment is None else moment.timestamp()
