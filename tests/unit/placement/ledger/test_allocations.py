"""Reading allocations: by consumer, and page by page."""

from __future__ import annotations

import pytest

from armillary import exception
from objects.allocation import ProviderAllocation
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider


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
