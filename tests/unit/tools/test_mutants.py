"""The deliberate faults fit the code as it is now, and finding them is told from not finding."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.plugins import watchdog
from tools import mutants
from tools.mutants import Fault, Outcome, StaleFault

FAULTS = mutants.read_faults()
FAULT = Fault(
    name="one-too-many",
    kind="claims",
    file="it.py",
    old="used < limit",
    new="used <= limit",
    tests=["tests/unit/tools/test_mutants.py::test_each_fault_has_a_name_of_its_own"],
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "it.py").write_text("fits = used < limit\n")
    return tmp_path


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits_the_code(fault: Fault) -> None:
    """Its old text is there once, it changes one line, and its tests are there."""
    mutants.check(fault)


def test_each_fault_has_a_name_of_its_own() -> None:
    """By which it can be asked for; there are enough of them."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 45


def test_a_fault_is_put_into_a_tree(tree: Path) -> None:
    """What was there is returned, to be put back."""
    assert FAULT.apply(tree) == "fits = used < limit\n"
    assert (tree / "it.py").read_text() == "fits = used <= limit\n"


@pytest.mark.parametrize("text", ["", "a = used < limit\nb = used < limit\n"], ids=["gone", "two"])
def test_a_fault_that_does_not_fit_is_named(tree: Path, text: str) -> None:
    """Code changes: then a developer has to look at the fault."""
    (tree / "it.py").write_text(text)
    with pytest.raises(StaleFault, match="one-too-many"):
        FAULT.apply(tree)


@pytest.mark.parametrize(
    "values",
    [
        {"file": "placement/nothing.py"},
        {"old": "nowhere to be found"},
        {"new": "used < limit\nand more"},
        {"tests": ["tests/unit/tools/test_mutants.py::test_that_is_not_there"]},
        {"tests": ["tests/unit/nothing"]},
    ],
)
def test_a_stale_entry_is_refused(values: dict[str, Any]) -> None:
    """Before anything is copied or run."""
    with pytest.raises(StaleFault, match=FAULTS[0].name):
        mutants.check(dataclasses.replace(FAULTS[0], **values))


def test_an_outcome_says_by_which_test_or_none() -> None:
    """One line each."""
    found = Outcome(FAULT, "tests/unit/test_it.py::test_limit", 2.4)
    assert str(found) == "one-too-many (claims): found by tests/unit/test_it.py::test_limit in 2 s"
    assert str(Outcome(FAULT, None, 7.0)) == "one-too-many (claims): NOT FOUND in 7 s"


@pytest.mark.parametrize(
    ("exit_code", "output", "expected"),
    [
        (0, "3 passed", None),
        (1, "FAILED tests/test_it.py::test_limit\n1 failed", "tests/test_it.py::test_limit"),
        (2, "ERROR tests/a.py::test_b[c d] - KeyError: - e\n1 error", "tests/a.py::test_b[c d]"),
        (watchdog.EXIT_CODE, "", "the time limit of its run"),
    ],
    ids=["passed", "failed", "broke off", "took too long"],
)
def test_what_found_a_fault_is_read_from_its_run(
    exit_code: int, output: str, expected: str | None
) -> None:
    """A run that its watchdog had to end has found the fault, too."""
    assert mutants.failed_in(["tests/test_it.py"], exit_code, output) == expected


@pytest.mark.parametrize(
    ("exit_code", "output"),
    [(3, "INTERNALERROR"), (-9, ""), (2, "ERROR tests/test_it.py\n1 error during collection")],
    ids=["of pytest", "killed", "import"],
)
def test_a_run_that_ran_no_test_finds_nothing(exit_code: int, output: str) -> None:
    """Its fault breaks something else than what it is about."""
    with pytest.raises(StaleFault, match=r"tests/test_it.py could not"):
        mutants.failed_in(["tests/test_it.py"], exit_code, output)


def test_a_fault_that_cannot_be_tried_is_told_of(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on with the next one, and the file is as it was."""
    monkeypatch.setattr(mutants, "ROOT", tree)
    trees = mutants.Trees(tree.parent / "copies", 1)
    lost = dataclasses.replace(FAULT, tests=["tests/nothing.py"])
    outcome = mutants.try_out(trees, lost, all_tests=False)
    assert (outcome.found_by, str(outcome).splitlines()[0]) == (
        None,
        "one-too-many (claims): COULD NOT BE TRIED (tests/nothing.py could not be run:",
    )
    with trees.lent() as copy:
        assert (copy / "it.py").read_text() == "fits = used < limit\n"


def test_folders_near_the_tests_are_those_of_a_package() -> None:
    """Where other tests may notice."""
    tests = ["tests/unit/rpc/signing/test_a.py::test_b", "tests/integration/placement/test_c.py"]
    fault = dataclasses.replace(FAULT, tests=tests)
    assert mutants.directories_of(fault) == ["tests/integration", "tests/unit/rpc"]
