"""Tests of fences: their parts, their integer form, and their order."""

import pytest

from objects.allocations import fence
from objects.allocations.fence import FENCE_FINAL, FIRST_FENCE, TRIES_MAX, Fence, FenceStep, Phase

IN_ORDER = [
    FIRST_FENCE,
    FIRST_FENCE.after(1),
    Fence.of_build(2).before,
    Fence.of_build(2),
    Fence.of_build(9_999),
    Fence.at_rest(0),
    Fence.of_operation(1),
    Fence.of_operation(1).of_try(1),
    Fence.of_operation(1).of_try(1).after(1),
    Fence.of_operation(1).of_try(2),
    Fence.of_operation(1).of_try(TRIES_MAX).after(1),
    Fence.of_operation(1).of_alternate(0),
    Fence.of_operation(1).of_added(1),
    Fence.of_operation(1).of_added(1, is_removed=True),
    Fence.of_operation(1).at(FenceStep.GIVE_BACK),
    Fence.at_rest(1),
    Fence.of_operation(2),
]


def test_the_order_of_fences_is_that_of_their_integers() -> None:
    """Placement compares integers."""
    numbers = [int(each) for each in IN_ORDER]
    assert sorted(IN_ORDER) == IN_ORDER
    assert sorted(set(numbers)) == numbers
    assert numbers[-1] < FENCE_FINAL


@pytest.mark.parametrize("each", IN_ORDER, ids=str)
def test_the_parts_are_found_in_the_integer(each: Fence) -> None:
    """It is what databases and messages hold."""
    assert Fence.from_int(int(each)) == each


@pytest.mark.parametrize(
    ("each", "expected"),
    [
        (FIRST_FENCE, 1_000),
        (Fence.of_build(3).after(2), 3_002),
        (Fence.of_operation(1), 10_001_000),
        (Fence.of_operation(1).of_try(2), 10_001_003),
        (Fence.of_operation(1).of_alternate(2), 10_001_692),
        (Fence.of_operation(1).of_added(2, is_removed=True), 10_001_695),
        (Fence.at_rest(7), 10_007_999),
    ],
    ids=["first", "alternate", "operation", "try", "move", "evacuation", "idle"],
)
def test_the_integer_form_stays(each: Fence, expected: int) -> None:
    """Peers of other releases, and rows that were written by them, have the same."""
    assert int(each) == expected


def test_the_first_try_follows_the_hold() -> None:
    """Its release is by the fence of the hold, which it is not below."""
    assert Fence.of_operation(5).of_try(1).before == Fence.of_operation(5)


def test_a_release_before_a_try_is_not_below_the_try_before() -> None:
    """Else it would leave what that claimed."""
    operation = Fence.of_operation(5)
    assert operation.of_try(3).before >= operation.of_try(2).after(1)


def test_a_step_beyond_its_operation_is_an_error() -> None:
    """It would be a fence of the next one."""
    with pytest.raises(AssertionError, match="beyond"):
        int(Fence.of_operation(1).at(1000))


def test_attempts_are_counted_in_the_integer() -> None:
    """As databases do with a column."""
    later = fence.next_attempt(int(FIRST_FENCE))
    assert Fence.from_int(later) == Fence(Phase.BUILD, 2)
    assert fence.attempt(later) == 2
