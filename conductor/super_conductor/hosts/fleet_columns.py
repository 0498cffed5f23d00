"""The fleet's columns: what scheduler, placement and metadata say about hosts, joined by node."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import cells
from conductor.super_conductor.db.catalogue import aggregates
from objects.aggregate import Aggregate
from objects.hosts.fleet import (
    DISABLED,
    DOWN,
    DRAINING,
    UP,
    FleetAggregate,
    FleetPage,
    FleetUsage,
    HostColumns,
)

Numbers = NDArray[np.int64]

_NUMBERS = (
    "cell", "zone", "state", "servers", "aggregate_set", "capacity", "used", "trait_set",
)  # fmt: skip
NO_INVENTORY = -1
_TEXTS = ("node_uuids", "hosts")
_COLUMNS = (*_TEXTS, *_NUMBERS)


@dataclasses.dataclass(frozen=True)
class HostPlaces:
    """Names of cells, and the aggregates of hosts, as of a version of the metadata."""

    seq: int
    cell_names: dict[str, str]
    zones: list[str]
    default_zone: int
    zone_of: dict[str, int]
    aggregates: list[FleetAggregate]
    aggregate_sets: list[list[int]]
    set_of: dict[str, int]


def places_of(session: Session, seq: int, default_zone: str) -> HostPlaces:
    known = aggregates.list_aggregates(session)
    named = {one.availability_zone for one in known if one.availability_zone is not None}
    zones = sorted({default_zone, *named})
    numbers = {name: index for index, name in enumerate(zones)}
    zone_of = {
        host: numbers[one.availability_zone]
        for one in known
        if one.availability_zone is not None
        for host in one.hosts
    }
    sets, set_of = _aggregate_sets(known)
    return HostPlaces(
        seq=seq,
        cell_names={cell.uuid: cell.name for cell in cells.list_cells(session)},
        zones=zones,
        default_zone=numbers[default_zone],
        zone_of=zone_of,
        aggregates=[{"name": one.name, "metadata": dict(one.metadata)} for one in known],
        aggregate_sets=sets,
        set_of=set_of,
    )


def _aggregate_sets(known: Sequence[Aggregate]) -> tuple[list[list[int]], dict[str, int]]:
    """Return the different sets of aggregates, the empty one first, and each host's."""
    of_host: dict[str, list[int]] = {}
    for index, one in enumerate(known):
        for host in one.hosts:
            of_host.setdefault(host, []).append(index)
    numbers: dict[tuple[int, ...], int] = {(): 0}
    set_of = {host: numbers.setdefault(tuple(own), len(numbers)) for host, own in of_host.items()}
    return [list(each) for each in numbers], set_of


@dataclasses.dataclass(frozen=True)
class Order:
    """Which rows of two answers are about each host, by name; the same while no host comes or goes.

    ``rows`` are those of the hosts, ``found`` those of their use, -1 where there is none.
    """

    hosts: HostColumns
    provider_uuids: list[str]
    names: list[str]
    uuids: list[str]
    rows: NDArray[np.intp]
    found: Numbers

    @classmethod
    def of(cls, hosts: HostColumns, usage: FleetUsage, former: Order | None) -> Order:
        """Return the order of two answers: the former one where they have the same hosts."""
        if former is not None and former.fits(hosts, usage):
            return former
        rows = sorted(
            range(len(hosts.hosts)), key=lambda row: (hosts.hosts[row], hosts.node_uuids[row])
        )
        uuids = [hosts.node_uuids[row] for row in rows]
        return cls(
            hosts,
            usage.provider_uuids,
            [hosts.hosts[row] for row in rows],
            uuids,
            np.array(rows, np.intp),
            _rows_of(usage.provider_uuids, uuids),
        )

    def fits(self, hosts: HostColumns, usage: FleetUsage) -> bool:
        return (
            self.hosts.hosts == hosts.hosts
            and self.hosts.node_uuids == hosts.node_uuids
            and self.provider_uuids == usage.provider_uuids
        )


