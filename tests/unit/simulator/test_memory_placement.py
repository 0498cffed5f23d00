"""Placement in memory answers as placement on a database does."""

import random
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.allocations.allocation import ClaimStatus
from objects.allocations.fence import FENCE_FINAL
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.engine import PlacementEngine
from simulator.memory_placement import MemoryPlacement
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement import (
    engine,
    new_engine,
    placement_conf,
    placement_template,
    placement_url,
)

__all__ = ["engine", "new_engine", "placement_template", "placement_url"]

CONTEXT = admin_context()
AGGREGATE = a_uuid()


def some_providers(count: int) -> list[dict[str, Any]]:
    return [
        a_provider(
            f"host{number}",
            inventories={
                "VCPU": {"total": 4 + number % 3, "reserved": number % 2, "allocation_ratio": 1.5},
                "MEMORY_MB": {"total": 1024},
            },
            traits=["CUSTOM_FAST"] if number % 2 else [],
        )
        for number in range(count)
    ]


def a_query(rng: random.Random) -> ResourceQuery:
    return ResourceQuery.from_values(
        groups=[
            RequestGroup.from_values(
                suffix="",
                resources={"VCPU": rng.randint(1, 4), "MEMORY_MB": rng.choice([128, 512])},
                required_traits=rng.choice([[], [["CUSTOM_FAST"]]]),
                member_of=rng.choice([[], [[AGGREGATE]]]),
            )
        ],
        limit=rng.choice([None, 2]),
    )


def shown(candidates: Any) -> Any:
    plain = candidates.to_plain()
    return {key: plain[key] for key in ("provider_uuids", "used", "ruled_out", "providers_total")}


def test_answers_are_those_of_the_engine(engine: PlacementEngine) -> None:
    """Candidates, claims, replacements and releases, in a random order."""
    rng = random.Random(3)
    reports = some_providers(8)
    members = [report["uuid"] for report in reports[:5]]
    engine.providers.set_providers(reports)
    engine.aggregates.set_members(AGGREGATE, members)
    memory = MemoryPlacement(placement_conf(), reports, {AGGREGATE: members}, rng=rng)
    consumers = [a_uuid() for _ in range(12)]
    statuses = set()
    for fence in range(120):
        query = a_query(rng)
        assert shown(memory.get_allocation_candidates(CONTEXT, query)) == shown(
            engine.get_candidates(query)
        )
        consumer = rng.choice(consumers)
        if rng.random() < 0.3:
            fences = {consumer: rng.choice([fence, 1])}
            memory.release(CONTEXT, fences)
            engine.claims.release(fences)
            continue
        provider = rng.choice(reports)["uuid"]
        claim = a_claim(
            provider, rng.randint(1, 4), consumer_uuid=consumer, fence=rng.choice([fence, 1]),
            replace=rng.random() < 0.5,
        )  # fmt: skip
        (in_memory,), (stored,) = memory.claim(CONTEXT, [claim]), engine.claims.claim([claim])
        assert (in_memory.status, in_memory.reason) == (stored.status, stored.reason)
        statuses.add(stored.status)
    assert statuses == {
        ClaimStatus.CLAIMED, ClaimStatus.NO_CAPACITY, ClaimStatus.CONFLICT, ClaimStatus.FENCED
    }  # fmt: skip


def test_a_claim_that_makes_no_sense_is_refused() -> None:
    """By the same checks as over RPC; nothing is claimed."""
    report = a_provider()
    memory = MemoryPlacement(placement_conf(), [report], {}, rng=random.Random(1))
    with pytest.raises(exception.Invalid):
        memory.claim(CONTEXT, [a_claim(report["uuid"], 0)])
    assert memory.ledger.used(report["uuid"]) == {"VCPU": 0}


def test_a_move_takes_everything_along() -> None:
    """And a consumer without allocations cannot give."""
    report = a_provider()
    memory = MemoryPlacement(placement_conf(), [report], {}, rng=random.Random(1))
    source, target = a_uuid(), a_uuid()
    memory.claim(CONTEXT, [a_claim(report["uuid"], 3, consumer_uuid=source)])
    memory.move_allocations(CONTEXT, source, target, fence=1)
    memory.release(CONTEXT, {source: FENCE_FINAL})
    assert memory.ledger.used(report["uuid"]) == {"VCPU": 3}
    memory.release(CONTEXT, {target: FENCE_FINAL})
    assert memory.ledger.used(report["uuid"]) == {"VCPU": 0}
    with pytest.raises(exception.ConsumerNotFound):
        memory.move_allocations(CONTEXT, source, target, fence=FENCE_FINAL)
