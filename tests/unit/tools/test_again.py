"""Failed tests that CI runs once more."""

import json
from pathlib import Path

import pytest

from tools.again import NotAgain, failed_tests, main

ONCE = """
import pathlib

def test_it():
    mark = pathlib.Path(__file__).with_name("mark")
    is_first = not mark.exists()
    mark.touch()
    assert not is_first
"""


def note(groups: Path, **by_name: tuple[int | None, list[str]]) -> Path:
    for name, (code, failed) in by_name.items():
        content = {"exit_code": code, "failed": failed}
        groups.joinpath(f"{name}.json").write_text(json.dumps(content))
    return groups


def test_the_failed_tests_of_all_groups_are_run_again(tmp_path: Path) -> None:
    """Groups that passed have none."""
    note(tmp_path, units=(1, ["a.py::test_a"]), faults=(0, []), console=(1, ["b.py::test_b[1 2]"]))
    assert failed_tests(tmp_path) == ["b.py::test_b[1 2]", "a.py::test_a"]


@pytest.mark.parametrize(
    ("noted", "reason"),
    [
        ({}, "no failed test"),
        ({"units": (0, [])}, "no failed test"),
        ({"units": (1, ["a", "b", "c"])}, "3 tests failed"),
        ({"units": (1, ["a"]), "faults": (None, [])}, "faults broke off"),
        ({"units": (1, ["a"]), "faults": (3, [])}, "faults broke off"),
        ({"units": (1, ["a"]), "faults": (1, [])}, "faults failed without"),
    ],
)
def test_what_else_went_wrong_is_not_forgiven(
    tmp_path: Path, noted: dict[str, tuple[int | None, list[str]]], reason: str
) -> None:
    """Many failures, or a group that did not come to its end."""
    with pytest.raises(NotAgain, match=reason):
        failed_tests(note(tmp_path, **noted))
    assert main(tmp_path, []) == 1


@pytest.mark.parametrize("is_unstable", [False, True])
def test_what_fails_again_has_failed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, is_unstable: bool
) -> None:
    """What passes is named."""
    test = tmp_path / "test_once.py"
    test.write_text(ONCE if is_unstable else "def test_it(): assert False")
    (tmp_path / "mark").touch()
    groups = tmp_path / "groups"
    groups.mkdir()
    name = f"{test}::test_it"
    code = main(
        note(groups, units=(1, [name])), ["-p", "no:cacheprovider", "-q", "-c", "/dev/null"]
    )
    assert (code == 0) is is_unstable
    assert (f"unstable, failed once and passed alone: {name}" in capsys.readouterr().out) is (
        is_unstable
    )
