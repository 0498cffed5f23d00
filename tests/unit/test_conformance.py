"""How the results of the public suite are evaluated."""

import shlex
from pathlib import Path

import pytest

from tests.fixtures.placement import conformance
from tests.fixtures.placement.conformance import Outcome
from tests.fixtures.programs.forked_servers import command_to_ask

GOOD = Outcome("usage", "list all", is_passed=True)
BAD = Outcome("usage", "list none", is_passed=False, findings=("status: 500 is not 200",))


def test_a_failure_is_unexpected_unless_listed() -> None:
    """By the names of its file and its own."""
    assert conformance.unexpected([GOOD, BAD], {}) == [BAD]
    assert conformance.unexpected([GOOD, BAD], {"traits": {"list none": "?"}}) == [BAD]
    assert conformance.unexpected([GOOD, BAD], {"usage": {"list none": "?"}}) == []


@pytest.mark.parametrize("name", ["list all", "no such test"])
def test_a_listed_test_that_does_not_fail_is_outdated(name: str) -> None:
    """Whether it passes or does not exist."""
    assert conformance.outdated([GOOD, BAD], {"usage": {name: "?"}}) == [f"usage: {name}"]


def test_a_listed_test_that_fails_is_not_outdated() -> None:
    """The list says what is."""
    assert conformance.outdated([GOOD, BAD], {"usage": {"list none": "?"}}) == []


def test_a_failure_is_told_by_name_with_what_was_found() -> None:
    """The reason is given."""
    assert str(BAD) == "usage: list none\n    status: 500 is not 200"


def test_the_serve_command_can_be_run_from_anywhere() -> None:
    """It names the program by its whole path."""
    command = command_to_ask("armillary-placement-rest")
    _exec, program, *arguments = shlex.split(conformance.serve_command(command))
    assert Path(program).is_absolute()
    assert {"{port}", "{workdir}", "{conf}"} < set(arguments)


def test_every_known_failure_has_a_reason() -> None:
    """Else it would be unknown when it is gone."""
    path = Path(__file__).parents[1] / "conformance/known_failures.yaml"
    known = conformance.known_failures(path)
    assert all(reason for tests in known.values() for reason in tests.values())
