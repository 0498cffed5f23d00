"""Moves that may leave their cell rather do not."""

import pytest

from objects.request_spec import Destination
from scheduler.weights.cross_cell_weigher import CrossCellWeigher
from tests.fleets import CELL, OTHER_CELL, a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(
    ("cell", "may_leave", "weights"),
    [(CELL, True, [1.0, -1.0]), (OTHER_CELL, True, [-1.0, 1.0]), (CELL, False, [0.0, 0.0]),
     (None, True, [0.0, 0.0])],
)  # fmt: skip
def test_the_cell_a_move_comes_from_is_preferred(
    cell: str | None, may_leave: bool, weights: list[float]
) -> None:
    """Only when it may be left at all."""
    destination = Destination.from_values(cell_uuid=cell, allow_cross_cell_move=may_leave)
    spec = a_request_spec(requested_destination=destination)
    table = a_table([a_host(cell=CELL), a_host("host2", cell=OTHER_CELL)])
    weigher = CrossCellWeigher(scheduling_conf())
    assert [weigher.host_weight(host, spec) for host in table] == weights
    assert weigher.applies_to(spec) is any(weights)


def test_a_request_for_no_place_in_particular_is_not_weighed() -> None:
    """That is every create."""
    weigher = CrossCellWeigher(scheduling_conf())
    assert not weigher.applies_to(a_request_spec())
    assert weigher.host_weight(a_table([a_host()])[0], a_request_spec()) == 0.0
