"""Requests that the checks of a run count as lost."""

import pytest

from tests.faults.checks import is_undone
from tests.faults.operations import Accepted


@pytest.mark.parametrize(
    ("asked", "in_history", "is_excused"),
    [
        (["delete", "delete", "restore"], [0, 2], True),
        (["delete", "delete", "restore"], [2], False),
        (["delete", "delete"], [0], False),
        (["delete", "restore"], [1], False),
    ],
    ids=["joined-and-restored", "neither-of-two", "not-restored", "the-only-one"],
)
def test_a_delete_joins_one_that_is_undone(
    asked: list[str], in_history: list[int], is_excused: bool
) -> None:
    """The server lives, and its history has one of two deletes."""
    accepted = [Accepted(each, f"req-{n}", ("u",), 0.0) for n, each in enumerate(asked)]
    actions = {(f"req-{number}", "u") for number in in_history} | {("req-0", "other")}
    assert is_undone("u", accepted, actions) == is_excused
