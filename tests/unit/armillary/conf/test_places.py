"""The files are those the command line names, else those of the usual places."""

from pathlib import Path

import pytest

from armillary.conf import places


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give the user a configuration folder with two files."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    folder = tmp_path / "armillary"
    (folder / "b.conf.d").mkdir(parents=True)
    (folder / "b.conf").touch()
    (folder / "b.conf.d" / "2.conf").touch()
    (folder / "b.conf.d" / "1.conf").touch()
    (folder / "b.conf.d" / "notes.txt").touch()
    return folder


def test_the_users_files_are_the_default(home: Path) -> None:
    """First the file, then the folder's files by name."""
    expected = [home / "b.conf", home / "b.conf.d" / "1.conf", home / "b.conf.d" / "2.conf"]
    assert places.config_files([], "b") == expected


def test_another_program_has_other_files() -> None:
    """Files go by the program's name."""
    assert places.config_files([], "c") == []


@pytest.mark.parametrize(
    "arguments",
    [["--config-file", "/x/a.conf"], ["-d", "--config-file=/x/a.conf", "show"]],
    ids=["two-words", "one-word"],
)
def test_a_named_file_replaces_the_defaults(arguments: list[str]) -> None:
    """Who names a file gets that one alone."""
    assert places.config_files(arguments, "b") == [Path("/x/a.conf")]


def test_files_and_folders_are_read_in_the_order_given(home: Path) -> None:
    """The last word wins, as with oslo.config."""
    arguments = ["--config-dir", str(home / "b.conf.d"), "--config-file", "/x/a.conf"]
    names = [path.name for path in places.config_files(arguments, "b")]
    assert names == ["1.conf", "2.conf", "a.conf"]


def test_a_programs_name_is_its_files() -> None:
    """Paths and suffixes do not matter."""
    assert places.binary_name("/usr/bin/armillary-api") == "armillary-api"
