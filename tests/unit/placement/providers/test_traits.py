"""Traits: which there are, and which providers have them."""

import os_traits
import pytest

from armillary import exception
from placement.engine import PlacementEngine
from tests.builders import a_provider, a_query
from tests.fixtures.placement import NewEngine

FAST, SLOW = "CUSTOM_FAST", "CUSTOM_SLOW"
AVX = "HW_CPU_X86_AVX"
LONGEST = "CUSTOM_" + "X" * 248


@pytest.fixture
def provider(engine: PlacementEngine) -> str:
    """Return the UUID of a provider of generation 1."""
    report = a_provider()
    engine.providers.set_providers([report])
    return str(report["uuid"])


def trait_names(engine: PlacementEngine, **filters: object) -> list[str]:
    """Return the names of traits."""
    return [record.name for record in engine.traits.list(**filters)]  # type: ignore[arg-type]


def test_standard_traits_are_always_there(engine: PlacementEngine) -> None:
    """Each once, with those that were made, by name."""
    engine.providers.set_providers([a_provider(traits=[AVX])])
    engine.traits.ensure(FAST)
    assert trait_names(engine) == sorted([*os_traits.get_traits(), FAST])
    assert engine.traits.get(AVX).name == AVX
    assert engine.traits.missing([AVX, FAST, SLOW, "BOGUS"]) == ["BOGUS", SLOW]


def test_traits_are_found_by_name_prefix_and_whether_they_are_in_use(
    engine: PlacementEngine, provider: str
) -> None:
    """All that is asked must hold; a name is a name, not a pattern."""
    for name in (FAST, SLOW):
        engine.traits.ensure(name)
    engine.traits.set_of(provider, 1, [FAST, AVX])
    assert trait_names(engine, among={FAST, AVX, "BOGUS"}) == [FAST, AVX]
    assert trait_names(engine, prefix="CUSTOM_") == [FAST, SLOW]
    assert trait_names(engine, prefix="%") == []
    assert trait_names(engine, is_associated=True) == [FAST, AVX]
    assert trait_names(engine, is_associated=True, prefix="HW_") == [AVX]
    engine.traits.clear_of(provider)
    assert trait_names(engine, is_associated=True) == []


def test_a_trait_is_made_once(engine: PlacementEngine) -> None:
    """The second client learns that it was there, and since when."""
    made, is_new = engine.traits.ensure(LONGEST)
    assert is_new
    assert engine.traits.ensure(LONGEST) == (made, False)
    assert engine.traits.get(LONGEST) == made


@pytest.mark.parametrize("name", ["CUSTOM_NEVER_MADE", "custom_fast", "FAST", "☃", "x" * 300])
def test_other_names_are_of_no_trait(engine: PlacementEngine, provider: str, name: str) -> None:
    """Neither to read, to delete nor to have."""
    engine.traits.ensure(FAST)
    with pytest.raises(exception.TraitNotFound):
        engine.traits.get(name)
    with pytest.raises(exception.TraitNotFound):
        engine.traits.delete(name)
    with pytest.raises(exception.TraitNotFound):
        engine.traits.set_of(provider, 1, [FAST, name])
    assert engine.traits.get_of(provider).traits == set()


def test_standard_traits_stay(engine: PlacementEngine) -> None:
    """No client can delete them."""
    with pytest.raises(exception.StandardName, match=f"delete standard trait {AVX}"):
        engine.traits.delete(AVX)


def test_a_trait_in_use_stays(engine: PlacementEngine, provider: str) -> None:
    """Until no provider has it any more."""
    engine.traits.ensure(FAST)
    engine.traits.set_of(provider, 1, [FAST])
    with pytest.raises(exception.TraitInUse, match=FAST):
        engine.traits.delete(FAST)
    engine.traits.clear_of(provider)
    engine.traits.delete(FAST)
    with pytest.raises(exception.TraitNotFound):
        engine.traits.delete(FAST)


def test_a_change_of_traits_counts_and_no_change_does_not(
    engine: PlacementEngine, provider: str
) -> None:
    """The generation is what clients hold against later writes."""
    assert engine.traits.set_of(provider, 1, [AVX, AVX]).generation == 2
    assert engine.traits.set_of(provider, 2, [AVX]).generation == 2
    assert engine.traits.clear_of(provider).generation == 3
    assert engine.traits.clear_of(provider).generation == 3
    read = engine.traits.get_of(provider)
    assert (read.generation, read.traits) == (3, set())


def test_a_write_with_another_generation_changes_nothing(
    engine: PlacementEngine, provider: str
) -> None:
    """Of two writers who read the same, the second one is told."""
    engine.traits.set_of(provider, 1, [AVX])
    for generation in (1, 3, 10**40):
        with pytest.raises(exception.ResourceProviderGenerationConflict):
            engine.traits.set_of(provider, generation, [])
    assert engine.traits.get_of(provider).traits == {AVX}


@pytest.mark.parametrize(
    "unknown",
    ["7260669a-e3d4-4867-aaa7-683e2ab6958c", "non_existed", ""],
    ids=["uuid", "text", "empty"],
)
def test_an_unknown_provider_has_no_traits_to_read_or_write(
    engine: PlacementEngine, unknown: str
) -> None:
    """Whatever its name looks like."""
    with pytest.raises(exception.ResourceProviderNotFound):
        engine.traits.get_of(unknown)
    with pytest.raises(exception.ResourceProviderNotFound):
        engine.traits.set_of(unknown, 0, [])
    with pytest.raises(exception.ResourceProviderNotFound):
        engine.traits.clear_of(unknown)


def test_other_engines_see_a_write_immediately(new_engine: NewEngine) -> None:
    """In what fits."""
    writer, reader = new_engine(), new_engine()
    report = a_provider()
    writer.providers.set_providers([report])
    query = a_query(required_traits=[[AVX]])
    assert reader.get_candidates(query).provider_uuids == []
    writer.traits.set_of(report["uuid"], 1, [AVX])
    assert reader.get_candidates(query).provider_uuids == [report["uuid"]]
    writer.traits.clear_of(report["uuid"])
    assert reader.get_candidates(query).provider_uuids == []
