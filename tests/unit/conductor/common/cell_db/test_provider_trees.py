"""Hosts with parts: from the agent's report to placement's tree, and back again."""

from collections.abc import Iterator
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.cell_conductor.hosts.providers import digest
from conductor.common.cell_db import models
from placement.engine import PlacementEngine
from placement.manager import PlacementManager
from placement.providers.provider_record import ProviderFilters
from tests import builders
from tests.fixtures.cell import Cell, a_node, node_uuid
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
    (result,) = cell.nodes.report_compute_nodes(admin_context(), "a", [node])
    error: str | None = result.error
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
    """Until no consumer holds any of what goes; then the next try takes it."""
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


def test_a_service_is_deleted_with_all_its_providers(cell: Cell, engine: PlacementEngine) -> None:
    """Those below first."""
    report(cell, CELL, CARD)
    (service,) = cell.services.list_services(admin_context())
    cell.services.delete_service(admin_context(), service.uuid)
    assert engine.resource_providers.list(ProviderFilters()) == []


def test_a_service_whose_parts_are_in_use_is_not_deleted(
    cell: Cell, engine: PlacementEngine
) -> None:
    """Nothing of it is; the error says what is in the way."""
    report(cell, CELL, CARD)
    allocations = {CARD["uuid"]: {"resources": {GPU: 1}}}
    engine.claims.claim([builders.a_claim("", allocations=allocations)])
    (service,) = cell.services.list_services(admin_context())
    with pytest.raises(exception.InUse, match=CARD["uuid"]):
        cell.services.delete_service(admin_context(), service.uuid)
    assert set(tree(engine)) == {"a", "a_NUMA0", "a_card"}


@pytest.mark.parametrize(
    ("child", "reason"),
    [
        ("x", "it must have exactly"),
        ({"uuid": CARD["uuid"]}, "it must have exactly"),
        (a_child("c", uuid="x"), "is not a UUID"),
        (a_child("x" * 256), "at most 255"),
        (a_child("c", traits="CUSTOM_A"), "traits must be a list"),
        (a_child("c", traits=["CUSTOM_A"] * 1001), "more than 1000 traits"),
        (a_child("c", inventories=[]), "inventories must be an object"),
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


def test_a_host_without_parts_names_no_children(cell: Cell) -> None:
    """Neither to placement nor in its digest."""
    inventories = {"VCPU": {"total": 1}}
    assert digest(inventories, ["A"], disabled=False, children=[]) == digest(
        inventories, ["A"], disabled=False
    )
    assert digest(inventories, ["A"], disabled=False, children=[CARD]) != digest(
        inventories, ["A"], disabled=False
    )
    cell.add_agent("a")
    assert cell.placement.providers[node_uuid("a")].keys() == {
        "uuid", "name", "inventories", "traits", "managed_traits", "order"
    }  # fmt: skip
