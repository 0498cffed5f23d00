"""Packed form of the selections of one answer, with repeated values written once.

The packed form is a plain dict of tables: ``cells`` and ``zones`` (strings), ``limits``
(primitives), ``resources`` (class -> amount) and ``hosts``: rows of compute_node_uuid,
service_host, nodename, cell, limits, zone and allocation request. The latter is a row number in
``resources`` if it has the host's own resources only. Other numbers refer to the other tables.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from objects.packed import unchecked
from objects.packed.distinct_rows import DistinctRows
from objects.request_spec import SchedulerLimits
from objects.selection import Selection

Plain = dict[str, Any]


class SelectionPacker:
    """Packs selections, each object once."""

    def __init__(self) -> None:
        self._hosts, self._cells, self._zones, self._limits, self._resources = (
            DistinctRows() for _ in range(5)
        )

    def index(self, selection: Selection) -> int:
        """Return the index of a selection among the packed ones, adding it if new."""

        def make() -> tuple[Hashable, Any]:
            return id(selection), self._row(selection)

        return self._hosts.index_of(id(selection), selection, make)

    def packed(self) -> Plain:
        """Return the packed form."""
        return {
            "cells": self._cells.rows,
            "zones": self._zones.rows,
            "limits": self._limits.rows,
            "resources": self._resources.rows,
            "hosts": self._hosts.rows,
        }

    def _row(self, selection: Selection) -> list[Any]:
        uuid, cell, zone = (
            selection.compute_node_uuid, selection.cell_uuid, selection.availability_zone
        )  # fmt: skip
        return [
            uuid,
            selection.service_host,
            selection.nodename,
            self._cells.index(cell, cell),
            self._index_of_limits(selection.limits),
            self._zones.index(zone, zone),
            self._claimed(uuid, selection.allocation_request),
        ]

    def _index_of_limits(self, limits: SchedulerLimits | None) -> int:
        if limits is None:
            return self._limits.index(None, None)
        key = (limits.memory_mb, limits.disk_gb, limits.vcpu, repr(limits.numa_topology))
        return self._limits.index_of(id(limits), limits, lambda: (key, limits.obj_to_primitive()))

    def _claimed(self, uuid: str, request: Plain) -> Any:
        if len(request) != 1 or uuid not in request or request[uuid].keys() != {"resources"}:
            return request
        resources = request[uuid]["resources"]
        return self._resources.index(tuple(resources.items()), resources)


def unpack(packed: Plain) -> list[Selection]:
    """Return the selections; shared values are one object and must not be changed.

    Raises ``LookupError``, ``TypeError`` or ``ValueError`` for a malformed form.
    """
    limits = [
        None if each is None else SchedulerLimits.obj_from_primitive(each)
        for each in packed["limits"]
    ]
    cells, zones, resources = packed["cells"], packed["zones"], packed["resources"]
    return [
        unchecked.make(
            Selection,
            compute_node_uuid=uuid,
            service_host=host,
            nodename=nodename,
            cell_uuid=cells[cell],
            limits=limits[limit],
            allocation_request=(
                {uuid: {"resources": resources[claimed]}} if isinstance(claimed, int) else claimed
            ),
            availability_zone=zones[zone],
        )
        for uuid, host, nodename, cell, limit, zone, claimed in packed["hosts"]
    ]
