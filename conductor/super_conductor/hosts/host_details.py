"""One host, and what the services do now: asked of one cell, or of all in a few rows each."""

import dataclasses

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.common import activity
from conductor.common.clock import Clock
from conductor.super_conductor.db import host_mappings, unfinished
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.servers.server_migrations import ServerMigrations
from conductor.super_conductor.zones import uuid_translation
from conductor.super_conductor.zones.overview import Overview
from conductor.super_conductor.zones.uuid_translation import UuidTranslation
from objects.cell_mapping import CELL0_UUID
from objects.hosts.activity import Activity
from objects.hosts.host_details import MIGRATIONS_MAX, SERVERS_MAX, HostDetails
from objects.hosts.host_event import HostEvent, HostEventPage
from objects.instance import Instance
from objects.instances.server_filters import MigrationFilters, ServerFilters
from placement.interface import PlacementAPI


class HostDetailsEndpoint:
    """``get_host``, ``get_host_events`` and ``get_activity`` of ``SuperConductorAPI``."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cell0_database: Database,
        cells: Cells,
        placement: PlacementAPI,
        migrations: ServerMigrations,
        overview: Overview,
        now: Clock,
    ) -> None:
        self._conf = conf
        self._database = database
        self._cell0_database = cell0_database
        self._cells = cells
        self._placement = placement
        self._migrations = migrations
        self._overview = overview
        self._now = now

    def get_host(self, context: RequestContext, host: str) -> HostDetails:
        with self._database.reader() as session:
            mapping = host_mappings.find_host_mapping(session, host)
            known = aggregates.list_aggregates_of(session, host)
        if mapping is None:
            raise exception.HostNotFound(host=host)
        cell_uuid = mapping.cell_uuid
        records, instances = self._cells.call(
            cell_uuid,
            lambda cell: (
                cell.get_host_records(context, host),
                cell.list_instances(context, filters=ServerFilters(host=host), limit=SERVERS_MAX),
            ),
        )
        zones = {one.availability_zone for one in known} - {None}
        records.service.cell_uuid = cell_uuid
        records.service.availability_zone = next(iter(zones), self._conf.default_availability_zone)
        moves = self._migrations.list_migrations(
            context, filters=MigrationFilters(host=host), limit=MIGRATIONS_MAX
        )
        roots = [node.uuid for node in records.nodes]
        return HostDetails(
            records=records,
            cell=self._cell_name(cell_uuid),
            providers=self._placement.get_provider_trees(context, roots),
            servers=self._own(cell_uuid, instances),
            migrations=moves.migrations,
            aggregates={one.uuid: one.name for one in known},
        )

    def get_host_events(
        self, context: RequestContext, host: str, limit: int, marker: str | None = None
    ) -> HostEventPage:
        mapping = self._database.read(host_mappings.find_host_mapping, host)
        if mapping is None:
            raise exception.HostNotFound(host=host)
        found = self._cells.call(
            mapping.cell_uuid,
            lambda cell: cell.list_host_events(context, host, limit=limit + 1, marker=marker),
        )
        shown = found[:limit]
        with self._database.reader() as session:
            servers = {each.instance_uuid for each in shown if each.instance_uuid is not None}
            names = uuid_translation.of_own(session, servers)
        shown = [_known_to_users(event, names) for event in shown]
        return HostEventPage(shown, shown[-1].marker if len(found) > limit else None)

    def get_activity(self, context: RequestContext) -> Activity:
        answers = self._cells.ask_all(lambda cell: cell.get_activity(context))
        zones = self._overview.list_zones(context)
        names = {cell.uuid: cell.name for cell in self._cells.list_cells()}
        return Activity(
            on_top=activity.read(
                self._conf, self._cell0_database, self._database, unfinished.SOURCES,
                now=self._now, cell_uuid=CELL0_UUID,
            ),
            cells={names.get(uuid, uuid): found for uuid, found in answers.by_cell.items()},
            zones=[*([] if zones.own is None else [zones.own]), *zones.zones],
            down_cells=answers.down_cells,
        )  # fmt: skip

    def _cell_name(self, cell_uuid: str) -> str:
        return next((c.name for c in self._cells.list_cells() if c.uuid == cell_uuid), cell_uuid)

    def _own(self, cell_uuid: str, found: list[Instance]) -> list[Instance]:
        """Return the servers that are mapped to the cell, by the ids that users know."""
        with self._database.reader() as session:
            own = cell_reports.own_instances(session, cell_uuid, found)
            return uuid_translation.of_own(session, {one.uuid for one in own}).in_answer(own)


def _known_to_users(event: HostEvent, names: UuidTranslation) -> HostEvent:
    """Return an event with the id of its server that users know."""
    uuid, details = event.instance_uuid, event.details
    if uuid is None or uuid not in names:
        return event
    return dataclasses.replace(
        event,
        instance_uuid=names.in_text(uuid),
        details=None if details is None else names.in_text(details),
    )
