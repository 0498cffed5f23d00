"""Hosts with parts: from the agent's report to placement's tree, and back again."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import update

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_db import models
from conductor.providers import digest
from placement.db import provider_families
from placement.engine import PlacementEngine
from placement.manager import PlacementManager
from placement.provider_record import ProviderFilters
from placement.rpcapi import PlacementAPI
from tests import builders
from tests.fixtures.cell import Cell, a_node, node_uuid
from tests.fixtures.direct_bus import Killed
from tests.fixtures.placement import placement_conf

GPU = "CUSTOM_GPU"
AWAY = exception.DatabaseUnavailable(name="placement", reason="it restarts")


def a_child(name: str, parent: str = node_uuid("a"), **values: Any) -> dict[str, Any]:
    """Return a part of a host as its agent reports it."""
    defaults = {"inventories": {GPU: {"total": 1}}, "traits": []}
    return {
        "uuid": builders.a_uuid_of(name), "name": name, "parent_uuid": parent, **defaults, **values
    }  # fmt: skip


CELL = a_child("a_NUMA0", inventories={}, traits=["HW_NUMA_ROOT"])
CARD = a_child("a_card", CELL["uuid"])


def report(cell: Cell, *children: dict[str, Any], **values: Any) -> str | None:
    """Report host a with these parts; return the error."""
    node = a_node("a", child_providers=list(children), **values)
    (result,) = cell.nodes.report(admin_context(), "a", [node])
    error: str | None = result["error"]
    return error


@pytest.fixture
def engine(cell: Cell, placement_url: str) -> Iterator[PlacementEngine]:
    """Return a real placement that serves the cell, which has a host ``a``."""
    database = Database(placement_url, name="placement")
    manager = PlacementManager(placement_conf(), top_bus=cell.top_bus, database=database)
    cell.top_bus.endpoints["placement", None] = [manager]
    cell.add_agent("a")
    yield manager.engine
    database.dispose()


def tree(engine: PlacementEngine) -> dict[str, str | None]:
    """Return name -> parent of all providers of host a."""
    records = engine.resource_providers.list(ProviderFilters(in_tree=node_uuid("a")))
    return {record.name: record.parent_provider_uuid for record in records}


def traits(engine: PlacementEngine, provider: str) -> set[str]:
    return set(engine.traits.get_of(provider).traits)


def test_placement_has_the_tree_that_an_agent_reports(cell: Cell, engine: PlacementEngine) -> None:
    """Told when it changes, and no more often."""
    before = engine.resource_providers.get(node_uuid("a")).generation
    assert [report(cell, CELL, CARD), report(cell, CELL, CARD)] == [None, None]
    assert tree(engine) == {"a": None, "a_NUMA0": node_uuid("a"), "a_card": CELL["uuid"]}
    assert engine.resource_providers.get(node_uuid("a")).generation == before
    assert report(cell, {**CARD, "parent_uuid": node_uuid("a")}) is None
    assert tree(engine) == {"a": None, "a_card": node_uuid("a")}
    assert report(cell) is None
    assert tree(engine) == {"a": None}


def test_a_tree_with_allocations_keeps_its_shape_and_the_agent_is_told_why(
    cell: Cell, engine: PlacementEngine
) -> None:
    """Until nobody holds any of what goes; then the next try takes it."""
    report(cell, CELL, CARD)
    allocations = {CARD["uuid"]: {"resources": {GPU: 1}}}
    claim = builders.a_claim("", allocations=allocations)
    engine.claims.claim([claim])
    error = report(cell, CELL, traits=["CUSTOM_NEW"])
    assert CARD["uuid"] in str(error)
    assert set(tree(engine)) == {"a", "a_NUMA0", "a_card"}
    assert "CUSTOM_NEW" not in traits(engine, node_uuid("a"))
    engine.claims.release({claim.consumer_uuid: 1})
    assert cell.providers.confirm_pending() == 1
    assert set(tree(engine)) == {"a", "a_NUMA0"}
    assert "CUSTOM_NEW" in traits(engine, node_uuid("a"))


def test_own_custom_traits_go_and_foreign_ones_stay(cell: Cell, engine: PlacementEngine) -> None:
    """Of hosts and of their parts: what a configuration file no longer names is gone."""
    report(cell, a_child("a_card", traits=["CUSTOM_OLD"]), traits=["CUSTOM_OLD"])
    providers = [node_uuid("a"), CARD["uuid"]]
    for provider in providers:
        engine.providers.set_trait(provider, "CUSTOM_FOREIGN", present=True)
    report(cell, a_child("a_card", traits=["CUSTOM_NEW"]), traits=["CUSTOM_NEW"])
    assert [traits(engine, provider) for provider in providers] == [
        {"CUSTOM_NEW", "CUSTOM_FOREIGN"}
    ] * 2


def test_what_placement_may_have_heard_is_taken_back(cell: Cell, engine: PlacementEngine) -> None:
    """It did what it was told, the answer was lost, and meanwhile the report is another."""
    cell.top_bus.fail("set_providers", AWAY, when_done=True)
    assert "placement does not answer" in str(report(cell, CELL, CARD, traits=["CUSTOM_LOST"]))
    assert "CUSTOM_LOST" in traits(engine, node_uuid("a"))
    assert report(cell) is None
    assert tree(engine) == {"a": None}
    assert traits(engine, node_uuid("a")) == {"COMPUTE_NODE"}


def test_a_row_of_an_older_release_takes_its_traits_back(
    cell: Cell, engine: PlacementEngine
) -> None:
    """Nobody wrote down what placement was told then; the row says it."""
    report(cell, traits=["CUSTOM_OLD"])
    cell.database.run_in_writer(
        lambda session: session.execute(update(models.ComputeNode).values(told=None))
    )
    report(cell, traits=["COMPUTE_NODE"])
    assert traits(engine, node_uuid("a")) == {"COMPUTE_NODE"}


def test_a_service_is_deleted_with_all_its_providers(cell: Cell, engine: PlacementEngine) -> None:
    """Those below first."""
    report(cell, CELL, CARD)
    (service,) = cell.services.list_all()
    cell.services.delete(admin_context(), service.uuid)
    assert engine.resource_providers.list(ProviderFilters()) == []


def test_a_service_whose_parts_are_in_use_is_not_deleted(
    cell: Cell, engine: PlacementEngine
) -> None:
    """Nothing of it is; the error says what is in the way."""
    report(cell, CELL, CARD)
    allocations = {CARD["uuid"]: {"resources": {GPU: 1}}}
    engine.claims.claim([builders.a_claim("", allocations=allocations)])
    (service,) = cell.services.list_all()
    with pytest.raises(exception.InUse, match=CARD["uuid"]):
        cell.services.delete(admin_context(), service.uuid)
    assert set(tree(engine)) == {"a", "a_NUMA0", "a_card"}


def test_an_older_placement_is_told_of_the_host_alone(cell: Cell) -> None:
    """So hosts do not wait for its upgrade."""
    cell.add_agent("a")
    placement = cell.providers._placement
    placement.can_send = lambda version: version != "1.2"  # type: ignore[method-assign]
    assert report(cell, CARD) is None
    assert "children" not in cell.placement.providers[node_uuid("a")]


@pytest.mark.parametrize(
    ("child", "reason"),
    [
        ("x", "it has not just"),
        ({"uuid": CARD["uuid"]}, "it has not just"),
        (a_child("c", uuid="x"), "is no UUID"),
        (a_child("x" * 256), "at most 255"),
        (a_child("c", traits="CUSTOM_A"), "traits is no list"),
        (a_child("c", traits=["CUSTOM_A"] * 1001), "more than 1000 traits"),
        (a_child("c", inventories=[]), "inventories is no object"),
    ],
    ids=["text", "fields", "uuid", "name", "traits", "many-traits", "inventories"],
)
def test_a_part_that_makes_no_sense_is_refused(cell: Cell, child: Any, reason: str) -> None:
    """Before it is stored; the agent is told."""
    cell.add_agent("a")
    error = report(cell, child)
    assert "child_providers[0] of node a" in str(error)
    assert reason in str(error)
    (row,) = cell.rows(models.ComputeNode)
    assert row.child_providers is None


def test_a_host_without_parts_is_told_as_ever(cell: Cell) -> None:
    """Its digest is that of older releases: an upgrade tells placement nothing anew."""
    inventories = {"VCPU": {"total": 1}}
    assert digest(inventories, ["A"], disabled=False, children=[]) == digest(
        inventories, ["A"], disabled=False
    )
    assert digest(inventories, ["A"], disabled=False, children=[CARD]) != digest(
        inventories, ["A"], disabled=False
    )
    cell.add_agent("a")
    assert cell.placement.providers[node_uuid("a")].keys() == {
        "uuid", "name", "inventories", "traits", "managed_custom_traits"
    }  # fmt: skip


# Another shape ------------------------------------------------------------------------------------

SLOT = "CUSTOM_SLOT"
SLOTS = {SLOT: {"total": 4, "max_unit": 4}}


def a_node_with(**inventories: Any) -> dict[str, Any]:
    """Return the inventories of a host, with these beside the usual ones."""
    return {**a_node("a").inventories, **inventories}


def in_cells(total: int) -> list[dict[str, Any]]:
    """Return two NUMA cells that have slots."""
    slots = {SLOT: {"total": total, "max_unit": total}}
    return [a_child(f"a_NUMA{number}", inventories=slots) for number in (0, 1)]


def reshaped(cell: Cell, *children: dict[str, Any], **values: Any) -> str | None:
    """Report host a as an agent does that has just started; return the error."""
    node = a_node("a", child_providers=list(children), **values)
    (result,) = cell.nodes.report(admin_context(), "a", [node], reshape=[node.uuid])
    error: str | None = result["error"]
    return error


def held(engine: PlacementEngine) -> dict[str, dict[str, dict[str, int]]]:
    """Return provider -> class -> amount, of each consumer."""
    items = engine.allocations.list(marker=None, limit=100)
    found = engine.allocations.get([item["consumer_uuid"] for item in items])
    return {
        consumer: {uuid: item["resources"] for uuid, item in providers.items()}
        for consumer, providers in found.items()
    }


def hold_slots(engine: PlacementEngine, *amounts: int) -> list[str]:
    """Let consumers hold slots of the host, and a CPU; return them in the order of their UUIDs."""
    consumers = sorted(builders.a_uuid() for _ in amounts)
    for consumer, amount in zip(consumers, amounts, strict=True):
        allocations = {node_uuid("a"): {"resources": {SLOT: amount, "VCPU": 1}}}
        (result,) = engine.claims.claim(
            [builders.a_claim("", consumer_uuid=consumer, allocations=allocations)]
        )
        assert result.is_claimed, result.reason
    return consumers


def test_a_tree_in_use_takes_another_shape_with_what_is_allocated(
    cell: Cell, engine: PlacementEngine
) -> None:
    """When the agent starts, and only then; from the host to its cells."""
    report(cell, inventories=a_node_with(**SLOTS))
    one, two = hold_slots(engine, 2, 2)
    cells = in_cells(2)
    assert SLOT in str(report(cell, *cells))
    assert set(tree(engine)) == {"a"}
    before = {one: engine.holders.get([node_uuid("a")])[node_uuid("a")][one]["generation"]}
    assert reshaped(cell, *cells) is None
    assert held(engine) == {
        one: {node_uuid("a"): {"VCPU": 1}, cells[0]["uuid"]: {SLOT: 2}},
        two: {node_uuid("a"): {"VCPU": 1}, cells[1]["uuid"]: {SLOT: 2}},
    }
    after = engine.holders.get([node_uuid("a")])[node_uuid("a")][one]["generation"]
    assert after == before[one] + 1
    assert SLOT not in engine.inventories.get(node_uuid("a")).inventories
    stood = held(engine)
    assert [reshaped(cell, *cells), report(cell, *cells)] == [None, None]
    assert held(engine) == stood


def test_a_tree_in_use_goes_back_to_its_former_shape(cell: Cell, engine: PlacementEngine) -> None:
    """What would go with its parts moves to what stays; the parts are gone."""
    cells = in_cells(2)
    report(cell, inventories=a_node_with(**SLOTS))
    one, two = hold_slots(engine, 2, 2)
    reshaped(cell, *cells)
    assert reshaped(cell, inventories=a_node_with(**SLOTS)) is None
    assert held(engine) == {uuid: {node_uuid("a"): {"VCPU": 1, SLOT: 2}} for uuid in (one, two)}
    assert tree(engine) == {"a": None}


@pytest.mark.parametrize("total", [1, 2])
def test_a_shape_without_room_is_refused_as_a_whole(
    cell: Cell, engine: PlacementEngine, total: int
) -> None:
    """An amount stays together; nothing of tree and allocations changes."""
    report(cell, inventories=a_node_with(**SLOTS))
    hold_slots(engine, 1, 3)
    stood = held(engine)
    assert SLOT in str(reshaped(cell, *in_cells(total), traits=["CUSTOM_NEW"]))
    assert (held(engine), tree(engine)) == (stood, {"a": None})
    assert "CUSTOM_NEW" not in traits(engine, node_uuid("a"))
    assert reshaped(cell, *in_cells(3)) is None


def test_what_placement_reshaped_before_its_answer_was_lost_is_confirmed(
    cell: Cell, engine: PlacementEngine
) -> None:
    """The agent says it again, and the conductor's own tries need no leave any more."""
    report(cell, inventories=a_node_with(**SLOTS))
    hold_slots(engine, 2)
    cells = in_cells(2)
    cell.top_bus.fail("set_providers", AWAY, when_done=True)
    assert "placement does not answer" in str(reshaped(cell, *cells))
    stood = held(engine)
    assert cell.providers.confirm_pending() == 1
    assert reshaped(cell, *cells) is None
    assert held(engine) == stood


