"""Providers on a database: batches of reports, each on its own."""

from typing import Any

import pytest
from sqlalchemy import select

from armillary import exception
from objects.hosts.provider_report import ProviderResult
from placement.db.models import PlacementEpoch, ResourceProvider
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_query, a_uuid

FIGURES = {"reserved": 0, "min_unit": 1, "step_size": 1, "allocation_ratio": 1.0}


def set_one(engine: PlacementEngine, report: dict[str, Any]) -> ProviderResult:
    (result,) = engine.providers.set_providers([report])
    return result


def epoch(engine: PlacementEngine) -> int:
    with engine._database.reader() as session:
        return session.scalars(select(PlacementEpoch.epoch)).one()


def test_a_result_shows_the_inventories_as_they_stand(engine: PlacementEngine) -> None:
    """With every figure, and the generation."""
    report = a_provider()
    assert set_one(engine, report) == ProviderResult(
        uuid=report["uuid"],
        generation=1,
        inventories={"VCPU": {"total": 8, "max_unit": 8, **FIGURES}},
        error=None,
    )


def test_the_same_report_again_writes_nothing(engine: PlacementEngine) -> None:
    """Neither generation nor epoch moves."""
    report = a_provider(traits=["HW_CPU_X86_AVX"])
    first, before = set_one(engine, report), epoch(engine)
    assert set_one(engine, report) == first
    assert epoch(engine) == before


def test_a_changed_report_changes_everything_that_is_different(engine: PlacementEngine) -> None:
    """Name, classes, figures, traits; and the generation counts it."""
    report = a_provider("old", traits=["HW_CPU_X86_AVX"])
    set_one(engine, report)
    inventories = {"VCPU": {"total": 4}, "DISK_GB": {"total": 10}}
    changed = {
        **report, "name": "new", "inventories": inventories, "traits": ["HW_CPU_X86_AVX2"],
        "managed_traits": ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2"],
    }  # fmt: skip
    assert set_one(engine, changed).generation == 2
    query = a_query(
        resources={"VCPU": 4, "DISK_GB": 10},
        required_traits=[["HW_CPU_X86_AVX2"]],
        forbidden_traits=["HW_CPU_X86_AVX"],
    )
    assert engine.get_candidates(query).provider_uuids == [report["uuid"]]
    with engine._database.reader() as session:
        assert session.scalars(select(ResourceProvider.name)).all() == ["new"]


def test_a_class_that_is_gone_and_comes_back_begins_with_nothing_used(
    engine: PlacementEngine,
) -> None:
    """Its usage went with it."""
    report = a_provider(inventories={"VCPU": {"total": 8}, "DISK_GB": {"total": 10}})
    set_one(engine, report)
    claim = a_claim(report["uuid"], 8)
    engine.claims.claim([claim])
    engine.claims.release({claim.consumer_uuid: 1})
    set_one(engine, {**report, "inventories": {}})
    assert engine.get_candidates(a_query()).providers_total == 0
    set_one(engine, report)
    answer = engine.get_candidates(a_query(resources={"VCPU": 8}))
    assert answer.used.tolist() == [[0]]


def test_an_inventory_may_shrink_below_what_is_used(engine: PlacementEngine) -> None:
    """What was promised stays; nothing more is promised."""
    report = a_provider()
    set_one(engine, report)
    engine.claims.claim([a_claim(report["uuid"], 6)])
    result = set_one(engine, {**report, "inventories": {"VCPU": {"total": 2}}})
    assert (result.error, result.inventories["VCPU"]["total"]) == (None, 2)
    assert engine.get_candidates(a_query()).provider_uuids == []


def test_a_refused_report_changes_nothing_and_shows_what_stands(engine: PlacementEngine) -> None:
    """The error is a sentence, not an exception: others in the call went through."""
    report, other = a_provider("used"), a_provider("other")
    set_one(engine, report)
    engine.claims.claim([a_claim(report["uuid"], 1)])
    refused, taken = engine.providers.set_providers(
        [{**report, "inventories": {}, "traits": ["HW_CPU_X86_AVX"]}, other]
    )
    assert "Inventory for 'VCPU' on resource provider" in (refused.error or "")
    assert refused.inventories == {"VCPU": {"total": 8, "max_unit": 8, **FIGURES}}
    assert taken.error is None
    query = a_query(required_traits=[["HW_CPU_X86_AVX"]])
    assert engine.get_candidates(query).provider_uuids == []


def test_a_name_belongs_to_one_provider(engine: PlacementEngine) -> None:
    """The error says whose it is, also within one call."""
    first, second, third = a_provider("same"), a_provider("same"), a_provider("same")
    set_one(engine, first)
    errors = [item.error for item in engine.providers.set_providers([second, third, first])]
    assert f"the name same is used by resource provider {first['uuid']}" in (errors[0] or "")
    assert errors[1] is not None
    assert errors[2] is None


def test_a_provider_is_named_once_in_a_call(engine: PlacementEngine) -> None:
    """The first report counts."""
    report = a_provider()
    results = engine.providers.set_providers([report, {**report, "inventories": {}}])
    assert results[0].error is None
    assert "occurs twice" in (results[1].error or "")
    assert engine.get_candidates(a_query()).provider_uuids == [report["uuid"]]


@pytest.mark.parametrize("values", [{"uuid": "a\0b"}, {"name": "a\0b"}, {"uuid": 7}])
def test_a_report_with_a_bad_name_harms_no_other(
    engine: PlacementEngine, values: dict[str, Any]
) -> None:
    """It never gets to the database."""
    results = engine.providers.set_providers([{**a_provider("bad"), **values}, a_provider("good")])
    assert [result.error is None for result in results] == [False, True]
    assert results[0].generation is None