def joined(hosts: HostColumns, usage: FleetUsage, places: HostPlaces, order: Order) -> FleetPage:
    """Return all hosts on one page, by name."""
    rows, names, uuids, found = order.rows, order.names, order.uuids, order.found
    servers, disabled = hosts.servers[rows], hosts.disabled[rows]
    capacity = _taken(usage.capacity, found, NO_INVENTORY)
    of_hosts = (capacity != NO_INVENTORY).any(axis=0)  # others are those of pools
    page = FleetPage.from_values(
        epoch="",
        node_uuids=uuids,
        hosts=names,
        cells=[places.cell_names.get(uuid, uuid) for uuid in hosts.cells],
        cell=hosts.cell[rows],
        zones=places.zones,
        zone=_numbers(places.zone_of.get(name, places.default_zone) for name in names),
        state=_states(hosts.up[rows], disabled, servers),
        servers=servers,
        aggregates=places.aggregates,
        aggregate_sets=places.aggregate_sets,
        aggregate_set=_numbers(places.set_of.get(name, 0) for name in names),
        resource_classes=list(itertools.compress(usage.resource_classes, of_hosts.tolist())),
        capacity=capacity[:, of_hosts],
        used=_taken(usage.used, found, 0)[:, of_hosts],
        traits=usage.traits,
        trait_sets=[*usage.trait_sets, []],
        trait_set=_taken(usage.trait_set, found, len(usage.trait_sets)),
    )
    page.epoch = _fingerprint(page)
    return page


def are_equal(one: HostColumns, other: HostColumns) -> bool:
    """Return whether two answers of schedulers are the same."""
    texts = ("node_uuids", "hosts", "cells")
    if any(getattr(one, name) != getattr(other, name) for name in texts):
        return False
    numbers = ("cell", "up", "disabled", "servers")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in numbers)


def page_of(whole: FleetPage, limit: int, marker: str | None) -> FleetPage:
    """Return at most ``limit`` hosts after the node ``marker``. Raises Invalid for another one."""
    total = len(whole.node_uuids)
    if marker is None and total <= limit:
        return whole
    first = 0 if marker is None else _place_after(whole.node_uuids, marker)
    cut = slice(first, first + limit)
    columns = {name: getattr(whole, name)[cut] for name in _COLUMNS}
    page = whole.with_values(**columns)
    page.next_marker = page.node_uuids[-1] if first + limit < total else None
    page.epoch = _fingerprint(page)
    return page


def without_rows(epoch: str) -> FleetPage:
    """Return the answer to a caller that knows the page."""
    nothing = np.empty(0, np.int64)
    empty = dict.fromkeys(_NUMBERS, nothing)
    return FleetPage.from_values(empty, epoch=epoch, next_marker=None)


def _place_after(uuids: list[str], marker: str) -> int:
    try:
        return uuids.index(marker) + 1
    except ValueError as error:
        raise exception.Invalid(
            reason=f"the marker {marker} is not a node of the fleet; begin at the first page"
        ) from error


def _rows_of(known: list[str], wanted: list[str]) -> Numbers:
    """Return the place of each wanted UUID among the known ones, -1 for an unknown one."""
    places = {uuid: place for place, uuid in enumerate(known)}
    return _numbers(places.get(uuid, -1) for uuid in wanted)


def _taken(column: Numbers, rows: Numbers, missing: int) -> Numbers:
    """Return the rows of a column, ``missing`` for those at -1."""
    if not len(column):
        return np.full((len(rows), *column.shape[1:]), missing, np.int64)
    found = column[rows]
    found[rows < 0] = missing
    return found


def _states(up: NDArray[np.bool_], disabled: NDArray[np.bool_], servers: Numbers) -> Numbers:
    """Return the state of each host; one that is down is down whatever else it is."""
    resting = np.where(servers > 0, DRAINING, DISABLED)
    states: Numbers = np.where(~up, DOWN, np.where(disabled, resting, UP)).astype(np.int64)
    return states


def _numbers(values: Iterable[int]) -> Numbers:
    return np.fromiter(values, np.int64)


def _fingerprint(page: FleetPage) -> str:
    """Return a fingerprint that changes with any value on the page."""
    digest = hashlib.blake2b(digest_size=16)
    for name in page.fields:
        if name == "epoch":
            continue
        value = getattr(page, name)
        if isinstance(value, np.ndarray):
            digest.update(repr(value.shape).encode())
            digest.update(np.ascontiguousarray(value).tobytes())
        elif name in _TEXTS:  # long, and without this character
            digest.update("\n".join(value).encode())
        else:
            digest.update(json.dumps(value).encode())
    return digest.hexdigest()
