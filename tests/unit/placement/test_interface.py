"""The conveniences of placement's interface: UUIDs in the place of ids, and packed claims."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.context import admin_context
from objects.allocations.allocation import AllocationClaim
from objects.packed.provider_uuids import ProviderUUIDs
from placement.engine import PlacementEngine
from placement.interface import PlacementAPI
from placement.providers.inventory import Inventory
from tests.builders import a_claim, a_provider, a_query, a_uuid
from tests.fixtures.placement import ANSWER_SECONDS_MAX, PlacementService, engines

CONTEXT = admin_context()
QUERY = a_query(resources={"VCPU": 1})


def set_providers(engine: PlacementEngine, count: int) -> list[str]:
    providers = [a_provider(a_uuid()) for _ in range(count)]
    assert not any(result.error for result in engine.providers.set_providers(providers))
    return [str(provider["uuid"]) for provider in providers]


class _Questions:
    """Notes which ids were asked for, and lets some be unknown."""

    def __init__(self, engine: PlacementEngine) -> None:
        self.asked: list[list[int]] = []
        self.gone: set[int] = set()
        self._get = engine.get_provider_uuids

    def get_provider_uuids(self, ids: Any) -> ProviderUUIDs:
        self.asked.append(ids.tolist())
        return self._get(np.array([each for each in ids.tolist() if each not in self.gone], int))


@pytest.fixture
def questions(placement: PlacementService, monkeypatch: pytest.MonkeyPatch) -> _Questions:
    """Return what was asked of the running service."""
    engine = placement.manager.engine
    made = _Questions(engine)
    monkeypatch.setattr(engine, "get_provider_uuids", made.get_provider_uuids)
    return made


@pytest.fixture
def api(placement: PlacementService) -> PlacementAPI:
    """Return a client that knows no provider yet."""
    return PlacementAPI(placement.manager._top_bus, timeout_seconds=ANSWER_SECONDS_MAX)


def uuids_of(api: PlacementAPI) -> list[str]:
    return api.get_allocation_candidates(CONTEXT, QUERY).provider_uuids


def test_uuids_are_asked_for_once(
    placement: PlacementService, api: PlacementAPI, questions: _Questions
) -> None:
    """The second answer is read by what the first one taught, new providers are asked for alone."""
    first = set_providers(placement.manager.engine, 3)
    assert sorted(uuids_of(api)) == sorted(first)
    assert sorted(uuids_of(api)) == sorted(first)
    more = set_providers(placement.manager.engine, 1)
    assert sorted(uuids_of(api)) == sorted(first + more)
    assert [len(ids) for ids in questions.asked] == [3, 1]


def test_an_answer_without_providers_asks_nothing(
    placement: PlacementService, api: PlacementAPI, questions: _Questions
) -> None:
    """There is nothing to name."""
    assert uuids_of(api) == []
    assert questions.asked == []


def test_providers_inside_of_trees_are_named_too(
    placement: PlacementService, api: PlacementAPI, questions: _Questions
) -> None:
    """The hosts of the candidates and the providers that give arrive by one question for UUIDs."""
    engine, figures = placement.manager.engine, Inventory(8, 0, 1, 8, 1, 1.0)
    host, cells = a_uuid(), sorted([a_uuid(), a_uuid()])
    engine.resource_providers.create(host, "host")
    for name, cell in enumerate(cells):
        engine.resource_providers.create(cell, f"cell{name}", host)
        engine.inventories.create_one(cell, "VCPU", figures)
    answer = api.get_allocation_candidates(CONTEXT, QUERY)
    assert answer.provider_uuids == [host, host]
    request = answer.request_builder()
    wanted = [{cell: {"resources": {"VCPU": 1}}} for cell in cells]
    assert sorted(map(request, range(2)), key=list) == wanted
    assert len(questions.asked) == 1


def test_ids_that_mean_another_provider_are_noticed(
    placement: PlacementService, api: PlacementAPI, placement_template: Path, tmp_path: Path
) -> None:
    """A database that was set back gave the same ids to others: the client learns them again."""
    ours = set_providers(placement.manager.engine, 3)
    assert sorted(uuids_of(api)) == sorted(ours)
    other = shutil.copy(placement_template, tmp_path / "other.sqlite")
    with engines(f"sqlite:///{other}") as make:
        placement.manager.engine = make()
        theirs = set_providers(placement.manager.engine, 3)
        for _ in range(2):
            assert sorted(uuids_of(api)) == sorted(theirs)


def test_a_provider_that_goes_in_between_costs_one_more_question(
    placement: PlacementService, api: PlacementAPI, questions: _Questions
) -> None:
    """Its UUID is not known any more: the answer comes once more, with UUIDs."""
    uuids = set_providers(placement.manager.engine, 2)
    questions.gone = {1}
    assert sorted(uuids_of(api)) == sorted(uuids)


def test_claims_are_answered_in_their_order(placement: PlacementService, api: PlacementAPI) -> None:
    """As columns, whatever they are given as."""
    (provider,) = set_providers(placement.manager.engine, 1)
    fits = AllocationClaim(a_uuid(), "p1", "u1", {provider: {"resources": {"VCPU": 5}}}, fence=1)
    too_much = a_claim(provider, vcpus=6)
    results = api.claim(CONTEXT, [fits, too_much])
    assert [each.consumer_uuid for each in results] == [fits.consumer_uuid, too_much.consumer_uuid]
    assert [each.is_claimed for each in results] == [True, False]
    assert "free" in (results[1].reason or "")


def test_a_move_may_replace_over_rpc(placement: PlacementService, api: PlacementAPI) -> None:
    """Both consumers held something; the target has what the source had, as the type asked for."""
    engine = placement.manager.engine
    first, second = set_providers(engine, 2)
    source, target = a_uuid(), a_uuid()
    engine.claims.claim(
        [a_claim(first, consumer_uuid=source), a_claim(second, consumer_uuid=target)]
    )
    api.move_allocations(CONTEXT, source, target, fence=1, replace=True, consumer_type="MIGRATION")
    (row,) = engine.allocations.list(marker=None, limit=10)
    assert (row.consumer_uuid, row.consumer_type) == (target, "MIGRATION")
    assert row.provider_uuid == first
