"""Check of a rebuild: whether an instance may stay on its host with another image."""

from __future__ import annotations

from collections.abc import Sequence

from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from scheduler.explain.reasons import Reasons, Report
from scheduler.explain.trace import TraceBuilder
from scheduler.filters import FilterChain, preselect
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.selection import responses

_NO_CANDIDATE = -1  # placement was not asked


def check(
    hosts: HostTable,
    chain: FilterChain,
    spec: RequestSpec,
    instance_uuids: Sequence[str],
    *,
    trace: TraceBuilder,
    default_zone: str,
) -> Destinations:
    """Return the forced or requested host if the filters for rebuilds pass it; claim nothing.

    ``hosts`` are all known hosts. The selection has no allocation request, because the instance
    keeps its allocation. Raises ``NoValidHost``, and ``PluginFailed`` as the filters do.
    """
    spec.instance_uuid = next(iter(instance_uuids), None)
    removed: list[tuple[str, Reasons]] = []
    with trace.stage("filters"):
        if not _names_a_host(spec):
            raise _refused(trace, "A rebuild check must name the instance's host.")
        left = preselect(HostLedger(hosts), spec, trace.filtered)
        if len(left) == 0:
            raise _refused(
                trace, "The instance's host is not known to this scheduler, or is excluded."
            )
        left = chain.for_rebuild().run(left, spec, _noting(removed, trace.filtered))
    if len(left) == 0:
        raise _refused(trace, _sentence(*removed[-1]))
    return responses.destinations(
        left.hosts,
        [[(0, _NO_CANDIDATE)] for _ in instance_uuids],
        default_zone=default_zone,
        trace=trace.finished(),
    )


def _names_a_host(spec: RequestSpec) -> bool:
    destination = spec.requested_destination
    return spec.is_forced or bool(destination and (destination.host or destination.node))


def _noting(removed: list[tuple[str, Reasons]], report: Report) -> Report:
    """Return a report function that also records which filters removed hosts."""

    def note(name: str, before: int, count: int, reasons: Reasons) -> None:
        if count:
            removed.append((name, reasons))
        report(name, before, count, reasons)

    return note


def _sentence(name: str, reasons: Reasons) -> str:
    because = f" ({reasons[0][0]})" if reasons else ""
    return f"The instance cannot stay on its host with this image: ruled out by {name}{because}."


def _refused(trace: TraceBuilder, sentence: str) -> Exception:
    return responses.no_valid_host(trace.failed(reason=sentence))