def test_what_is_not_a_report_at_all_is_an_error(engine: PlacementEngine) -> None:
    """There is no result to make of it."""
    with pytest.raises(exception.Invalid, match="a provider must be an object"):
        engine.providers.set_providers(["host1"])  # type: ignore[list-item]


def test_no_reports_have_no_results(engine: PlacementEngine) -> None:
    """An empty call is fine."""
    assert engine.providers.set_providers([]) == []


def test_many_providers_are_set_in_one_call(engine: PlacementEngine) -> None:
    """In several transactions, so that claims need not wait for all of them."""
    reports = [a_provider(f"host{number}", traits=["COMPUTE_NODE"]) for number in range(2100)]
    assert {item.error for item in engine.providers.set_providers(reports)} == {None}
    answer = engine.get_candidates(a_query(required_traits=[["COMPUTE_NODE"]]))
    assert len(answer.provider_uuids) == 2100


def test_an_unknown_trait_cannot_be_set(engine: PlacementEngine) -> None:
    """Its name is in the error."""
    with pytest.raises(exception.TraitNotFound, match="FAST"):
        engine.providers.set_trait(a_uuid(), "FAST", present=True)


def test_setting_a_trait_that_is_there_writes_nothing(engine: PlacementEngine) -> None:
    """Nor does removing one that is not."""
    report = a_provider(traits=["CUSTOM_A"])
    set_one(engine, report)
    before = epoch(engine)
    engine.providers.set_trait(report["uuid"], "CUSTOM_A", present=True)
    engine.providers.set_trait(report["uuid"], "CUSTOM_B", present=False)
    assert epoch(engine) == before


def test_a_deleted_provider_may_come_back(engine: PlacementEngine) -> None:
    """With nothing of what it had."""
    report = a_provider(traits=["CUSTOM_A"])
    set_one(engine, report)
    engine.get_candidates(a_query())
    engine.providers.delete(report["uuid"])
    set_one(engine, {**report, "traits": []})
    assert engine.get_candidates(a_query()).provider_uuids == [report["uuid"]]
    assert engine.get_candidates(a_query(required_traits=[["CUSTOM_A"]])).provider_uuids == []


def traits_of(engine: PlacementEngine, uuid: str) -> set[str]:
    (found,) = engine.provider_trees.list([uuid])
    return set(found.traits)


def test_a_report_that_comes_late_changes_nothing(engine: PlacementEngine) -> None:
    """Its result shows what is there, and the number that was faster; an equal one is taken."""
    report = a_provider(traits=["CUSTOM_A"], managed_traits=["CUSTOM_A"])
    set_one(engine, {**report, "order": 5})
    late = {**report, "traits": [], "inventories": {"VCPU": {"total": 1}}, "order": 4}
    result, before = set_one(engine, late), epoch(engine)
    assert (result.error, result.later_order) == (None, 5)
    assert result.inventories["VCPU"]["total"] == 8
    assert (traits_of(engine, report["uuid"]), epoch(engine)) == ({"CUSTOM_A"}, before)
    assert set_one(engine, {**late, "order": 5}).later_order is None
    assert traits_of(engine, report["uuid"]) == set()


def test_a_report_without_a_change_is_a_later_one_nevertheless(engine: PlacementEngine) -> None:
    """Readers have nothing to load again; one without a number is taken, and keeps the last."""
    report = a_provider(traits=["CUSTOM_A"])
    set_one(engine, {**report, "order": 5})
    before = epoch(engine)
    assert set_one(engine, {**report, "order": 9}).generation == 1
    assert epoch(engine) == before
    assert set_one(engine, report).later_order is None
    assert set_one(engine, {**report, "traits": [], "order": 8}).later_order == 9


def test_a_trait_that_is_set_late_is_not(engine: PlacementEngine) -> None:
    """The number is that of the same changes as in reports."""
    report = a_provider()
    set_one(engine, {**report, "order": 5})
    for order, present in [(7, True), (6, False)]:
        engine.providers.set_trait(report["uuid"], "CUSTOM_A", present=present, order=order)
    assert traits_of(engine, report["uuid"]) == {"CUSTOM_A"}
    assert set_one(engine, {**report, "order": 6}).later_order == 7


def test_a_deletion_that_comes_late_changes_nothing(engine: PlacementEngine) -> None:
    """The host was set up again meanwhile, under the same UUID."""
    report = a_provider()
    set_one(engine, {**report, "order": 5})
    assert engine.providers.delete(report["uuid"], order=5) is None
    set_one(engine, {**report, "order": 7})
    assert engine.providers.delete(report["uuid"], order=6) == 7
    assert traits_of(engine, report["uuid"]) == set(report["traits"])
    assert engine.providers.delete(report["uuid"]) is None


def test_a_report_that_comes_after_the_deletion_changes_nothing(engine: PlacementEngine) -> None:
    """It would offer a deleted host; a later one is that of a new host."""
    report = a_provider()
    set_one(engine, {**report, "order": 5})
    engine.providers.delete(report["uuid"], order=6)
    late = set_one(engine, {**report, "order": 5})
    assert (late.error, late.generation, late.later_order) == (None, None, 6)
    engine.providers.delete(report["uuid"], order=8)
    assert set_one(engine, {**report, "order": 7}).later_order == 8
    assert set_one(engine, {**report, "order": 9}).later_order is None


@pytest.mark.parametrize("order", [-1, 2**63, "7", 1.5, None], ids=repr)
def test_the_number_of_a_report_is_checked(engine: PlacementEngine, order: object) -> None:
    """A cell cannot store what is none."""
    assert "order must be" in str(set_one(engine, {**a_provider(), "order": order}).error)
