"""Lists of servers: pages joined from build requests, cells, cell0 and other zones."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from functools import partial

from oslo_utils import uuidutils

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.builds.cell0 import Cell0
from conductor.super_conductor.db import build_requests, instance_mappings
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.servers import unknown_servers
from conductor.super_conductor.servers.server_views import ServerReader, as_mapped
from conductor.super_conductor.zones import remote_servers, uuid_translation
from conductor.super_conductor.zones.remote_servers import RemoteServers
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from objects.instances.server_answers import InstanceMarker, ServerPage
from objects.instances.server_filters import ANY, ServerFilters
from objects.instances.server_order import Position, SortKey, position, values_of

_ROUNDS_MAX = 20


class ServerLists:
    """Lists servers of all places, restricted to what the caller may see."""

    def __init__(
        self,
        database: Database,
        cells: Cells,
        cell0: Cell0,
        remote_servers: RemoteServers,
        servers: ServerReader,
    ) -> None:
        self._database = database
        self._cells = cells
        self._cell0 = cell0
        self._remote_servers = remote_servers
        self._servers = servers

    def list_servers(
        self,
        context: RequestContext,
        *,
        filters: ServerFilters,
        limit: int,
        marker: str | None,
        for_display: bool = False,
    ) -> ServerPage:
        """See ``SuperConductorAPI``. Raises Invalid."""
        wanted = _scoped(context, filters)
        after = self._marker_of(context, marker, wanted.sort)
        page = _Page(filters=wanted, limit=limit, after=after, with_unknown=for_display)
        found = self._list(context, page, asks_zones=True)
        if for_display:
            self._servers.with_requests(found.instances)
        return found

    def list_page(
        self,
        context: RequestContext,
        *,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None,
        for_display: bool = False,
    ) -> ServerPage:
        """Return a page of the instances built here for other zones, for their users' zone."""
        project_id = filters.project_id if context.is_admin else context.visible_project
        wanted = dataclasses.replace(filters, project_id=project_id)
        page = _Page(filters=wanted, limit=limit, after=marker, with_unknown=for_display)
        return self._list(context, page, asks_zones=False)

    def _list(self, context: RequestContext, page: _Page, *, asks_zones: bool) -> ServerPage:
        limit = page.limit
        found: list[Instance] = []
        down_cells: set[str] = set()
        for _ in range(_ROUNDS_MAX):
            page = dataclasses.replace(page, limit=limit - len(found))
            copies = self._round(context, page, down_cells, asks_zones=asks_zones)
            visible = self._visible(copies, page.filters.project_id)
            found += visible if asks_zones else self._delegated_among(context, visible)
            if len(copies) < page.limit or len(found) >= limit:
                break
            page = dataclasses.replace(page, after=_marker(copies[-1].instance, page.filters.sort))
        return ServerPage(found, sorted(down_cells))

    def _round(
        self, context: RequestContext, page: _Page, down_cells: set[str], *, asks_zones: bool
    ) -> list[_ServerCopies]:
        """Query every place for one page, and return the first instances of all."""
        with self._database.reader() as session:
            # Read first: an instance that moves to a cell is seen twice rather than never.
            pending = build_requests.list_page(
                session, filters=page.filters, limit=page.limit, marker=page.after
            )
        cells = self._cells.list_cells()
        answers = self._cells.ask_all(
            lambda cell: cell.list_instances(
                context, filters=page.filters, limit=page.limit, marker=page.after
            ),
            among=cells,
        )
        down_cells.update(answers.down_cells)
        in_cell0 = self._cell0.list_instances(
            filters=page.filters, limit=page.limit, marker=page.after
        )
        in_zones: dict[str, list[Instance]] = {}
        silent_zones: list[str] = []
        if asks_zones:
            heard = self._remote_servers.list_pages(
                context, filters=page.filters, limit=page.limit, marker=page.after,
                for_display=page.with_unknown,
            )  # fmt: skip
            in_zones, silent_zones = heard.by_path, heard.silent
            down_cells.update(heard.down_cells)
        silent_cells = [cell.uuid for cell in cells if cell.uuid not in answers.by_cell]
        copies: dict[str, _ServerCopies] = {}
        places: Iterable[tuple[str | None, list[Instance]]] = (
            (None, pending), (CELL0_UUID, in_cell0), *answers.by_cell.items(),
            *((remote_servers.zone_place(path), seen) for path, seen in in_zones.items()),
            *self._unknown(page, silent_cells, silent_zones),
        )  # fmt: skip
        if asks_zones:
            places = self._with_own_names(places)
        for place, seen in places:
            for one in seen:
                copies.setdefault(one.uuid, _ServerCopies({})).by_place[place] = one
        # An instance with another UUID in its cell may be found once more after its own place.
        left = [one for one in copies.values() if page.is_after_marker(one.instance)]
        left.sort(key=lambda one: page.position(_marker(one.instance, page.filters.sort)))
        return left[: page.limit]

    def _unknown(
        self, page: _Page, cells: Sequence[str], zones: Sequence[str]
    ) -> list[tuple[str | None, list[Instance]]]:
        """Return the servers of silent cells and zones, each with its place."""
        if not page.with_unknown:
            return []
        with self._database.reader() as session:
            found = unknown_servers.list_page(
                session, cell_uuids=cells, paths=zones,
                filters=page.filters, limit=page.limit, marker=page.after,
            )  # fmt: skip
        return [(one.cell_uuid or remote_servers.zone_place(str(one.zone)), [one]) for one in found]

    def _delegated_among(
        self, context: RequestContext, instances: Sequence[Instance]
    ) -> list[Instance]:
        """Return those built for the parent zone that asks: it may see no others."""
        parent = zone_attempts.parent_of(context)
        delegated = self._database.read(
            zone_attempts.by_local_uuid, [one.uuid for one in instances]
        )
        return [
            one
            for one in instances
            if one.uuid in delegated
            and delegated[one.uuid].origin != zone_attempts.OWN
            and zone_attempts.is_same_parent(delegated[one.uuid].parent, parent)
        ]

    def _with_own_names(
        self, places: Iterable[tuple[str | None, list[Instance]]]
    ) -> list[tuple[str | None, list[Instance]]]:
        """Replace local UUIDs of instances built for this zone's own walks by the users' UUIDs."""
        listed = list(places)
        uuids = [one.uuid for _place, seen in listed for one in seen]
        own = self._database.read(uuid_translation.of_own, uuids)
        found = [one for _place, seen in listed for one in seen if one.uuid in own]
        if not found:
            return listed
        renamed = own.in_answer(found)
        others = [(place, [one for one in seen if one.uuid not in own]) for place, seen in listed]
        return [*others, (remote_servers.zone_place(""), renamed)]

    def _visible(self, copies: Sequence[_ServerCopies], project_id: str | None) -> list[Instance]:
        """Return each instance of the project, or of all, as stored where it is mapped to.

        An instance that was deleted before its cell knew of it may still be in a cell: it is left
        out. An instance that has left the build requests or its cell since they were read is
        returned as it was there.
        """
        mappings = self._database.read(
            instance_mappings.find_mappings, [one.instance.uuid for one in copies]
        )
        found = []
        for one in copies:
            mapping = mappings.get(one.instance.uuid)
            if mapping is None or project_id not in (None, mapping.project_id):
                continue
            place = remote_servers.place_of(mapping)
            shown = one.by_place.get(place, one.in_another(place))
            if shown is not None:
                found.append(as_mapped(shown, mapping))
        return found

    def _marker_of(
        self, context: RequestContext, marker: str | None, sort: Sequence[SortKey] | None
    ) -> InstanceMarker | None:
        if marker is None:
            return None
        try:
            here = partial(self._servers.get_server, context, marker)
            return _marker(self._remote_servers.get_server(context, marker, here), sort)
        except exception.Unavailable:
            if sort:
                raise  # the values that it is sorted by are not known
            return _marker(self._servers.get_unknown(context, marker), sort)
        except exception.InstanceNotFound as error:
            filters = ServerFilters(uuid=marker, existence=ANY, all_projects=bool(context.is_admin))
            page = _Page(filters=_scoped(context, filters), limit=1, after=None)
            if deleted := self._list(context, page, asks_zones=True).instances:
                return _marker(deleted[0], sort)
            raise exception.Invalid(reason=f"marker {marker} is not a server's UUID") from error


