"""The deliberate faults fit the code as it is now, and finding them is told from not finding."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

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


def test_folders_near_the_tests_are_those_of_a_package() -> None:
    """Where other tests may notice."""
    tests = ["tests/unit/rpc/signing/test_a.py::test_b", "tests/integration/placement/test_c.py"]
    fault = dataclasses.replace(FAULT, tests=tests)
    assert mutants.directories_of(fault) == ["tests/integration", "tests/unit/rpc"]
