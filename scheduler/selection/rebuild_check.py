"""Check of a rebuild: whether an instance may stay on its host with another image."""

from __future__ import annotations

from objects.destinations import Destinations
from objects.images import guest_properties
from objects.request_spec import RequestSpec
from scheduler.explain.reasons import Reasons
from scheduler.filters import FilterChain
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.request.preselection import preselect
from scheduler.selection import responses
from scheduler.selection.decision import Decision, GivenUp

_NO_CANDIDATE = -1  # placement was not asked


def check(
    decision: Decision, hosts: HostTable, chain: FilterChain, *, default_zone: str
) -> Destinations:
    """Return the forced or requested host if the filters for rebuilds pass it; claim nothing.

    ``hosts`` are all known hosts. The selection has no allocation request, because the instance
    keeps its allocation. Raises ``GivenUp``, and ``PluginFailed`` as the filters do.
    """
    spec, trace, destination = decision.spec, decision.trace, decision.spec.requested_destination
    spec.instance_uuid = decision.slots[0].instance_uuid
    why: list[str] = []

    def note(name: str, before: int, count: int, reasons: Reasons, hosts: list[str]) -> None:
        if count:
            why.append(f"{name} ({reasons[0][0]})" if reasons else name)
        trace.filtered(name, before, count, reasons, hosts)

    with trace.stage("filters"):
        _check_properties(spec)
        if not (spec.is_forced or (destination and (destination.host or destination.node))):
            raise GivenUp(reason="A rebuild check must name the instance's host.")
        left = preselect(HostLedger(hosts), spec, trace.filtered)
        if len(left) == 0:
            raise GivenUp(
                reason="The instance's host is not known to this scheduler, or is excluded."
            )
        left = chain.for_rebuild().run(left, spec, note)
    if len(left) == 0:
        raise GivenUp(
            reason=f"The instance cannot stay on its host with this image: ruled out by {why[-1]}."
        )
    return responses.destinations(
        left.hosts,
        [[(0, _NO_CANDIDATE)] for _ in decision.slots],
        default_zone=default_zone,
        trace=trace.finished(),
    )


def _check_properties(spec: RequestSpec) -> None:
    """Raise GivenUp for what no guest can have, as for new servers: placement is not asked."""
    if guest_properties.is_virtual_machine(spec.image):
        for problem in guest_properties.problems(spec.flavor, spec.image):
            raise GivenUp(reason=f"The instance cannot be rebuilt with this image: {problem}.")
