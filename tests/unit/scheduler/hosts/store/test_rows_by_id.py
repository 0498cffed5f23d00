"""Rows are remembered by placement's ids, as long as these and the fleet mean the same."""

import numpy as np

from scheduler.hosts.store.rows_by_id import NamedIds, RowsById

MEANING = object()


class Rows(dict[str, int]):
    """Counts the lookups."""

    looked = 0

    def get(self, uuid: str, default: int = -1) -> int:  # type: ignore[override]
        self.looked += 1
        return super().get(uuid, default)


def named(*ids: int, meaning: object = MEANING) -> NamedIds:
    return NamedIds(np.array(ids, dtype=np.int64), meaning)


def test_what_was_seen_is_not_looked_up_again() -> None:
    """Neither are those of other providers."""
    rows, known = Rows(a=0, b=7), RowsById()
    assert known.look_up(named(5, 9, 6), ["a", "x", "b"], rows, 1).tolist() == [0, -1, 7]
    assert rows.looked == 3
    assert known.look_up(named(9, 6), ["x", "b"], rows, 1).tolist() == [-1, 7]
    assert known.look_up(named(6, 70), ["b", "a"], rows, 1).tolist() == [7, 0]
    assert rows.looked == 4


def test_a_changed_fleet_is_looked_at_again() -> None:
    """A host that went, and one that came."""
    known = RowsById()
    assert known.look_up(named(1, 2), ["a", "b"], {"a": 0}, 1).tolist() == [0, -1]
    assert known.look_up(named(1, 2), ["a", "b"], {"b": 0}, 2).tolist() == [-1, 0]


def test_ids_that_mean_another_provider_are_looked_up_again() -> None:
    """Placement's database was set back."""
    known, rows = RowsById(), {"a": 0, "b": 1}
    assert known.look_up(named(1), ["a"], rows, 1).tolist() == [0]
    assert known.look_up(named(1, meaning=object()), ["b"], rows, 1).tolist() == [1]


def test_without_ids_or_with_huge_ones_uuids_are_looked_up() -> None:
    """No array of that length is made."""
    known, rows = RowsById(), {"a": 3}
    assert known.look_up(None, ["a", "b"], rows, 1).tolist() == [3, -1]
    assert known.look_up(named(2**60), ["a"], rows, 1).tolist() == [3]
    assert known.look_up(named(), [], rows, 1).tolist() == []
