"""Orphans: consumers in placement whose server, migration or claim does not exist (any more)."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.builds.cell0 import Cell0
from conductor.super_conductor.db import (
    build_requests,
    claims,
    cleanups,
    host_mappings,
    instance_mappings,
    moves,
)
from conductor.super_conductor.hosts.cells import Cells
from objects.cell_mapping import CELL0_UUID
from objects.claims.resource_kinds import known_kinds
from objects.instances.instance_mapping import InstanceMapping
from objects.repair_answers import OrphanSearch
from placement.interface import PlacementAPI

CONSUMERS_MAX = 1000


@dataclasses.dataclass(frozen=True)
class _Search:
    """Consumers that no answering cell knows, and the cells that did not answer."""

    missing: set[str]
    down_uuids: set[str]
    down_names: list[str]


class Orphans:
    """Endpoint, see ``SuperConductorAPI``: looks for servers wherever they may be.

    In doubt, a server is assumed to exist.
    """

    def __init__(
        self, database: Database, cells: Cells, cell0: Cell0, placement: PlacementAPI
    ) -> None:
        self._database = database
        self._cells = cells
        self._cell0 = cell0
        self._placement = placement

    def find_orphans(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        _check_count(consumers)
        # Build requests are read first: a server that moves to a cell is seen twice rather than
        # never.
        unseen = set(consumers) - self._pending(consumers)
        mappings = self._database.read(instance_mappings.find_mappings, unseen)
        unseen -= {uuid for uuid, mapping in mappings.items() if self._is_in_cell0(mapping)}
        search = self._search(context, unseen)
        unsure = {uuid for uuid in search.missing if _may_be_in(mappings.get(uuid), search)}
        return self._answer(consumers, search, unsure)

    def find_orphan_migrations(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        _check_count(consumers)
        with self._database.reader() as session:  # read first, as above
            unseen = set(consumers) - moves.known(session, consumers)
        search = self._search_migrations(context, unseen)
        return self._answer(consumers, search, search.missing if search.down_names else set())

    def find_orphan_claims(
        self, context: RequestContext, consumers: Mapping[str, Sequence[str]]
    ) -> OrphanSearch:
        _check_count(consumers)
        with self._database.reader() as session:
            gone = set(consumers) - claims.known(session, consumers)
        pools = self._pools(context) if gone else set()
        ours = {uuid for uuid in gone if not pools.isdisjoint(consumers[uuid])}
        return OrphanSearch(sorted(ours), sorted(gone - ours), unsure=[], down_cells=[])

    def _pools(self, context: RequestContext) -> set[str]:
        return {
            pool.uuid
            for kind in known_kinds().values()
            for pool in self._placement.list_pools(context, kind.trait)
        }

    def _answer(
        self, consumers: Mapping[str, Sequence[str]], search: _Search, unsure: set[str]
    ) -> OrphanSearch:
        gone = search.missing - unsure
        ours = self._ours(gone, consumers)
        return OrphanSearch(sorted(ours), sorted(gone - ours), sorted(unsure), search.down_names)

    def _search_migrations(self, context: RequestContext, uuids: Collection[str]) -> _Search:
        """Query all cells for running migrations: a server may have gone to another cell."""
        if not uuids:
            return _Search(set(), set(), [])
        cells = self._cells.list_cells()
        living = self._cells.ask_all(
            lambda cell: cell.find_living_migrations(context, sorted(uuids)), among=cells
        )
        missing = set(uuids).difference(*living.by_cell.values())
        return _Search(missing, set(), sorted(living.down_cells))

    def _pending(self, uuids: Collection[str]) -> set[str]:
        """Return the servers that are being built, and those that still have to be cleaned up."""
        with self._database.reader() as session:
            being_built = build_requests.known(session, uuids)
            to_clean_up = cleanups.list_cleanups(session, uuids)
        return being_built | {one.instance_uuid for one in to_clean_up}

    def _is_in_cell0(self, mapping: InstanceMapping) -> bool:
        if mapping.cell_uuid != CELL0_UUID:
            return False
        try:
            self._cell0.get_instance(mapping.instance_uuid)
        except exception.InstanceNotFound:
            return False
        return True

    def _search(self, context: RequestContext, uuids: Collection[str]) -> _Search:
        """Query all cells: a server may be in one without being mapped to it."""
        if not uuids:
            return _Search(set(), set(), [])
        cells = self._cells.list_cells()
        on_hosts = self._cells.ask_all(
            lambda cell: cell.find_instance_hosts(context, sorted(uuids)), among=cells
        )
        missing = set(uuids).difference(*on_hosts.by_cell.values())
        down = set(on_hosts.down_cells)
        if missing:
            known = self._cells.ask_all(
                lambda cell: _living(cell, context, sorted(missing)), among=cells
            )
            missing = missing.difference(*known.by_cell.values())
            down |= set(known.down_cells)
        return _Search(missing, {cell.uuid for cell in cells if cell.name in down}, sorted(down))

    def _ours(self, uuids: set[str], consumers: Mapping[str, Sequence[str]]) -> set[str]:
        """Return the consumers with allocations on a host that is mapped to one of our cells."""
        if not uuids:
            return set()
        with self._database.reader() as session:
            nodes = host_mappings.cells_of_nodes(session).keys()
        return {uuid for uuid in uuids if not nodes.isdisjoint(consumers[uuid])}


def _check_count(consumers: Mapping[str, Sequence[str]]) -> None:
    if len(consumers) > CONSUMERS_MAX:
        raise exception.Invalid(
            reason=f"got {len(consumers)} consumers, at most {CONSUMERS_MAX} are allowed"
        )


def _living(cell: CellConductorAPI, context: RequestContext, uuids: Sequence[str]) -> set[str]:
    """Return the instances that live in a cell, with or without a host."""
    found = set()
    for uuid in uuids:
        try:
            cell.get_instance(context, uuid)
        except exception.InstanceNotFound:
            continue
        found.add(uuid)
    return found


def _may_be_in(mapping: InstanceMapping | None, search: _Search) -> bool:
    """Return whether the server may be in a cell that did not answer."""
    if mapping is None:
        return bool(search.down_uuids)
    return mapping.cell_uuid in search.down_uuids
