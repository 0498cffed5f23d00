"""Dry runs: ask the scheduler for hosts without claiming or storing anything."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.accept import plain_specs, server_requests
from conductor.super_conductor.builds import decision_traces, group_members
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.db.zones import zone_walks
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.zones import paths
from objects.destinations import Destinations
from objects.instances.explanation import DryRun
from objects.instances.new_servers import DryRunHost, DryRunRequest
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import PlainTrace
from scheduler.interface import SchedulerAPI


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
        self, context: RequestContext, request: DryRunRequest, *, with_hosts: bool
    ) -> DryRun:
        """See ``SuperConductorAPI``."""
        spec = self._database.read(self._spec, context, request)
        if spec.instance_group is not None:
            group_members.refresh(
                spec.instance_group, self._database, self._cells, request_id=context.request_id
            )
        try:
            found = self._ask(context, spec)
        except exception.NoValidHost as error:
            answer = DryRun([], _failed(error))
        else:
            hosts = self._in_zones(spec, found) if found.zone_entries else _hosts(found)
            answer = DryRun(hosts, found.trace.to_plain())
        with self._database.reader() as session:
            trace = decision_traces.with_names(
                answer.trace, lambda: aggregates.names_by_uuid(session)
            )
        if with_hosts:
            return DryRun(answer.hosts, trace)
        return DryRun(
            [_without_names(each) for each in answer.hosts], decision_traces.without_hosts(trace)
        )

    def _spec(
        self, session: Session, context: RequestContext, request: DryRunRequest
    ) -> RequestSpec:
        if request.servers is not None:
            asked = server_requests.resolve(session, self._conf, context, request.servers, {})
            return asked.spec(context, count=asked.max_count)
        spec = plain_specs.read(session, self._conf, context, request.request_spec or {})
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

    def _in_zones(self, spec: RequestSpec, found: Destinations) -> list[DryRunHost]:
        """Return where each instance would be built first, and its further candidates in order."""
        entries, count = found.zone_entries, spec.num_instances
        starts = zone_walks.starts(len(entries), count, together=group_members.are_bound(spec))
        shown_max = min(len(entries), self._conf.zones.entries_max)
        return [
            _in_zone([entries[(start + step) % len(entries)] for step in range(shown_max)])
            for start in starts
        ]


def _hosts(found: Destinations) -> list[DryRunHost]:
    return [
        DryRunHost(
            host=chosen.service_host,
            node=chosen.nodename,
            availability_zone=chosen.availability_zone,
            allocations=chosen.allocation_request,
            host_id=chosen.compute_node_uuid,
            alternates=[other.service_host for other in alternates],
            alternate_zones=[None] * len(alternates),
        )
        for chosen, *alternates in found.selections()
    ]


def _in_zone(entries: Sequence[Mapping[str, Any]]) -> DryRunHost:
    """Return a host that a zone offered, and the candidates after it."""
    first, *others = entries
    return DryRunHost(
        host=first.get("host"),
        node=first.get("node"),
        availability_zone=first.get("availability_zone"),
        zone=_zone(first),
        host_id=first["host_id"],
        alternates=[other.get("host") for other in others],
        alternate_zones=[_zone(other) for other in others],
    )


def _zone(entry: Mapping[str, Any]) -> str | None:
    return paths.to_text(entry["path"]) or None


def _failed(error: exception.NoValidHost) -> PlainTrace:
    trace = decision_traces.from_error(error.kwargs.get("trace"))
    if trace is None:
        raise error
    return trace.to_plain()


def _without_names(host: DryRunHost) -> DryRunHost:
    """Return only how many candidates there are, and the availability zone of the first."""
    unnamed: list[str | None] = [None] * len(host.alternates)
    return DryRunHost(
        availability_zone=host.availability_zone, alternates=unnamed, alternate_zones=unnamed
    )
