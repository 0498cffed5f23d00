"""Names and inventories on three databases: two who make the same together, and what is stored."""

import threading
from collections.abc import Callable, Iterator

import pytest

from armillary import exception
from placement.providers.inventory import AMOUNT_MAX, RATIO_MAX, Inventory
from tests.builders import a_provider
from tests.fixtures.placement import SCHEMA, NewEngine, engines
from tests.fixtures.services.databases import NewTables

SECONDS_MAX = 60
GOLD, SILVER = "CUSTOM_GOLD", "CUSTOM_SILVER"
LARGEST = Inventory(AMOUNT_MAX, AMOUNT_MAX, AMOUNT_MAX, AMOUNT_MAX, AMOUNT_MAX, RATIO_MAX)


@pytest.fixture
def any_engine(any_tables: NewTables) -> Iterator[NewEngine]:
    """Lend a function that makes one more engine on one database."""
    with engines(any_tables(SCHEMA)) as make:
        yield make


def together(*calls: Callable[[], object]) -> list[object]:
    """Return what the calls return or raise, made at the same time."""
    barrier = threading.Barrier(len(calls))
    results: list[object] = [None] * len(calls)

    def run(place: int) -> None:
        barrier.wait(SECONDS_MAX)
        try:
            results[place] = calls[place]()
        except exception.ArmillaryError as error:
            results[place] = type(error)

    threads = [threading.Thread(target=run, args=[place]) for place in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS_MAX)
    return results


def test_of_two_who_make_a_name_one_is_told_that_it_was_there(any_engine: NewEngine) -> None:
    """Never an error of the database."""
    one, other = any_engine(), any_engine()
    made = together(
        lambda: one.resource_classes.create(GOLD), lambda: other.resource_classes.create(GOLD)
    )
    assert set(made) == {None, exception.ResourceClassExists}
    made = together(lambda: one.traits.ensure(GOLD)[1], lambda: other.traits.ensure(GOLD)[1])
    assert sorted(map(bool, made)) == [False, True]


def test_of_two_writes_with_one_generation_one_is_told(any_engine: NewEngine) -> None:
    """The other one stands whole."""
    one, other = any_engine(), any_engine()
    report = a_provider()
    one.providers.set_providers([report])
    uuid = report["uuid"]
    written = together(
        lambda: one.inventories.set_all(uuid, 1, {"VCPU": LARGEST}).generation,
        lambda: other.traits.set_of(uuid, 1, ["HW_CPU_X86_AVX"]).generation,
    )
    assert sorted(map(str, written)) == sorted(
        ["2", str(exception.ResourceProviderGenerationConflict)]
    )


def test_the_largest_figures_are_stored(any_engine: NewEngine) -> None:
    """As they are, on each database."""
    engine = any_engine()
    report = a_provider()
    engine.providers.set_providers([report])
    engine.inventories.set_all(report["uuid"], 1, {"VCPU": LARGEST})
    assert engine.inventories.get(report["uuid"]).inventories == {"VCPU": LARGEST}


def test_names_are_made_renamed_and_deleted(any_engine: NewEngine) -> None:
    """With all that stands in the way of it."""
    engine = any_engine()
    report = a_provider(inventories={GOLD: {"total": 3}}, traits=[GOLD])
    engine.providers.set_providers([report])
    engine.resource_classes.rename(GOLD, SILVER)
    assert list(engine.inventories.get(report["uuid"]).inventories) == [SILVER]
    assert [record.name for record in engine.traits.list(is_associated=True)] == [GOLD]
    with pytest.raises(exception.ResourceClassInUse):
        engine.resource_classes.delete(SILVER)
    with pytest.raises(exception.TraitInUse):
        engine.traits.delete(GOLD)
    engine.inventories.delete_all(report["uuid"])
    engine.traits.clear_of(report["uuid"])
    engine.resource_classes.delete(SILVER)
    engine.traits.delete(GOLD)
    assert engine.resource_classes.missing([GOLD, SILVER]) == [GOLD, SILVER]
    assert engine.traits.missing([GOLD]) == [GOLD]
