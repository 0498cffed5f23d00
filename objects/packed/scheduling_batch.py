"""SchedulingBatch and SchedulingAnswers: many requests, and their answers, in one message.

Requests often have equal specs, which are sent once. Each is answered separately, by destinations
or by the error that a call for it alone would have raised.

Selections are packed as a plain dict of tables: ``cells`` and ``zones`` (strings), ``limits``
(primitives), ``resources`` (class -> amount) and ``hosts``: rows of compute_node_uuid,
service_host, nodename, cell, limits, zone and allocation request. The latter is a row number in
``resources`` if it has the host's own resources only. Other numbers refer to the other tables.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Self

import numpy as np

from armillary import exception
from objects import base, fields
from objects.destinations import Destinations
from objects.packed import packed_traces, unchecked
from objects.packed.distinct_rows import DistinctRows
from objects.request_spec import RequestSpec, SchedulerLimits
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace

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


Answer = Destinations | Exception

_IGNORED_FIELDS = frozenset({"instance_uuid"})
"""Fields ignored in comparisons: a scheduler uses the instances of the request."""


@dataclasses.dataclass(frozen=True, slots=True)
class BatchedRequest:
    """A request: a spec and its instances, each with the fence of its claim."""

    request_spec: RequestSpec
    instance_uuids: Sequence[str]
    fences: Sequence[int]
    request_id: str | None = None
    return_alternates: bool = True
    takes_zones: bool = True
    """Whether the caller supports ``zone_entries``."""


@base.ArmillaryObjectRegistry.register
class SchedulingBatch(base.ArmillaryObject):
    """Requests for hosts.

    A request is a dict with spec (an index into ``specs``), instance_uuids, fences, request_id,
    return_alternates and takes_zones.
    """

    specs: list[RequestSpec] = fields.ListOfObjectsField("RequestSpec")
    requests: list[dict[str, Any]] = fields.JSONField()

    @classmethod
    def of(cls, requests: Iterable[BatchedRequest]) -> Self:
        """Return a batch of the requests, with equal specs once."""
        distinct: list[RequestSpec] = []
        index_of: dict[int, int] = {}
        packed = []
        for each in requests:
            index = index_of.get(id(each.request_spec))
            if index is None:
                index = _index_of(each.request_spec, distinct)
                index_of[id(each.request_spec)] = index
            packed.append(
                {
                    "spec": index,
                    "instance_uuids": list(each.instance_uuids),
                    "fences": list(each.fences),
                    "request_id": each.request_id,
                    "return_alternates": each.return_alternates,
                    "takes_zones": each.takes_zones,
                }
            )
        return cls.from_values(specs=distinct, requests=packed)

    def unpacked(self) -> list[BatchedRequest]:
        """Return the requests. Raises ``Invalid`` for an invalid spec index."""
        found = []
        for each in self.requests:
            index = each["spec"]
            if not 0 <= index < len(self.specs):
                raise exception.Invalid(
                    reason=f"a request refers to spec {index} of a batch of {len(self.specs)}"
                )
            found.append(
                BatchedRequest(
                    self.specs[index],
                    each["instance_uuids"],
                    each["fences"],
                    each["request_id"],
                    each["return_alternates"],
                    each["takes_zones"],
                )
            )
        return found


@base.ArmillaryObjectRegistry.register
class SchedulingAnswers(base.ArmillaryObject):
    """Answers in the order of the requests, with repeated values written once.

    ``hosts`` and ``traces`` are packed (``packed_selections``, ``packed_traces``). An answer is a
    dict with choices (for each instance indexes into ``hosts``) and trace (an index into
    ``traces``), or with error (the name of a class of ``armillary.exception``), message and facts.
    Callers that support zones may also get zone_entries.
    """

    hosts: Any = fields.JSONField()
    traces: dict[str, Any] = fields.JSONField(default={})
    answers: list[dict[str, Any]] = fields.JSONField()

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> Self:
        """Return the packed answers; an error that is not an ArmillaryError becomes its text."""
        hosts = SelectionPacker()
        traces: list[DecisionTrace] = []
        packed = []
        for answer in answers:
            if isinstance(answer, Exception):
                packed.append(_packed_error(answer))
                continue
            row = {"choices": _packed_choices(answer, hosts.index), "trace": len(traces)}
            if answer.zone_entries:
                row["zone_entries"] = answer.zone_entries
            packed.append(row)
            traces.append(answer.trace)
        return unchecked.make(
            cls, hosts=hosts.packed(), traces=packed_traces.pack(traces), answers=packed
        )

    def unpacked(self) -> list[Answer]:
        """Return the answers; those with the same host share its selection.

        Raises ``RpcFailed`` for malformed answers.
        """
        try:
            return self._unpacked()
        except (LookupError, TypeError, ValueError) as error:
            raise exception.RpcFailed(
                method="select_destinations_many", topic="scheduler",
                reason=f"malformed answers: {error!r}",
            ) from error  # fmt: skip

    def _unpacked(self) -> list[Answer]:
        hosts = unpack(self.hosts)
        traces = list(packed_traces.unpack(self.traces))
        return [
            _unpacked_error(each)
            if "error" in each
            else _unpacked(
                hosts, each["choices"], traces[each["trace"]], each.get("zone_entries") or []
            )
            for each in self.answers
        ]


def _index_of(spec: RequestSpec, distinct: list[RequestSpec]) -> int:
    """Return the index of an equal spec, adding it if there is none."""
    for index, known in enumerate(distinct):
        if known.is_equal(spec, but=_IGNORED_FIELDS):
            return index
    distinct.append(spec)
    return len(distinct) - 1


def _packed_error(error: Exception) -> dict[str, object]:
    if isinstance(error, exception.ArmillaryError):
        return {"error": type(error).__name__, "message": error.message, "facts": error.kwargs}
    return {"error": "", "message": f"{type(error).__name__}: {error}", "facts": {}}


def _packed_choices(answer: Destinations, index: Callable[[Selection], int]) -> list[list[int]]:
    indexes = [index(host) for host in answer.hosts]
    return [[indexes[choice] for choice in row if choice >= 0] for row in answer.choices.tolist()]


def _unpacked(
    hosts: Sequence[Selection],
    chosen: Sequence[Sequence[int]],
    trace: DecisionTrace,
    zone_entries: Sequence[dict[str, object]] = (),
) -> Destinations:
    index_of: dict[int, int] = {}
    rows = [[index_of.setdefault(choice, len(index_of)) for choice in row] for row in chosen]
    width = max(map(len, rows), default=0)
    padded = [row + [-1] * (width - len(row)) for row in rows]
    return unchecked.make(
        Destinations,
        hosts=[hosts[choice] for choice in index_of],
        choices=np.array(padded, dtype=np.int64).reshape(len(rows), width),
        trace=trace,
        zone_entries=list(zone_entries),
    )


def _unpacked_error(packed: dict[str, Any]) -> Exception:
    made = getattr(exception, packed["error"], None) if packed["error"] else None
    if not (isinstance(made, type) and issubclass(made, exception.ArmillaryError)):
        return exception.RpcFailed(
            method="select_destinations", topic="scheduler", reason=packed["message"]
        )
    return made(packed["message"], **packed["facts"])
