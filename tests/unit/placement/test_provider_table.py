"""The provider table: it becomes what the changes say, row by row."""

from __future__ import annotations

from placement.inventory import Inventory
from placement.provider_table import EPOCH_NONE, ProviderChanges, ProviderTable

FOUR = Inventory(4, 0, 1, 4, 1, 1.0)
SIX = Inventory(6, 2, 1, 6, 1, 2.0)


def a_table(count: int = 3) -> ProviderTable:
    table = ProviderTable()
    table.apply(
        ProviderChanges(
            epoch=1,
            providers=[(number, f"uuid-{number}", number) for number in range(count)],
            inventories={"VCPU": [(number, FOUR) for number in range(count)]},
            usages={"VCPU": [(0, 3)]},
            traits={"CUSTOM_A": [0, 2]},
            aggregates={"ssd": [0, 1]},
        )
    )
    return table


def facts(table: ProviderTable) -> dict[str, tuple[int, int, bool, bool]]:
    """Return uuid -> capacity, used, has CUSTOM_A, is in ssd, of live rows."""
    columns = table.columns_of("VCPU")
    trait, member = table.has_trait("CUSTOM_A"), table.is_member("ssd")
    return {
        table.uuids[row]: (
            int(columns.capacity[row]),
            int(columns.used[row]),
            bool(trait[row]),
            bool(member[row]),
        )
        for row in range(table.size)
        if table.is_live[row]
    }


def test_a_new_table_is_empty_and_of_no_epoch() -> None:
    """It lacks everything."""
    assert (ProviderTable().epoch, ProviderTable().size) == (EPOCH_NONE, 0)


def test_a_table_holds_what_it_was_given() -> None:
    """Columns and masks say the same as the changes."""
    assert facts(a_table()) == {
        "uuid-0": (4, 3, True, True),
        "uuid-1": (4, 0, False, True),
        "uuid-2": (4, 0, True, False),
    }


def test_usage_alone_changes_usage_alone() -> None:
    """Traits, aggregates and inventories stay."""
    table = a_table()
    table.apply(ProviderChanges(epoch=2, usages={"VCPU": [(0, 1)]}))
    assert (table.epoch, facts(table)["uuid-0"]) == (2, (4, 1, True, True))


def test_a_changed_provider_keeps_nothing_of_the_past() -> None:
    """All its facts are replaced, also by none."""
    table = a_table()
    changes = ProviderChanges(
        epoch=2, providers=[(0, "uuid-0", 0)], inventories={"VCPU": [(0, SIX)]}
    )
    table.apply(changes)
    assert facts(table)["uuid-0"] == (8, 0, False, False)


def test_a_provider_without_inventory_is_there_but_not_live() -> None:
    """It counts as a provider, not as part of the fleet."""
    table = a_table()
    table.apply(ProviderChanges(epoch=2, providers=[(0, "uuid-0", 0)]))
    assert "uuid-0" not in facts(table)
    assert table.providers_total == 3


def test_a_row_is_used_again_for_another_provider() -> None:
    """Nothing of the former one shines through, and the table does not grow."""
    table = a_table()
    size = table.size
    table.apply(ProviderChanges(epoch=2, gone=[0]))
    changes = ProviderChanges(
        epoch=3, providers=[(9, "uuid-9", 9)], inventories={"VCPU": [(9, FOUR)]}
    )
    table.apply(changes)
    assert facts(table) == {
        "uuid-1": (4, 0, False, True),
        "uuid-2": (4, 0, True, False),
        "uuid-9": (4, 0, False, False),
    }
    assert (table.size, table.row_of("uuid-0"), table.providers_total) == (size, None, 3)


def test_a_provider_that_came_back_has_a_new_number() -> None:
    """Its end and its new beginning may come in the same changes."""
    table = a_table()
    changes = ProviderChanges(
        epoch=2, gone=[0], providers=[(7, "uuid-0", 7)], inventories={"VCPU": [(7, SIX)]}
    )
    table.apply(changes)
    assert facts(table)["uuid-0"] == (8, 0, False, False)


def test_the_end_of_an_unknown_provider_is_no_news() -> None:
    """A new table hears of ends it never saw the beginning of."""
    table = a_table()
    table.apply(ProviderChanges(epoch=2, gone=[77]))
    assert len(facts(table)) == 3


def test_a_table_grows_with_its_providers() -> None:
    """Later rows are as good as early ones, in the order they came."""
    table = a_table()
    more = range(3, 500)
    changes = ProviderChanges(
        epoch=2,
        providers=[(number, f"uuid-{number}", number) for number in more],
        inventories={"VCPU": [(number, SIX) for number in more], "DISK_GB": [(499, FOUR)]},
        traits={"CUSTOM_A": [499], "CUSTOM_B": [0]},
        aggregates={"ssd": [499]},
    )
    table.apply(changes)
    assert list(facts(table)) == [f"uuid-{number}" for number in range(500)]
    assert facts(table)["uuid-499"] == (8, 0, True, True)
    assert facts(table)["uuid-0"] == (4, 3, True, True)
    assert table.columns_of("DISK_GB").total.sum() == 4


def test_an_aggregate_that_was_asked_for_follows_its_members() -> None:
    """Whether one leaves or another joins."""
    table = a_table()
    assert table.is_member("ssd")[:3].tolist() == [True, True, False]
    table.apply(ProviderChanges(epoch=2, gone=[0]))
    assert table.is_member("ssd")[:3].tolist() == [False, True, False]
    changes = ProviderChanges(epoch=3, providers=[(9, "uuid-9", 9)], aggregates={"ssd": [9]})
    table.apply(changes)
    row = table.row_of("uuid-9")
    assert [number for number, is_in in enumerate(table.is_member("ssd")) if is_in] == [row, 1]


def test_an_unknown_class_is_a_column_of_nothing() -> None:
    """As are traits and aggregates that nobody has."""
    table = a_table()
    assert not table.columns_of("DISK_GB").max_unit.any()
    assert not table.has_trait("CUSTOM_B").any()
    assert not table.is_member("hdd").any()
