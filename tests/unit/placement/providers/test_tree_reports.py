"""Providers reported with their children: one tree, taken as a whole or not at all."""

from typing import Any

import pytest

from armillary.exception import ResourceProviderNotFound
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.engine import PlacementEngine
from placement.providers.provider_record import ProviderFilters
from tests.builders import a_claim, a_provider, a_uuid

GPU = "CUSTOM_GPU"


def a_child(name: str, parent: str, **values: Any) -> dict[str, Any]:
    """Return a child of one GPU as a report names it."""
    inventories = {GPU: {"total": 1, "allocation_ratio": 1.0}}
    return {**a_provider(name, inventories=inventories), "parent_uuid": parent, **values}


def a_family(*, cells: int = 1) -> dict[str, Any]:
    """Return a host with cells, and a GPU in each."""
    host = a_provider("host")
    children = []
    for number in range(cells):
        cell = a_child(f"host_NUMA{number}", host["uuid"], inventories={}, traits=["HW_NUMA_ROOT"])
        children += [cell, a_child(f"host_GPU{number}", cell["uuid"])]
    return {**host, "children": children}


def report(engine: PlacementEngine, *families: dict[str, Any]) -> list[str | None]:
    """Return the errors of a call."""
    return [result.error for result in engine.providers.set_providers(list(families))]


def tree(engine: PlacementEngine, root: str) -> dict[str, str | None]:
    """Return name -> parent's UUID of all providers below a root, and of it."""
    records = engine.resource_providers.list(ProviderFilters(in_tree=root))
    assert {record.root_provider_uuid for record in records} <= {root}
    return {record.name: record.parent_provider_uuid for record in records}


def candidates(engine: PlacementEngine, **resources: int) -> list[set[str]]:
    """Return the providers of each candidate for resources that may be from all over a tree."""
    group = RequestGroup.from_values({"resources": resources})
    found = engine.get_candidates(ResourceQuery.from_values(groups=[group]))
    request = found.request_builder()
    return [set(request(index)) for index in range(len(found.provider_uuids))]


def test_a_tree_is_made_parents_first(engine: PlacementEngine) -> None:
    """Each below the one that it names, all below the host; and it can be asked for immediately."""
    family = a_family(cells=2)
    assert report(engine, family) == [None]
    host, cell = family["uuid"], family["children"][0]["uuid"]
    assert tree(engine, host) == {
        "host": None,
        "host_NUMA0": host, "host_GPU0": cell,
        "host_NUMA1": host, "host_GPU1": family["children"][2]["uuid"],
    }  # fmt: skip
    gpus = [family["children"][1]["uuid"], family["children"][3]["uuid"]]
    found = candidates(engine, VCPU=1, CUSTOM_GPU=1)
    assert sorted(found, key=sorted) == sorted(({host, gpu} for gpu in gpus), key=sorted)


def test_the_same_tree_again_writes_nothing(engine: PlacementEngine) -> None:
    """Reports come every few minutes."""
    family = a_family()
    report(engine, family)
    before = engine.providers.set_providers([family])
    with engine.table() as table:
        epoch = table.epoch
    assert engine.providers.set_providers([family]) == before
    with engine.table() as table:
        assert table.epoch == epoch


def test_what_is_gone_is_deleted_children_first(engine: PlacementEngine) -> None:
    """Only what was reported before and is named so."""
    family = a_family()
    report(engine, family)
    former = [child["uuid"] for child in family["children"]]
    host = {name: value for name, value in family.items() if name != "children"}
    assert report(engine, host) == [None]
    assert len(tree(engine, family["uuid"])) == 3
    assert report(engine, {**host, "former_children": [*former, a_uuid()]}) == [None]
    assert tree(engine, family["uuid"]) == {"host": None}
    assert report(engine, {**host, "former_children": former}) == [None]


def test_a_child_moves_within_its_tree_with_what_is_allocated(engine: PlacementEngine) -> None:
    """Its parent goes, it stays; no provider loses anything."""
    family = a_family()
    report(engine, family)
    cell, gpu = family["children"]
    claim = a_claim(gpu["uuid"], allocations={gpu["uuid"]: {"resources": {GPU: 1}}})
    engine.claims.claim([claim])
    moved = {
        **family,
        "children": [{**gpu, "parent_uuid": family["uuid"]}], "former_children": [cell["uuid"]],
    }  # fmt: skip
    assert candidates(engine, VCPU=1, CUSTOM_GPU=1) == []
    assert report(engine, moved) == [None]
    assert tree(engine, family["uuid"]) == {"host": None, "host_GPU0": family["uuid"]}
    engine.claims.release({claim.consumer_uuid: 1})
    assert candidates(engine, VCPU=1, CUSTOM_GPU=1) == [{family["uuid"], gpu["uuid"]}]


