"""Servers that were asked for here and live in other zones: what is asked about them goes there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor import decisions, traces
from conductor.api_db import instance_mappings
from conductor.zones import names, paths
from conductor.zones.routes import Routes
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from objects.instance_mapping import InstanceMapping

T = TypeVar("T")

_NO_ANSWER = (exception.Unavailable, exception.InstanceNotFound, exception.ZoneNotFound)


class Elsewhere:
    """Finds out where a server is, and asks there."""

    def __init__(self, database: Database, zones: Routes) -> None:
        self._database = database
        self._zones = zones

    def is_there(self, context: RequestContext, instance_uuid: str) -> bool:
        """Return whether the caller can see this server, and another zone has it for sure."""
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
        """Return what the zone of a server answers, or ``here()`` for one that is in this zone.

        Of one that a silent zone may have, this zone has the record that says so.
        """
        mapping = self._find(context, instance_uuid)
        if mapping is None:
            return here()
        path = paths.from_text(str(mapping.zone_path))
        given = {"instance_uuid": instance_uuid, **arguments}
        try:
            answer: T = self._zones.forward(context, path, method, given).wait()
        except _NO_ANSWER:
            if mapping.cell_uuid != CELL0_UUID:
                raise
            return here()
        return answer

    def get_server(
        self, context: RequestContext, instance_uuid: str, here: Callable[[], Instance]
    ) -> Instance:
        """Return a server; one of another zone says so."""
        found = self.ask(context, instance_uuid, "get_server", here)
        mapping = self._find(context, instance_uuid)
        return found if mapping is None else as_mapped(found, mapping)

    def soft_delete(
        self, context: RequestContext, instance_uuid: str, here: Callable[[], bool]
    ) -> bool:
        """Have a server kept for a while that is to be deleted, if its zone does such; else False.

        A zone that does not answer is told later to delete it.
        """
        try:
            return self.ask(context, instance_uuid, "soft_delete", here)
        except (exception.ZoneUnavailable, exception.ZoneNotFound):
            return False

    def explain(
        self,
        context: RequestContext,
        instance_uuid: str,
        here: Callable[[], dict[str, Any]],
        **arguments: Any,
    ) -> dict[str, Any]:
        """Return why a server is where it is: what its zone knows, and which zones were asked."""
        found = self.ask(context, instance_uuid, "explain_server", here, **arguments)
        mapping = self._find(context, instance_uuid)
        if mapping is None or mapping.cell_uuid is not None:
            return found
        with self._database.reader() as session:
            decided = decisions.read(session, instance_uuid)
        zones = [] if decided.trace is None else decided.trace.get("zones", [])
        with_hosts = arguments.get("with_hosts")
        if not (context.is_admin if with_hosts is None else with_hosts):
            zones = traces.without_hosts({"zones": zones})["zones"]
        if zones and arguments.get("decision_of") is None:
            found["trace"] = {**(found["trace"] or decided.trace or {}), "zones": zones}
        found["instance"] = as_mapped(found["instance"], mapping)
        return found

    def list_migrations(
        self,
        context: RequestContext,
        *,
        filters: Mapping[str, Any],
        limit: int,
        here: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        """Return migrations as the zone of their server lists them; ``here()`` for no server's.

        Cells there that did not answer are named with their zone.
        """
        instance_uuid = filters.get("instance_uuid")
        if not instance_uuid:
            return self._with_own_names(here())
        others = {name: value for name, value in filters.items() if name != "instance_uuid"}
        found = self.ask(
            context, instance_uuid, "list_migrations", here, filters=others, limit=limit
        )
        mapping = self._find(context, instance_uuid)
        if mapping is None or mapping.cell_uuid is not None or not mapping.zone_path:
            return found
        down = [f"{name} of zone {mapping.zone_path}" for name in found["down_cells"]]
        return {**found, "down_cells": down}

    def _with_own_names(self, page: dict[str, Any]) -> dict[str, Any]:
        with self._database.reader() as session:
            own = names.of_own(session, {move.instance_uuid for move in page["migrations"]})
        return own.in_answer(page)

    def list_pages(
        self,
        context: RequestContext,
        *,
        filters: Mapping[str, Any],
        limit: int,
        marker: Mapping[str, str] | None,
    ) -> tuple[dict[str, list[Instance]], list[str]]:
        """Return path -> a page of the servers there, and names of zones that did not answer."""
        with self._database.reader() as session:
            where = instance_mappings.zone_paths(session, filters.get("project_id"))
        given = {"filters": dict(filters), "limit": limit, "marker": marker}
        asked = {
            text: self._zones.forward(
                context, paths.from_text(text), "list_servers", given, is_one_of_many=True
            )
            for text in sorted(where)
            if text
        }
        found: dict[str, list[Instance]] = {}
        down: list[str] = []
        for text, waiting in asked.items():
            try:
                page = waiting.wait()
            except exception.ArmillaryError:
                down.append(f"zone {text}")
            else:
                found[text] = page["instances"]
                down += [f"{name} of zone {text}" for name in page["down_cells"]]
        return found, down

    def _find(self, context: RequestContext, instance_uuid: str) -> InstanceMapping | None:
        """Return where a server is that the caller can see; None for one of this zone's cells."""
        with self._database.reader() as session:
            mapping = instance_mappings.find_mapping(session, instance_uuid)
        if mapping is None or mapping.zone_path is None:
            return None
        return mapping if context.is_admin or mapping.project_id == context.project_id else None


def as_mapped(instance: Instance, mapping: InstanceMapping) -> Instance:
    """Return a server as this zone shows it: with the way to its zone, and its delete."""
    instance.zone = mapping.zone_path or None
    if instance.zone is not None:
        instance.cell_uuid = None
    if mapping.queued_for_delete:
        instance.task_state = "deleting"
    return instance


def place_of(mapping: InstanceMapping) -> str | None:
    """Return the name of a mapping's place, among cells' UUIDs: null while nobody has it."""
    if mapping.zone_path is not None and mapping.cell_uuid is None:
        return zone_place(mapping.zone_path)
    return mapping.cell_uuid


def zone_place(path: str) -> str:
    """Return the name of a zone as a place, which no cell has."""
    return f"zone {path}"
