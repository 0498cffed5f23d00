"""Each process has an order of its own, which stays."""

import random

import numpy as np

from scheduler.hosts.tie_order import TieOrder


def arranged(order: TieOrder, rows: list[int]) -> list[int]:
    """Return the rows in the order."""
    given = np.array(rows, dtype=np.int64)
    found: list[int] = given[
        order.arranged(given, lambda rows: [f"host{row}" for row in rows])
    ].tolist()
    return found


def test_with_a_seed_the_names_make_the_order() -> None:
    """However the hosts came into each process's store."""
    names = {row: f"host{row}" for row in range(50)}
    moved = {row: names[49 - row] for row in names}

    def order(seed: int, of: dict[int, str]) -> list[str]:
        rows = np.arange(50)
        found = TieOrder(random.Random(), seed).arranged(
            rows, lambda some: [of[row] for row in some.tolist()]
        )
        return [of[row] for row in found.tolist()]

    assert order(7, names) == order(7, moved) != order(8, names)


def test_all_rows_are_there_once() -> None:
    """In whatever order they come."""
    rows = [7, 3, 4000, 0, 12]
    assert sorted(arranged(TieOrder(random.Random(1)), rows)) == sorted(rows)


def test_the_same_random_source_gives_the_same_order() -> None:
    """Others another one: a simulation can be repeated, and processes differ."""
    one, same, other = (
        arranged(TieOrder(random.Random(seed)), list(range(50))) for seed in (1, 1, 2)
    )
    assert one == same
    assert one != other
    assert one != list(range(50))


def test_rows_keep_their_order_whatever_others_are_asked_about() -> None:
    """Also when the fleet has grown since."""
    order = TieOrder(random.Random(1))
    before = arranged(order, list(range(20)))
    arranged(order, list(range(100_000)))
    assert arranged(order, list(range(20))) == before
    assert arranged(order, list(range(19, -1, -1))) == before
    assert [row for row in arranged(order, list(range(500))) if row < 20] == before


def test_nothing_has_no_order() -> None:
    """A question to which placement has no answer."""
    assert arranged(TieOrder(random.Random(1)), []) == []