def test_a_conductor_that_dies_before_it_tells_placement_loses_nothing(
    cell: Cell, engine: PlacementEngine
) -> None:
    """It stored the new shape: alone it is refused, with the agent's next report it is taken."""
    report(cell, inventories=a_node_with(**SLOTS))
    (one,) = hold_slots(engine, 2)
    cells = in_cells(2)
    cell.top_bus.fail("set_providers", AWAY)
    reshaped(cell, *cells)
    assert cell.providers.confirm_pending() == 1
    assert set(tree(engine)) == {"a"}
    assert reshaped(cell, *cells) is None
    assert held(engine)[one][cells[0]["uuid"]] == {SLOT: 2}


@pytest.mark.parametrize("written", [1, 2])
def test_placement_that_dies_in_the_middle_has_done_nothing(
    cell: Cell, engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """Both shapes, and the move between them, are one transaction."""
    report(cell, inventories=a_node_with(**SLOTS))
    hold_slots(engine, 2)
    stood = held(engine)
    store, count = provider_families.store, itertools.count()

    def die(*args: Any) -> None:
        if next(count) == written:  # the first one is of the try without a move
            raise Killed("placement")
        store(*args)

    with monkeypatch.context() as patch:
        patch.setattr(provider_families, "store", die)
        with pytest.raises(Killed):
            reshaped(cell, *in_cells(2))
    assert (held(engine), tree(engine)) == (stood, {"a": None})
    assert reshaped(cell, *in_cells(2)) is None


def test_an_older_placement_is_asked_for_no_move(
    cell: Cell, engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would not know the word; the tree keeps its shape."""
    report(cell, inventories=a_node_with(**SLOTS))
    hold_slots(engine, 2)
    monkeypatch.setattr(PlacementAPI, "can_send", lambda self, version: version != "1.4")
    assert SLOT in str(reshaped(cell, *in_cells(2)))
    assert set(tree(engine)) == {"a"}
