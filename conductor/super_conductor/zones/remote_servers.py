"""Requests about servers that were created here and run in another zone: forwarded to that zone."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.builds import decision_traces
from conductor.super_conductor.db import instance_mappings, traces
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.zones import paths, uuid_translation, walk_explanations
from conductor.super_conductor.zones.forwarded import LIST_SERVERS, decode_answer, request_for
from conductor.super_conductor.zones.routes import Routes
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from objects.instances.explanation import Explanation
from objects.instances.instance_mapping import InstanceMapping
from objects.instances.server_answers import InstanceMarker, MigrationPage
from objects.instances.server_filters import MigrationFilters, ServerFilters

T = TypeVar("T")

_MOVES_MAX = 5
_NO_ANSWER = (exception.Unavailable, exception.InstanceNotFound, exception.ZoneNotFound)


@dataclasses.dataclass(frozen=True)
class ZonePages:
    """Servers by path of their zone, silent zones, and what did not answer, as users read it."""

    by_path: dict[str, list[Instance]]
    silent: list[str]
    down_cells: list[str]


class RemoteServers:
    """Finds the zone of a server and forwards requests to it."""

    def __init__(self, database: Database, zones: Routes) -> None:
        self._database = database
        self._zones = zones

    def is_there(self, context: RequestContext, instance_uuid: str) -> bool:
        """Return whether the caller can see this server, and it is known to be in another zone."""
        mapping = self._find(context, instance_uuid)
        return mapping is not None and mapping.cell_uuid is None

    def ask(
        self,
        context: RequestContext,
        instance_uuid: str,
        method: str,
        here: Callable[[], T],
        **arguments: Any,
    ) -> T:
        """Return the answer of a server's zone, or ``here()`` for a server in this zone.

        When a zone that may have the server does not answer, ``here()`` answers from this zone's
        record of the unknown outcome. A server that arrives in a zone, or leaves one, between the
        look at its mapping and the question is asked about again where it is now.
        """
        mapping = self._find(context, instance_uuid)
        for _ in range(_MOVES_MAX):
            try:
                return self._ask_at(mapping, context, method, here, arguments)
            except exception.InstanceNotFound:
                former, mapping = mapping, self._find(context, instance_uuid)
                if _place(mapping) == _place(former):
                    raise
        return self._ask_at(mapping, context, method, here, arguments)

    def _ask_at(
        self,
        mapping: InstanceMapping | None,
        context: RequestContext,
        method: str,
        here: Callable[[], T],
        arguments: Mapping[str, Any],
    ) -> T:
        """Ask where a server was a moment ago. Raises InstanceNotFound if it has left since."""
        if mapping is None:
            return here()
        path = paths.from_text(str(mapping.zone_path))
        request = request_for(method, mapping.instance_uuid, **arguments)
        try:
            wire = self._zones.forward(context, path, request).wait()
        except _NO_ANSWER:
            if mapping.cell_uuid != CELL0_UUID:
                raise
            return here()
        answer: T = decode_answer(method, wire)
        return answer

    def get_server(
        self, context: RequestContext, instance_uuid: str, here: Callable[[], Instance]
    ) -> Instance:
        """Return a server; its ``zone`` is set when another zone has it."""
        found = self.ask(context, instance_uuid, "get_server", here)
        mapping = self._find(context, instance_uuid)
        return found if mapping is None else as_mapped(found, mapping)

    def soft_delete(
        self, context: RequestContext, instance_uuid: str, here: Callable[[], bool]
    ) -> bool:
        """Soft-delete a server if its zone supports that; return whether it did.

        Returns False when the zone does not answer: the delete is then sent to it later.
        """
        try:
            return self.ask(context, instance_uuid, "soft_delete", here)
        except (exception.ZoneUnavailable, exception.ZoneNotFound):
            return False

    def explain(
        self,
        context: RequestContext,
        instance_uuid: str,
        here: Callable[[], Explanation],
        *,
        with_hosts: bool,
        decision_of: str | None,
    ) -> Explanation:
        """Return its zone's explanation of a server's host, with the zones that were asked."""
        found = self.ask(
            context, instance_uuid, "explain_server", here,
            with_hosts=with_hosts, decision_of=decision_of,
        )  # fmt: skip
        mapping = self._find(context, instance_uuid)
        with self._database.reader() as session:
            walk = traces.find_walk(session, instance_uuid)
            own = traces.find_trace(session, instance_uuid) or {}
        if walk is not None:
            found = walk_explanations.with_walk(found, walk, with_hosts=with_hosts)
        if mapping is None or mapping.cell_uuid is not None:
            return found
        trace = found.trace
        if own.get("zones") and decision_of is None:
            if own["choices"] and walk is not None:
                choice = walk_explanations.choice_at(own["choices"][0], walk, found.instance.host)
                own = {**own, "choices": [choice]}
            if not with_hosts:
                own = decision_traces.without_hosts(own)
            trace = {**(trace or own), "zones": own["zones"]}
            if own["choices"] and walk_explanations.is_of_create(found):
                trace["choices"] = own["choices"]
        instance = as_mapped(found.instance, mapping)
        return dataclasses.replace(found, instance=instance, trace=trace)

    def list_migrations(
        self,
        context: RequestContext,
        *,
        filters: MigrationFilters,
        limit: int,
        here: Callable[[], MigrationPage],
    ) -> MigrationPage:
        """Return migrations as the server's zone lists them.

        Without ``instance_uuid`` in ``filters``, returns those that ``here()`` lists.

        Cells in that zone that did not answer are listed with the zone's name.
        """
        instance_uuid = filters.instance_uuid
        if not instance_uuid:
            return self._with_own_names(here())
        others = dataclasses.replace(filters, instance_uuid=None)
        found = self.ask(
            context, instance_uuid, "list_migrations", here, filters=others, limit=limit
        )
        mapping = self._find(context, instance_uuid)
        if mapping is None or mapping.cell_uuid is not None or not mapping.zone_path:
            return found
        down = [f"{name} of zone {mapping.zone_path}" for name in found.down_cells]
        return dataclasses.replace(found, down_cells=down)

    def _with_own_names(self, page: MigrationPage) -> MigrationPage:
        own = self._database.read(
            uuid_translation.of_own, {move.instance_uuid for move in page.migrations}
        )
        return dataclasses.replace(page, migrations=own.in_answer(page.migrations))

    def list_pages(
        self,
        context: RequestContext,
        *,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None,
        for_display: bool = False,
    ) -> ZonePages:
        """Return a page of the servers of each zone."""
        where = self._database.read(instance_mappings.zone_paths, filters.project_id)
        request = request_for(
            LIST_SERVERS, filters=filters, limit=limit, marker=marker, for_display=for_display
        )
        asked = {
            text: self._zones.forward(context, paths.from_text(text), request, is_one_of_many=True)
            for text in sorted(where)
            if text
        }
        found = ZonePages({}, [], [])
        for text, waiting in asked.items():
            try:
                page = decode_answer(LIST_SERVERS, waiting.wait())
            except exception.ArmillaryError:
                found.silent.append(text)
                found.down_cells.append(f"zone {text}")
            else:
                found.by_path[text] = page.instances
                found.down_cells.extend(f"{name} of zone {text}" for name in page.down_cells)
        return found

    def _find(self, context: RequestContext, instance_uuid: str) -> InstanceMapping | None:
        """Return the mapping of a server in another zone.

        Returns None for a local server, and for one that the caller cannot see.
        """
        mapping = self._database.read(instance_mappings.find_mapping, instance_uuid)
        if mapping is None or mapping.zone_path is None:
            return None
        return mapping if context.is_admin or mapping.project_id == context.project_id else None


def _place(mapping: InstanceMapping | None) -> tuple[str | None, str | None] | None:
    return None if mapping is None else (mapping.zone_path, mapping.cell_uuid)


def as_mapped(instance: Instance, mapping: InstanceMapping) -> Instance:
    """Return a server as this zone shows it: with its path, pending delete, project and user."""
    cell_reports.with_owner(instance, mapping)
    instance.zone = mapping.zone_path or None
    if instance.zone is not None:
        instance.cell_uuid = None
    if mapping.queued_for_delete:
        instance.task_state = "deleting"
    return instance


def place_of(mapping: InstanceMapping) -> str | None:
    """Return a mapping's place: a cell's UUID or a zone's place; None while it has neither."""
    if mapping.zone_path is not None and mapping.cell_uuid is None:
        return zone_place(mapping.zone_path)
    return mapping.cell_uuid


def zone_place(path: str) -> str:
    """Return the place name of a zone, distinct from every cell's UUID."""
    return f"zone {path}"