@pytest.mark.parametrize("how", ["child-gone", "class-gone"])
def test_a_tree_stays_as_it_was_while_something_of_what_goes_is_allocated(
    engine: PlacementEngine, how: str
) -> None:
    """All of it, the host's own inventory, too; the error says what is in the way."""
    family = a_family()
    report(engine, family)
    cell, gpu = family["children"]
    claim = a_claim(gpu["uuid"], allocations={gpu["uuid"]: {"resources": {GPU: 1}}})
    engine.claims.claim([claim])
    children = [cell] if how == "child-gone" else [cell, {**gpu, "inventories": {}}]
    changed = {
        **family,
        "inventories": {"VCPU": {"total": 64}},
        "children": children, "former_children": [gpu["uuid"]],
    }  # fmt: skip
    (error,) = report(engine, changed)
    assert gpu["uuid"] in str(error)
    assert set(tree(engine, family["uuid"])) == {"host", "host_NUMA0", "host_GPU0"}
    assert candidates(engine, VCPU=9) == []
    engine.claims.release({claim.consumer_uuid: 1})
    assert report(engine, changed) == [None]
    assert candidates(engine, VCPU=9) == [{family["uuid"]}]


def test_a_provider_that_others_hung_something_below_stays(engine: PlacementEngine) -> None:
    """No child is deleted with it, and the error names it."""
    family = a_family()
    report(engine, family)
    cell, gpu = (child["uuid"] for child in family["children"])
    foreign = engine.resource_providers.create(a_uuid(), "foreign", parent=cell)
    (error,) = report(engine, {**family, "children": [], "former_children": [cell, gpu]})
    assert cell in str(error)
    engine.resource_providers.delete(foreign.uuid)
    assert report(engine, {**family, "children": [], "former_children": [cell, gpu]}) == [None]


def test_foreign_custom_traits_of_children_stay(engine: PlacementEngine) -> None:
    """Those of its owner go when it does not report them any more."""
    family = a_family()
    cell, gpu = family["children"]
    mine = {**gpu, "traits": ["CUSTOM_MINE"], "managed_traits": ["CUSTOM_MINE"]}
    report(engine, {**family, "children": [cell, mine]})
    engine.providers.set_trait(gpu["uuid"], "CUSTOM_FOREIGN", present=True)
    report(engine, {**family, "children": [cell, {**mine, "traits": []}]})
    assert set(engine.traits.get_of(gpu["uuid"]).traits) == {"CUSTOM_FOREIGN"}


def test_a_child_of_another_tree_is_refused(engine: PlacementEngine) -> None:
    """A host speaks for itself only."""
    first, second = a_family(), a_family()
    second["name"] = "other"
    report(engine, first)
    stolen = {**first["children"][1], "name": "mine", "parent_uuid": second["uuid"]}
    (error,) = report(engine, {**second, "children": [stolen]})
    assert f"it is in the tree of resource provider {first['uuid']}" in str(error)
    with pytest.raises(ResourceProviderNotFound):
        engine.resource_providers.get(second["uuid"])
    (error,) = report(engine, {**second, "children": [], "former_children": [stolen["uuid"]]})
    assert error is None
    assert len(tree(engine, first["uuid"])) == 3


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"parent_uuid": "no"}, "parent_uuid must be"),
        ({"parent_uuid": None}, "parent_uuid must be"),
        ({"inventories": {GPU: {"total": 0}}}, "total must be from 1"),
        ({"traits": ["NO_SUCH"]}, "no trait NO_SUCH exists"),
        ({"name": "host"}, "the name host is used by"),
        ({"name": "x" * 201}, "name must have"),
        ({"colour": "red"}, "unknown field colour"),
    ],
    ids=["other-parent", "no-parent", "bad-inventory", "bad-trait", "name-twice", "long", "field"],
)
def test_a_child_that_makes_no_sense_is_refused_with_its_tree(
    engine: PlacementEngine, change: dict[str, Any], reason: str
) -> None:
    """Other trees of the call are made."""
    family, other = a_family(), a_provider("other")
    family["children"][1] |= change
    errors = report(engine, family, other)
    assert reason in str(errors[0])
    assert errors[1] is None
    with pytest.raises(ResourceProviderNotFound):
        engine.resource_providers.get(family["uuid"])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"children": {}}, "children must be a list"),
        ({"children": ["x"]}, "children must be a list of objects"),
        ({"former_children": ["x"]}, "former_children must be a list of UUIDs"),
        ({"children": [{}] * 1001}, "at most 1000"),
    ],
    ids=["no-list", "no-objects", "no-uuids", "too-many"],
)
def test_a_family_that_makes_no_sense_is_refused(
    engine: PlacementEngine, change: dict[str, Any], reason: str
) -> None:
    """With one sentence."""
    (error,) = report(engine, {**a_family(), **change})
    assert reason in str(error)


def test_a_child_named_twice_in_a_call_is_refused(engine: PlacementEngine) -> None:
    """In one report, and as another host's in a second one."""
    family = a_family()
    gpu = family["children"][1]
    (error,) = report(engine, {**family, "children": [*family["children"], gpu]})
    assert "occurs twice" in str(error)
    alone = {name: value for name, value in gpu.items() if name != "parent_uuid"}
    assert report(engine, family, {**alone, "name": "alone"})[0] is None


def test_a_parent_is_below_no_provider_that_comes_after_it(engine: PlacementEngine) -> None:
    """So there can be no circle."""
    family = a_family()
    cell, gpu = family["children"]
    looped = [{**cell, "parent_uuid": gpu["uuid"]}, gpu]
    (error,) = report(engine, {**family, "children": looped})
    assert "parent_uuid must be" in str(error)
