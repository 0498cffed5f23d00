"""Reading allocations: by consumer, by provider, and page by page; releases of audits."""

from typing import Any

import pytest

from armillary import exception
from armillary.exception import Invalid
from objects.allocations.allocation import ConsumerHolding, ProviderAllocation
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement import PlacementService


@pytest.fixture
def consumers(engine: PlacementEngine) -> list[str]:
    """Return seven consumers in their order; each holds something of two providers."""
    inventories = {"VCPU": {"total": 99}, "DISK_GB": {"total": 99}}
    reports = [a_provider(f"host{number}", inventories=inventories) for number in range(2)]
    providers = [result.uuid for result in engine.providers.set_providers(reports)]
    resources = {"resources": {"VCPU": 1, "DISK_GB": 2}}
    allocations = dict.fromkeys(providers, resources)
    claims = [a_claim(providers[0], allocations=allocations) for _ in range(7)]
    assert all(result.is_claimed for result in engine.claims.claim(claims))
    return sorted(claim.consumer_uuid for claim in claims)


def pages(engine: PlacementEngine, limit: int) -> list[list[ProviderAllocation]]:
    found, marker = [], None
    while page := engine.allocations.list(marker=marker, limit=limit):
        found.append(page)
        marker = page[-1].consumer_uuid
    return found


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_pages_make_up_the_whole_and_split_no_consumer(
    engine: PlacementEngine, consumers: list[str], limit: int
) -> None:
    """Everybody is on one page, in order, with all they hold."""
    found = pages(engine, limit)
    assert max(len({item.consumer_uuid for item in page}) for page in found) == min(limit, 7)
    items = [item for page in found for item in page]
    assert [item.consumer_uuid for item in items] == [uuid for uuid in consumers for _ in range(2)]
    assert all(item.resources == {"VCPU": 1, "DISK_GB": 2} for item in items)


def test_who_holds_nothing_is_not_in_the_answer(
    engine: PlacementEngine, consumers: list[str]
) -> None:
    """It is not an error either."""
    engine.claims.release({consumers[0]: 1})
    assert list(engine.allocations.get(consumers[:2])) == [consumers[1]]


@pytest.mark.parametrize("limit", [0, 10_001])
def test_a_page_has_bounds(engine: PlacementEngine, limit: int) -> None:
    """The error names them."""
    with pytest.raises(exception.Invalid, match="limit must be from 1 to 10000"):
        engine.allocations.list(marker=None, limit=limit)


def test_holders_are_told_by_provider(engine: PlacementEngine) -> None:
    """With their generations; providers without allocations are left out."""
    first, second, idle = (a_provider(name)["uuid"] for name in "abc")
    engine.providers.set_providers(
        [
            a_provider(name, uuid=uuid)
            for name, uuid in zip("abc", (first, second, idle), strict=True)
        ]
    )
    one, two = a_claim(first, 2), a_claim(second, 3)
    engine.claims.claim([one, two])
    assert engine.allocations.get_of_providers([first, second, idle, a_uuid()]) == {
        provider: {claim.consumer_uuid: ConsumerHolding(1, claim.consumer_type, {"VCPU": vcpus})}
        for provider, claim, vcpus in ((first, one, 2), (second, two, 3))
    }


def test_who_has_not_changed_is_released(engine: PlacementEngine) -> None:
    """Who has, or has another generation, is left alone; who holds nothing is as good as done."""
    report = a_provider()
    engine.providers.set_providers([report])
    still, changed = a_claim(report["uuid"], 2), a_claim(report["uuid"], 3)
    engine.claims.claim([still, changed])
    gone = a_uuid()
    wanted = {still.consumer_uuid: 1, changed.consumer_uuid: 7, gone: 1}
    assert engine.claims.release_unchanged(wanted) == sorted([still.consumer_uuid, gone])
    held = engine.allocations.get_of_providers([report["uuid"]])[report["uuid"]]
    assert list(held) == [changed.consumer_uuid]
    assert engine.usages.get_provider_usages([report["uuid"]])[report["uuid"]]["VCPU"]["used"] == 3


def test_bad_questions_are_refused(engine: PlacementEngine) -> None:
    """A bound, and UUIDs."""
    with pytest.raises(Invalid, match="at most 1000"):
        engine.allocations.get_of_providers([a_uuid()] * 1001)
    with pytest.raises(Invalid, match="named by its UUID"):
        engine.claims.release_unchanged({"x": 1})


def test_audits_ask_over_the_broker(placement: PlacementService) -> None:
    """As conductors do: list the consumers, and release the unchanged ones."""
    report = a_provider()
    child = {**a_provider("part"), "parent_uuid": report["uuid"]}
    api, context = placement.api, placement.context
    family: Any = {**report, "children": [child]}
    (result,) = api.set_providers(context, [family])
    assert result.error is None
    claim = a_claim(child["uuid"], 2)
    placement.manager.engine.claims.claim([claim])
    held = api.get_provider_allocations(context, [report["uuid"], child["uuid"]])
    assert held[child["uuid"]][claim.consumer_uuid].resources == {"VCPU": 2}
    generation = held[child["uuid"]][claim.consumer_uuid].generation
    assert api.release_unchanged(context, {claim.consumer_uuid: generation + 1}) == []
    assert api.release_unchanged(context, {claim.consumer_uuid: generation}) == [
        claim.consumer_uuid
    ]
    assert api.get_provider_allocations(context, [child["uuid"]]) == {}
