"""Dry runs: ask the scheduler for hosts without claiming or storing anything."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.accept import plain_specs, server_requests
from conductor.super_conductor.build import decision_traces, group_members
from conductor.super_conductor.db import aggregates, zone_walks
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.zones import paths
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.selection import Selection
from scheduler.interface import SchedulerAPI

_NAME = "dry-run"
_LISTS = ("alternates", "alternate_zones")


class DryRuns:
    """Endpoint: runs a scheduling decision like that of a build request, except for the claims."""

    def __init__(
        self, conf: cfg.ConfigOpts, database: Database, cells: Cells, scheduler: SchedulerAPI
    ) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells
        self._scheduler = scheduler

    def dry_run(
        self, context: RequestContext, request: dict[str, Any], *, with_hosts: bool
    ) -> dict[str, Any]:
        """See ``SuperConductorAPI``."""
        with self._database.reader() as session:
            spec = self._spec(session, context, request)
        if spec.instance_group is not None:
            group_members.refresh(
                spec.instance_group, self._database, self._cells, request_id=context.request_id
            )
        answer: dict[str, Any]
        try:
            found = self._ask(context, spec)
        except exception.NoValidHost as error:
            answer = {"hosts": [], "trace": _failed(error)}
        else:
            hosts = self._in_zones(spec, found) if found.zone_entries else _hosts(found)
            answer = {"hosts": hosts, "trace": found.trace.to_plain()}
        with self._database.reader() as session:
            answer["trace"] = decision_traces.with_names(
                answer["trace"], lambda: aggregates.names_by_uuid(session)
            )
        return answer if with_hosts else _without_hosts(answer)

    def _spec(
        self, session: Session, context: RequestContext, request: dict[str, Any]
    ) -> RequestSpec:
        if request.get("request_spec") is None:
            asked = server_requests.resolve(
                session, self._conf, context, {"name": _NAME, **request["server"]}, {}
            )
            return asked.spec(context, count=asked.max_count)
        spec = plain_specs.read(session, self._conf, context, request["request_spec"])
        count_max = self._conf.conductor.max_count
        if not 1 <= spec.num_instances <= count_max:
            raise exception.Invalid(
                reason=f"num_instances must be 1 to {count_max}, not {spec.num_instances}"
            )
        return spec

    def _ask(self, context: RequestContext, spec: RequestSpec) -> Destinations:
        count = spec.num_instances
        uuids = [str(uuid.uuid4()) for _ in range(count)]
        return self._scheduler.select_destinations(
            context,
            spec,
            uuids,
            fences=[0] * count,
            return_alternates=True,
            dry_run=True,
            takes_zones=True,
        )

    def _in_zones(self, spec: RequestSpec, found: Destinations) -> list[dict[str, Any]]:
        """Return where each instance would be built first, and its further candidates in order."""
        entries, count = found.zone_entries, spec.num_instances
        starts = zone_walks.starts(len(entries), count, together=group_members.are_bound(spec))
        shown_max = min(len(entries), self._conf.zones.entries_max)
        return [
            _in_zone([entries[(start + step) % len(entries)] for step in range(shown_max)])
            for start in starts
        ]


def _hosts(found: Destinations) -> list[dict[str, Any]]:
    return [
        {
            **_host(chosen),
            "alternates": [other.service_host for other in alternates],
            "alternate_zones": [None] * len(alternates),
        }
        for chosen, *alternates in found.selections()
    ]


def _host(selection: Selection) -> dict[str, Any]:
    return {
        "host": selection.service_host,
        "node": selection.nodename,
        "availability_zone": selection.availability_zone,
        "allocations": selection.allocation_request,
        "zone": None,
        "host_id": selection.compute_node_uuid,
    }


def _in_zone(entries: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a host that a zone offered, and the candidates after it.

    Only the zone of a host knows its allocations and the host's name.
    """
    first, *others = entries
    return {
        "host": first.get("host"),
        "node": first.get("node"),
        "availability_zone": first.get("availability_zone"),
        "allocations": {},
        "zone": _zone(first),
        "host_id": first["host_id"],
        "alternates": [other.get("host") for other in others],
        "alternate_zones": [_zone(other) for other in others],
    }


def _zone(entry: dict[str, Any]) -> str | None:
    return paths.to_text(entry["path"]) or None


def _failed(error: exception.NoValidHost) -> dict[str, Any]:
    trace = decision_traces.from_error(error.kwargs.get("trace"))
    if trace is None:
        raise error
    return trace.to_plain()


def _without_hosts(answer: dict[str, Any]) -> dict[str, Any]:
    hidden: dict[str, Any] = {
        "host": None, "node": None, "allocations": {}, "zone": None, "host_id": None,
    }  # fmt: skip
    return {
        "hosts": [
            {**each, **hidden, **dict.fromkeys(_LISTS, [None] * len(each["alternates"]))}
            for each in answer["hosts"]
        ],
        "trace": decision_traces.without_hosts(answer["trace"]),
    }
