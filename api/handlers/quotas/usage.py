"""Usage of projects over a time, from the records of their servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from typing import Any

from api.call import Call
from api.formats import times
from api.handlers.quotas.quota_set import load
from api.policies.quotas import usage as policies
from api.schemas.quotas import usage as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from objects.instance import Instance
from objects.instances.server_filters import ANY, ServerFilters

PERIOD = timedelta(weeks=4)
"""Time before the end, if the request does not say its start."""
EARLIEST = datetime.min.replace(tzinfo=UTC)
PAGES_SINCE = (2, 40)
"""Since this version clients ask for pages of servers; in earlier ones a response has all."""

SERVERS_PER_UNIT = 500
"""Servers that cost this process a unit of work, see ``api.work_budget``."""


@dataclass(frozen=True, slots=True)
class _Period:
    start: datetime
    stop: datetime
    now: datetime

    def hours(self, server: Instance) -> float:
        """Return how long a server existed within the period."""
        begin = max(_launched(server), self.start)
        end = min(_utc(server.deleted_at) or self.now, self.stop, self.now)
        return max((end - begin).total_seconds(), 0.0) / 3600


def index(call: Call) -> Answer:
    """List the usage of all projects; with ``detailed=1`` of each server."""
    period = _period(call)
    servers, links = _servers(call, period, None)
    servers.sort(key=lambda server: server.project_id)
    has_details = call.query.get("detailed", "0").lower() in ("1", "true")
    usages = [
        _usage(period, project_id, list(of_project), has_details=has_details)
        for project_id, of_project in groupby(servers, key=lambda server: server.project_id)
    ]
    return Answer({"tenant_usages": usages, **links("tenant_usages_links")})


def show(call: Call) -> Answer:
    """Show the usage of a project, with that of each server."""
    period, project_id = _period(call), call.path["project_id"]
    servers, links = _servers(call, period, project_id)
    usage = _usage(period, project_id, servers, has_details=True) if servers else {}
    return Answer({"tenant_usage": usage, **links("tenant_usage_links")})


def _period(call: Call) -> _Period:
    now = datetime.now(UTC)
    stop = times.asked(call.query, "end") or now
    start = times.asked(call.query, "start") or max(stop, EARLIEST + PERIOD) - PERIOD
    if start >= stop:
        raise invalid("start", call.query.get("start"), "It must be before the end")
    return _Period(start, stop, now)


def _servers(
    call: Call, period: _Period, project_id: str | None
) -> tuple[list[Instance], Callable[[str], Document]]:
    """Return the launched servers of a period, and what makes the link to the next page."""
    filters = ServerFilters(
        project_id=project_id,
        all_projects=bool(call.context.is_admin),
        existence=ANY,
        existed_since=period.start,
        created_before=period.stop,
    )
    marker = call.query.get("marker") if call.version >= PAGES_SINCE else None
    pages = _pages(call, filters, marker)
    if call.version < PAGES_SINCE:
        with call.expensive_work() as spent:
            servers: list[Instance] = []
            for page in pages:
                spent.add(_units(page))
                servers += [server for server in page if server.launched_at]
        return servers, _no_links
    with call.expensive_work() as spent:
        page = next(pages)
        spent.add(_units(page))
    is_full = len(page) == call.page_size and call.page_size > 0
    found = [server for server in page if server.launched_at]

    def links(name: str) -> Document:
        return {name: call.links.next_page(page[-1].uuid)} if is_full else {}

    return found, links


def _units(page: list[Instance]) -> float:
    return 0.1 + len(page) / SERVERS_PER_UNIT


def _no_links(name: str) -> Document:
    return {}


def _pages(call: Call, filters: ServerFilters, marker: str | None) -> Iterator[list[Instance]]:
    """Yield pages of servers, at least one."""
    size = call.page_size
    while True:
        page = call.conductor.list_servers(call.context, filters=filters, limit=size, marker=marker)
        yield page.instances
        if len(page.instances) < size or not page.instances:
            return
        marker = page.instances[-1].uuid


def _usage(
    period: _Period, project_id: str, servers: list[Instance], *, has_details: bool
) -> Document:
    hours = [period.hours(server) for server in servers]
    flavors = [server.flavor for server in servers]
    totals = {
        "total_hours": sum(hours),
        "total_vcpus_usage": sum(f.vcpus * h for f, h in zip(flavors, hours, strict=True)),
        "total_memory_mb_usage": sum(f.memory_mb * h for f, h in zip(flavors, hours, strict=True)),
        "total_local_gb_usage": sum(f.disk_gb * h for f, h in zip(flavors, hours, strict=True)),
    }
    details = {"server_usages": [_of_server(period, server) for server in servers]}
    return {
        "tenant_id": project_id,
        "start": times.microseconds(period.start),
        "stop": times.microseconds(period.stop),
        **totals,
        **(details if has_details else {}),
    }


def _of_server(period: _Period, server: Instance) -> Document:
    ended = _utc(server.deleted_at)
    return {
        "name": server.name,
        "instance_id": server.uuid,
        "tenant_id": server.project_id,
        "flavor": server.flavor.name,
        "hours": period.hours(server),
        "vcpus": server.flavor.vcpus,
        "memory_mb": server.flavor.memory_mb,
        "local_gb": server.flavor.disk_gb,
        "state": server.vm_state if ended is None else "terminated",
        "started_at": times.microseconds(_launched(server)),
        "ended_at": times.microseconds(ended),
        "uptime": int(((ended or period.now) - _launched(server)).total_seconds()),
    }


def _launched(server: Instance) -> datetime:
    assert server.launched_at is not None
    return _utc(server.launched_at)


def _utc(moment: datetime | None) -> Any:
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


ROUTES: Routes[Call] = {
    "/v2.1/os-simple-tenant-usage": {
        "GET": Action(index, policies.LIST, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY)
    },
    "/v2.1/os-simple-tenant-usage/{project_id}": {
        "GET": Action(
            show, policies.SHOW, schemas.SHOW_ANSWER, query=schemas.SHOW_QUERY, subject=load
        )
    },
}
