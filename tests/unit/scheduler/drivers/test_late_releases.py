"""A second look after claims were released: releases that come again free nothing of it."""

from collections.abc import Mapping, Sequence

from armillary.context import admin_context
from objects.allocations.allocation import AllocationClaim, ClaimResult, ClaimStatus
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.destinations import Destinations
from placement.engine import PlacementEngine
from scheduler.request.scheduling_request import SchedulingRequest
from tests.builders import a_provider, a_uuid
from tests.fixtures.placement import engine, new_engine, placement_template, placement_url
from tests.fleets import Host, a_driver, a_host, a_request_spec

__all__ = ["engine", "new_engine", "placement_template", "placement_url"]


class Ledger:
    """A real placement as a driver asks it; refuses the first claim on some of its providers."""

    def __init__(self, engine: PlacementEngine, hosts: Sequence[Host]) -> None:
        self.engine = engine
        self.refusing: set[str] = set()
        self.fenced: set[str] = set()
        self.releases: list[Mapping[str, int]] = []
        reports = [
            a_provider(
                host.name,
                uuid=host.uuid,
                traits=["OWNER_NOVA"],
                inventories={
                    "VCPU": {"total": 1, "allocation_ratio": 1.0},
                    "MEMORY_MB": {"total": 32_768, "allocation_ratio": 1.0},
                    "DISK_GB": {"total": 500, "allocation_ratio": 1.0},
                },
            )
            for host in hosts
        ]
        assert not any(each.error for each in engine.providers.set_providers(reports))

    def get_allocation_candidates(
        self, context: object, query: ResourceQuery
    ) -> AllocationCandidates:
        return self.engine.get_candidates(query)

    def claim(self, context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        return [self._claim(each) for each in claims]

    def release(self, context: object, consumers: Mapping[str, int]) -> None:
        self.releases.append(dict(consumers))
        self.engine.claims.release(consumers)

    def _claim(self, claim: AllocationClaim) -> ClaimResult:
        (provider,) = claim.allocations
        status = None
        if claim.consumer_uuid in self.fenced:
            status = ClaimStatus.FENCED
        elif provider in self.refusing:
            self.refusing.remove(provider)
            status = ClaimStatus.NO_CAPACITY
        if status is None:
            return self.engine.claims.claim([claim])[0]
        return ClaimResult(consumer_uuid=claim.consumer_uuid, status=status, reason=None)


def test_a_release_that_is_delivered_again_leaves_what_a_second_look_claimed(
    engine: PlacementEngine,
) -> None:
    """Of two servers one was claimed, the other refused, and room was only promised to others."""
    hosts = [a_host(f"host{number}", vcpus_total=1) for number in (1, 2, 3)]
    ledger = Ledger(engine, hosts)
    gone, pair = a_uuid(), [a_uuid(), a_uuid()]
    ledger.fenced.add(gone)
    ledger.refusing.add(hosts[2].uuid)
    driver = a_driver(hosts, placement=ledger)  # type: ignore[arg-type]  # as far as asked
    _, found = driver.select_many([a_request([gone]), a_request(pair)])
    assert isinstance(found, Destinations)
    assert ledger.releases, "nothing was released between the looks"
    held = engine.allocations.get(pair)
    assert sorted(held) == sorted(pair)
    for consumers in ledger.releases:
        engine.claims.release(consumers)
    assert engine.allocations.get(pair) == held


def a_request(uuids: Sequence[str]) -> SchedulingRequest:
    return SchedulingRequest(admin_context(), a_request_spec(), uuids, [1000] * len(uuids))