@dataclasses.dataclass(frozen=True)
class _Page:
    """A page to request from one place."""

    filters: ServerFilters
    limit: int
    after: InstanceMarker | None
    with_unknown: bool = False
    """Whether to list the servers of silent cells and zones."""

    def position(self, marker: InstanceMarker) -> Position:
        """Return the position of an instance in the list."""
        return position(self.filters.sort, marker.values, marker.created_at, marker.uuid)

    def is_after_marker(self, instance: Instance) -> bool:
        """Return whether an instance comes after the last page."""
        if self.after is None:
            return True
        found = _marker(instance, self.filters.sort)
        return self.position(found) > self.position(self.after)


@dataclasses.dataclass(frozen=True)
class _ServerCopies:
    """One instance as stored in each place: by cell UUID, or None for the build requests."""

    by_place: dict[str | None, Instance]

    @property
    def instance(self) -> Instance:
        return next(iter(self.by_place.values()))

    def in_another(self, place: str | None) -> Instance | None:
        """Return the instance as it was before it came here: as a build request or in a cell."""
        if None in self.by_place or not _is_cell(place):
            return self.by_place.get(None)
        return next((seen for other, seen in self.by_place.items() if _is_cell(other)), None)


def _is_cell(place: str | None) -> bool:
    """Return whether a place is a cell with hosts, neither cell0 nor another zone."""
    return place != CELL0_UUID and uuidutils.is_uuid_like(place)


def _marker(instance: Instance, sort: Sequence[SortKey] | None) -> InstanceMarker:
    assert instance.created_at is not None
    return InstanceMarker(instance.created_at, instance.uuid, values_of(instance, sort))


def _scoped(context: RequestContext, filters: ServerFilters) -> ServerFilters:
    if filters.all_projects and not context.is_admin:
        raise exception.PolicyNotAuthorized(rule="servers:index:all_projects")
    project_id = filters.project_id if filters.all_projects else context.project_id or ""
    return dataclasses.replace(filters, project_id=project_id)
