"""The summary of what all providers can do: too much at times, never too little."""

from hypothesis import given
from hypothesis import strategies as st

from armillary.context import admin_context
from objects.zones.zone_summary import ProviderCapabilities
from placement.candidates import find_candidates
from placement.candidates.capabilities import summarize
from placement.candidates.query import parse
from placement.candidates.strategy import Strategy
from placement.interface import PlacementAPI
from placement.providers.provider_table import ProviderTable
from tests.builders import a_provider, a_query, a_uuid
from tests.fixtures.placement import ANSWER_SECONDS_MAX, PlacementService
from tests.fixtures.placement.provider_tables import TableBuilder

DISABLED = "COMPUTE_STATUS_DISABLED"


def a_table() -> tuple[ProviderTable, list[str]]:
    """Return a big host, a small one with a device that has a trait, and a disabled giant."""
    builder = TableBuilder()
    builder.add({"VCPU": 8, "MEMORY_MB": 1024}, used={"VCPU": 6})
    small = builder.add({"VCPU": 4})
    builder.add({"VGPU": 2}, parent=small, traits=("CUSTOM_FAST",))
    builder.add({"VCPU": 64}, traits=(DISABLED, "CUSTOM_GOLD"))
    table = builder.table()
    return table, table.uuids[:4].tolist()


def test_the_most_of_each_class_on_one_provider_and_all_traits() -> None:
    """Of the big host only 2 VCPU are free; the trait of a child counts."""
    table, _ = a_table()
    assert summarize(table, without_traits=[DISABLED]) == ProviderCapabilities(
        {"MEMORY_MB": 1024, "VCPU": 4, "VGPU": 2}, ["CUSTOM_FAST"], providers=3
    )


def test_a_host_that_is_left_out_takes_its_children_with_it() -> None:
    """An unknown UUID does no harm."""
    table, uuids = a_table()
    found = summarize(table, excluded=[uuids[1], a_uuid()], without_traits=[DISABLED])
    assert found == ProviderCapabilities({"MEMORY_MB": 1024, "VCPU": 2}, [], providers=1)


def test_nothing_is_promised_of_nothing() -> None:
    assert summarize(ProviderTable()) == ProviderCapabilities({}, [], providers=0)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 8),
            st.integers(0, 8),
            st.booleans(),
            st.sampled_from(["", "CUSTOM_A", "CUSTOM_B"]),
        ),
        max_size=6,
    ),
    st.integers(1, 9),
    st.sampled_from(["", "CUSTOM_A", "CUSTOM_B"]),
)
def test_what_it_rules_out_has_no_candidate(
    providers: list[tuple[int, int, bool, str]], asked: int, trait: str
) -> None:
    """Soundness, for one class and one trait over hosts and their children."""
    builder, root = TableBuilder(), None
    for total, used, is_child, having in providers:
        parent = root if is_child else None
        number = builder.add(
            {"VCPU": total},
            parent=parent,
            used={"VCPU": min(total, used)},
            traits=(having,) if having else (),
        )
        root = number if parent is None else root
    table = builder.table()
    promised = summarize(table)
    required = [[trait]] if trait else []
    query = parse(a_query(resources={"VCPU": asked}, required_traits=required))
    found = find_candidates(table, query, Strategy()).count
    is_ruled_out = promised.resources.get("VCPU", 0) < asked or (
        trait and trait not in promised.traits
    )
    assert not (found and is_ruled_out)


def test_over_rpc(placement: PlacementService) -> None:
    provider = a_provider(a_uuid())
    placement.manager.engine.providers.set_providers([provider])
    api = PlacementAPI(placement.manager._top_bus, timeout_seconds=ANSWER_SECONDS_MAX)
    assert api.get_summary(admin_context()).providers == 1
    assert api.get_summary(admin_context(), excluded=[str(provider["uuid"])]).providers == 0
