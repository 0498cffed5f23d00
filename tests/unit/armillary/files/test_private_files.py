"""Private files: no umask and no earlier release leaves them open to other accounts."""

import fcntl
import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from armillary.db import Database
from armillary.files import private_files

OTHER = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], timeout=0).execute("INSERT INTO counter VALUES (1)")
"""


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


def modes(directory: Path) -> dict[str, str]:
    """Return the permissions of a directory and of what is below it, by relative path."""
    below = [directory, *directory.rglob("*")]
    return {
        str(path.relative_to(directory)): oct(path.stat().st_mode & 0o777) for path in sorted(below)
    }


def test_a_new_database_is_private_with_its_write_ahead_log(tmp_path: Path) -> None:
    """Database, WAL and shared memory have the mode 0600, new directories 0700."""
    database = Database(f"sqlite:///{tmp_path}/new/deeper/api.sqlite", name="test")
    with database.writer() as session:
        session.execute(text("CREATE TABLE counter (value INT)"))
    assert modes(tmp_path / "new") == {
        ".": "0o700",
        "deeper": "0o700",
        "deeper/api.sqlite": "0o600",
        "deeper/api.sqlite-shm": "0o600",
        "deeper/api.sqlite-wal": "0o600",
    }
    database.dispose()


def test_a_database_of_an_earlier_release_becomes_private(tmp_path: Path) -> None:
    """Others lose their access to an existing file, to its WAL, too; the locks on it stay."""
    path = tmp_path / "api.sqlite"
    with sqlite3.connect(path, isolation_level=None) as earlier:
        earlier.execute("PRAGMA journal_mode = WAL")
        earlier.execute("CREATE TABLE counter (value INT)")
        assert path.with_name("api.sqlite-wal").stat().st_mode & 0o777 == 0o644
        earlier.execute("BEGIN IMMEDIATE")
        private_files.prepare_sqlite(path)
        other = subprocess.run(
            [sys.executable, "-c", OTHER, path], stderr=subprocess.PIPE, text=True, check=False
        )
        assert "database is locked" in other.stderr
    assert {name: mode for name, mode in modes(tmp_path).items() if name != "."} == dict.fromkeys(
        ("api.sqlite", "api.sqlite-shm", "api.sqlite-wal"), "0o600"
    )


def test_a_written_file_is_private_and_replaces_an_open_one(tmp_path: Path) -> None:
    """The file of an earlier release, readable by all, is replaced."""
    path = tmp_path / "api-url"
    path.write_text("before")
    private_files.write(path, "after")
    assert path.read_text() == "after"
    assert oct(path.stat().st_mode & 0o777) == "0o600"


def test_an_existing_directory_keeps_its_mode(tmp_path: Path) -> None:
    """An operator may have given a directory to a group."""
    directory = tmp_path / "shared"
    directory.mkdir(mode=0o750)
    private_files.make_directory(directory / "own")
    assert modes(tmp_path)["shared"] == "0o750"
    assert modes(tmp_path)["shared/own"] == "0o700"


def test_a_lock_keeps_others_out_until_it_is_left(tmp_path: Path) -> None:
    """Others ask for the lock of the same file."""
    path = tmp_path / "lock"
    with private_files.locked(path), path.open() as other, pytest.raises(BlockingIOError):
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    with path.open() as other:
        fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_of_two_that_write_a_new_file_the_first_one_stays(tmp_path: Path) -> None:
    """As a whole, its owner's alone, and without the draft of the second."""
    path = tmp_path / "new" / "key"
    private_files.write_new(path, "first")
    private_files.write_new(path, "second")
    assert path.read_text() == "first"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def test_a_public_file_is_replaced_as_the_umask_allows(tmp_path: Path) -> None:
    """Other accounts may read what has no secrets."""
    os.umask(0o022)
    with private_files.replacing(tmp_path / "list", mode=private_files.PUBLIC_MODE) as file:
        file.write(b"keys")
    assert modes(tmp_path)["list"] == "0o644"


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    """Until then the next one is refused, and does not wait."""
    held = private_files.lock(tmp_path / "lock")
    with pytest.raises(BlockingIOError):
        private_files.lock(tmp_path / "lock")
    os.close(held)
    os.close(private_files.lock(tmp_path / "lock"))
