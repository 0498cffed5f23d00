"""The provider table: it becomes what the changes say, row by row."""

import numpy as np
import pytest

from objects.packed.packing import words_of
from objects.packed.provider_uuids import check_of, check_of_shares
from placement.providers.inventory import Inventory
from placement.providers.provider_changes import ChangedProvider, ProviderChanges
from placement.providers.provider_table import EPOCH_NONE, ProviderTable, tree_order
from tests.fixtures.placement.provider_tables import rows_of_tree, traits_of

FOUR = Inventory(4, 0, 1, 4, 1, 1.0)
SIX = Inventory(6, 2, 1, 6, 1, 2.0)


def a_uuid(number: int) -> str:
    return f"c0ffee00-0000-4000-8000-{number:012}"


def a_provider(number: int, parent: int | None = None, root: int | None = None) -> ChangedProvider:
    return ChangedProvider(number, a_uuid(number), number if root is None else root, parent)


def a_table(count: int = 3) -> ProviderTable:
    table = ProviderTable()
    table.apply(
        ProviderChanges(
            epoch=1,
            providers=[a_provider(number) for number in range(count)],
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
        a_uuid(0): (4, 3, True, True),
        a_uuid(1): (4, 0, False, True),
        a_uuid(2): (4, 0, True, False),
    }


def test_usage_alone_changes_usage_alone() -> None:
    """Traits, aggregates and inventories stay."""
    table = a_table()
    table.apply(ProviderChanges(epoch=2, usages={"VCPU": [(0, 1)]}))
    assert (table.epoch, facts(table)[a_uuid(0)]) == (2, (4, 1, True, True))


def test_a_changed_provider_keeps_nothing_of_the_past() -> None:
    """All its facts are replaced, also by none."""
    table = a_table()
    changes = ProviderChanges(epoch=2, providers=[a_provider(0)], inventories={"VCPU": [(0, SIX)]})
    table.apply(changes)
    assert facts(table)[a_uuid(0)] == (8, 0, False, False)


def test_a_provider_without_inventory_is_there_but_not_live() -> None:
    """It counts as a provider, not as part of the fleet."""
    table = a_table()
    table.apply(ProviderChanges(epoch=2, providers=[a_provider(0)]))
    assert a_uuid(0) not in facts(table)
    assert table.providers_total == 3


def test_a_row_is_used_again_for_another_provider() -> None:
    """Nothing of the former one shines through, and the table does not grow."""
    table = a_table()
    size = table.size
    table.apply(ProviderChanges(epoch=2, gone=[0]))
    changes = ProviderChanges(epoch=3, providers=[a_provider(9)], inventories={"VCPU": [(9, FOUR)]})
    table.apply(changes)
    assert facts(table) == {
        a_uuid(1): (4, 0, False, True),
        a_uuid(2): (4, 0, True, False),
        a_uuid(9): (4, 0, False, False),
    }
    assert (table.size, table.row_of(a_uuid(0)), table.providers_total) == (size, None, 3)


def test_a_provider_that_came_back_has_a_new_number() -> None:
    """Its end and its new beginning may come in the same changes."""
    table = a_table()
    changes = ProviderChanges(
        epoch=2,
        gone=[0],
        providers=[ChangedProvider(7, a_uuid(0), 7)],
        inventories={"VCPU": [(7, SIX)]},
    )
    table.apply(changes)
    assert facts(table)[a_uuid(0)] == (8, 0, False, False)


def test_the_end_of_an_unknown_provider_is_not_news() -> None:
    """A new table learns of ends it never saw the beginning of."""
    table = a_table()
    table.apply(ProviderChanges(epoch=2, gone=[77]))
    assert len(facts(table)) == 3


def test_a_table_grows_with_its_providers() -> None:
    """Later rows are as good as early ones, in the order they came."""
    table = a_table()
    more = range(3, 500)
    changes = ProviderChanges(
        epoch=2,
        providers=[a_provider(number) for number in more],
        inventories={"VCPU": [(number, SIX) for number in more], "DISK_GB": [(499, FOUR)]},
        traits={"CUSTOM_A": [499], "CUSTOM_B": [0]},
        aggregates={"ssd": [499]},
    )
    table.apply(changes)
    assert list(facts(table)) == [a_uuid(number) for number in range(500)]
    assert facts(table)[a_uuid(499)] == (8, 0, True, True)
    assert facts(table)[a_uuid(0)] == (4, 3, True, True)
    assert table.columns_of("DISK_GB").total.sum() == 4


def test_an_aggregate_that_was_asked_for_follows_its_members() -> None:
    """Whether one leaves or another joins."""
    table = a_table()
    assert table.is_member("ssd")[:3].tolist() == [True, True, False]
    table.apply(ProviderChanges(epoch=2, gone=[0]))
    assert table.is_member("ssd")[:3].tolist() == [False, True, False]
    changes = ProviderChanges(epoch=3, providers=[a_provider(9)], aggregates={"ssd": [9]})
    table.apply(changes)
    row = table.row_of(a_uuid(9))
    assert [number for number, is_in in enumerate(table.is_member("ssd")) if is_in] == [row, 1]


def test_an_unknown_class_is_a_column_of_nothing() -> None:
    """As are traits and aggregates without providers."""
    table = a_table()
    assert not table.columns_of("DISK_GB").max_unit.any()
    assert not table.has_trait("CUSTOM_B").any()
    assert not table.is_member("hdd").any()


def a_tree() -> ProviderTable:
    """Return a root 0 with children 1 and 2, and 3 below 2; and a plain provider 4."""
    table = ProviderTable()
    parents = [(0, None, 0), (1, 0, 0), (2, 0, 0), (3, 2, 0), (4, None, 4)]
    table.apply(ProviderChanges(epoch=1, providers=[a_provider(*item) for item in parents]))
    return table


def place_of(table: ProviderTable, number: int) -> tuple[int | None, int | None]:
    """Return the numbers of root and parent of a provider; None: none."""
    row = table.row_of(a_uuid(number))
    if row is None:
        return None, None
    parent = table.parent_rows[row]
    return int(table.ids[table.root_rows[row]]), None if parent < 0 else int(table.ids[parent])


def test_each_provider_knows_its_root_and_its_parent() -> None:
    """By their rows; a root has no parent, and a free row has no root."""
    table = a_tree()
    assert [place_of(table, number) for number in range(5)] == [
        (0, None), (0, 0), (0, 0), (0, 2), (4, None),
    ]  # fmt: skip
    assert table.is_there.sum() == 5
    assert table.has_trees


def test_a_child_may_be_told_of_before_its_parent() -> None:
    """A parent may be younger, if the child was moved below it."""
    table = ProviderTable()
    providers = [a_provider(1, parent=2, root=2), a_provider(2)]
    table.apply(ProviderChanges(epoch=1, providers=providers))
    assert place_of(table, 1) == (2, 2)


def test_the_rows_of_a_tree_follow_its_providers() -> None:
    """When one is moved away, and when one is gone."""
    table = a_tree()
    root = table.row_of(a_uuid(0))
    assert root is not None
    assert table.ids[rows_of_tree(table, root)].tolist() == [0, 1, 2, 3]
    moved = [a_provider(2, parent=4, root=4), a_provider(3, parent=2, root=4)]
    table.apply(ProviderChanges(epoch=2, providers=moved))
    assert table.ids[rows_of_tree(table, root)].tolist() == [0, 1]
    table.apply(ProviderChanges(epoch=3, gone=[1]))
    assert table.ids[rows_of_tree(table, root)].tolist() == [0]
    assert table.has_trees
    table.apply(ProviderChanges(epoch=4, gone=[2, 3]))
    assert not table.has_trees


def test_trees_are_not_sorted_again_for_other_facts() -> None:
    """Usage, inventories and traits leave them as they are."""
    table = a_tree()
    order = table.tree_order
    changes = ProviderChanges(
        epoch=2, providers=[a_provider(1, parent=0, root=0)], inventories={"VCPU": [(1, FOUR)]}
    )
    table.apply(changes)
    assert table.tree_order is order


def test_a_provider_in_a_row_of_its_own_knows_its_traits() -> None:
    """Whatever it had before; equal ones are one object."""
    table = a_table()
    rows = [table.row_of(a_uuid(number)) or 0 for number in range(3)]
    assert [traits_of(table, row) for row in rows] == [("CUSTOM_A",), (), ("CUSTOM_A",)]
    assert traits_of(table, rows[0]) is traits_of(table, rows[2])
    changes = ProviderChanges(
        epoch=2, providers=[a_provider(0)], traits={"CUSTOM_B": [0], "CUSTOM_A": [0]}
    )
    table.apply(changes)
    assert traits_of(table, rows[0]) == ("CUSTOM_A", "CUSTOM_B")


def test_shares_of_rows_add_up_to_the_checksum_of_their_providers() -> None:
    """Also when a row was given to another provider."""
    table = a_table()
    changes = ProviderChanges(
        epoch=2, gone=[0], providers=[a_provider(number) for number in (7, 8)]
    )
    table.apply(changes)
    ids = np.array([2, 7, 1, 8])
    rows = [table.uuids.tolist().index(a_uuid(number)) for number in ids.tolist()]
    expected = check_of(ids, words_of([a_uuid(number) for number in ids.tolist()]))
    assert check_of_shares(table.check_shares[rows]) == expected


@pytest.mark.parametrize(
    ("changes", "anchors"),
    [
        ({}, [0]),
        ({"gone": [1]}, []),
        ({"providers": [a_provider(1)], "aggregates": {"ssd": [1]}}, []),
        (
            {
                "providers": [a_provider(1), a_provider(2)],
                "aggregates": {"ssd": [1, 2]},
                "traits": {"MISC_SHARES_VIA_AGGREGATE": [1]},
            },
            [0, 2],
        ),
    ],
    ids=["at first", "gone", "shares no more", "another member"],
)
def test_sharing_follows_traits_and_aggregates(
    changes: dict[str, object], anchors: list[int]
) -> None:
    """Provider 1 shares with provider 0 at first."""
    table = ProviderTable()
    first = ProviderChanges(
        epoch=1,
        providers=[a_provider(number) for number in range(3)],
        traits={"MISC_SHARES_VIA_AGGREGATE": [1]},
        aggregates={"ssd": [0, 1]},
    )
    table.apply(first)
    assert table.ids[table.sharing.anchors].tolist() == [0]
    table.apply(ProviderChanges(epoch=2, **changes))  # type: ignore[arg-type]
    assert table.ids[table.sharing.anchors].tolist() == anchors


def test_rows_of_a_tree_come_from_the_root_down() -> None:
    """By depth, then by row: a tree 3 > (0, 4 > 1), an empty row 2, and a tree of row 5."""
    roots, parents = np.array([3, 3, -1, 3, 3, 5]), np.array([3, 4, -1, -1, 3, -1])
    assert tree_order(roots, parents).tolist() == [3, 0, 4, 1, 5]
