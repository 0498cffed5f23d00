"""Current activity of the services: figures, work under way, the zones' summaries."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from api.call import Call
from api.formats import times
from api.handlers.console.fleet_host import shown_service
from api.handlers.scheduling.zone import nested
from api.policies.console import fleet as policies
from api.schemas.console import now as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.hosts.activity import Activity, CellActivity
from objects.zones.zone_status import ZoneStatus

REPORTED = (
    "decisions_total", "decisions_per_second", "no_valid_host_total", "no_valid_host_per_second",
    "claims_refused_total", "claims_refused_per_second", "leases_taken_over_total", "queue_length",
)  # fmt: skip
"""Figures of services that are summed; 0 if none reports them."""
UNDER_WAY: Mapping[str, str] = {
    "reservations": "requests_under_way",
    "instance_builds": "builds_under_way",
    "instance_operations": "operations_under_way",
    "moves": "moves_under_way",
    "instance_deletes": "deletes_under_way",
    "claims": "claims_under_way",
}
"""Table of leased work -> the total of its rows."""


def show(call: Call) -> Answer:
    """Show what all services do now; the answer's size does not depend on the number of hosts."""
    found = call.conductor.get_activity(call.context)
    now = datetime.now(UTC)
    parts = list(_parts(found))
    return Answer(
        {
            "at": times.seconds(now),
            "services": [each for cell, part in parts for each in _services(cell, part)],
            "hosts": _hosts(parts),
            "zones": [_zone(zone, now) for zone in found.zones],
            "works": [each for cell, part in parts for each in _works(cell, part)],
            "totals": _totals(part for _cell, part in parts),
            "down_cells": found.down_cells,
        },
        headers={"Cache-Control": "private, no-store"},
    )


def _parts(found: Activity) -> Iterator[tuple[str | None, CellActivity]]:
    """Yield the name of each cell with its part; None for the services on the top broker."""
    yield None, found.on_top
    yield from sorted(found.cells.items())


def _services(cell: str | None, part: CellActivity) -> Iterator[Document]:
    sums: dict[tuple[str, str], Counter[str]] = {}
    for worker in part.figures:
        sums.setdefault((worker.host, worker.binary), Counter()).update(worker.figures)
    for service in part.services:
        figures = sums.get((service.host, service.binary), Counter())
        yield {**shown_service(service), "cell": cell, "figures": _rounded(figures)}


def _hosts(parts: Sequence[tuple[str | None, CellActivity]]) -> Document:
    counts = [part.hosts for _cell, part in parts]
    return {
        "total": sum(each.total for each in counts),
        "up": sum(each.up for each in counts),
        "disabled": sum(each.disabled for each in counts),
        "down": [
            {**shown_service(service), "cell": cell}
            for cell, part in parts
            for service in part.down_hosts
        ],
    }


def _works(cell: str | None, part: CellActivity) -> Iterator[Document]:
    for work in part.works:
        yield {
            "cell": cell,
            "kind": work.table,
            "operation": work.operation,
            "stage": work.stage,
            "count": work.count,
            "without_lease": work.free,
        }


def _totals(parts: Iterator[CellActivity]) -> dict[str, float]:
    totals = Counter[str](dict.fromkeys((*REPORTED, *UNDER_WAY.values()), 0))
    for part in parts:
        for worker in part.figures:
            totals.update({name: worker.figures.get(name, 0) for name in REPORTED})
        for work in part.works:
            if work.table in UNDER_WAY:
                totals[UNDER_WAY[work.table]] += work.count
    return _rounded(totals)


def _rounded(figures: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in figures.items()}


def _zone(zone: ZoneStatus, now: datetime) -> Document:
    seen = zone.last_seen
    age = None if seen is None else max(0.0, round((now - seen).total_seconds(), 1))
    return {
        "path": zone.name,
        "state": zone.state,
        "summary_age_seconds": age,
        "hosts": zone.hosts,
        "hosts_up": zone.hosts_up,
        "zones": [nested(each) for each in zone.zones],
    }


ROUTES: Routes[Call] = {
    "/v2.1/armillary/now": {"GET": Action(show, policies.NOW, schemas.SHOW_ANSWER)}
}
