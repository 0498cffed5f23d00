"""The files of a workload travel: what arrives is what left, bounded, and below the directory."""

import base64
import os
from pathlib import Path
from typing import Any

import pytest

from compute_agent.virt.process import process_files

KIB = 1024


def moved(source: Path, destination: Path) -> None:
    destination.mkdir()
    entries = [file.to_plain() for file in process_files.pack(source, KIB)]
    process_files.unpack(destination, process_files.check(entries, KIB))


def tree(home: Path) -> dict[str, tuple[int, object]]:
    """Return path -> permissions, and content or target."""
    found: dict[str, tuple[int, object]] = {}
    for path in sorted(home.rglob("*")):
        content: object = None
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            content = path.read_bytes()
        found[str(path.relative_to(home))] = (path.lstat().st_mode & 0o7777, content)
    return found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a directory with a bit of everything that travels."""
    home = tmp_path / "home"
    (home / "sub" / "empty").mkdir(parents=True)
    (home / "sub" / "grün").write_bytes(b"\x00\xff")
    (home / "script").write_text("#!/bin/sh\n")
    (home / "script").chmod(0o750)
    (home / "link").symlink_to("/usr/bin/env")
    (home / "sub" / "up").symlink_to("..")
    (home / "sub").chmod(0o500)
    return home


def test_what_arrives_is_what_left(home: Path, tmp_path: Path) -> None:
    """Contents, permissions, links as they are written."""
    moved(home, tmp_path / "there")
    assert tree(tmp_path / "there") == tree(home)


def test_what_is_not_a_file_stays_behind(tmp_path: Path) -> None:
    """A pipe would be waited for; privileges do not travel."""
    home = tmp_path / "home"
    home.mkdir()
    os.mkfifo(home / "pipe")
    (home / "program").write_text("")
    (home / "program").chmod(0o4755)
    moved(home, tmp_path / "there")
    assert tree(tmp_path / "there") == {"program": (0o755, b"")}


@pytest.mark.skipif(
    os.geteuid() != 0 and os.environ.get("CI") != "true",
    reason="only root can give files to other users",
)
def test_a_link_to_a_file_of_another_user_stays_behind(tmp_path: Path) -> None:
    """The agent, as root, would read for a workload what that cannot read itself.

    Kernels without ``fs.protected_hardlinks`` let it make such a link. Its own travel.
    """
    home, secret = tmp_path / "home", tmp_path / "key"
    home.mkdir()
    secret.write_text("a key of the agent")
    secret.chmod(0o600)
    (home / "shown").hardlink_to(secret)
    (home / "own").write_text("its own")
    (home / "again").hardlink_to(home / "own")
    for path in (home, home / "own"):
        os.chown(path, 12345, -1)
    moved(home, tmp_path / "there")
    assert sorted(path.name for path in (tmp_path / "there").iterdir()) == ["again", "own"]


@pytest.mark.parametrize("size", [KIB + 1, 10 * KIB])
def test_more_than_may_travel_is_refused(tmp_path: Path, size: int) -> None:
    """Before anything is read; a byte less is fine."""
    (tmp_path / "file").write_bytes(b"x" * size)
    for look in (process_files.measure, process_files.pack):
        with pytest.raises(ValueError, match="larger than 1024 bytes"):
            look(tmp_path, KIB)
    (tmp_path / "file").write_bytes(b"x" * KIB)
    process_files.measure(tmp_path, KIB)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However small; on both sides."""
    monkeypatch.setattr(process_files, "ENTRIES_MAX", 3)
    for number in range(4):
        (tmp_path / str(number)).write_text("")
    with pytest.raises(ValueError, match="more than 3 files"):
        process_files.measure(tmp_path, KIB)
    with pytest.raises(ValueError, match="more than 3 files"):
        process_files.check([A_FILE] * 4, KIB)


def test_a_name_that_is_not_text_is_refused(tmp_path: Path) -> None:
    """It could not be sent."""
    (tmp_path / os.fsdecode(b"\xff")).write_text("")
    with pytest.raises(ValueError, match="not UTF-8"):
        process_files.pack(tmp_path, KIB)


DATA = base64.b64encode(b"x").decode()
A_FILE: dict[str, Any] = {"path": "a", "mode": 0o600, "data": DATA}
LARGE = base64.b64encode(b"x" * (KIB + 1)).decode()


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"path": 1, "mode": 0},
        {"path": "", "mode": 0o700},
        {"path": "/etc/passwd", "mode": 0o600, "data": DATA},
        {"path": "../up", "mode": 0o600, "data": DATA},
        {"path": "a/../../up", "mode": 0o600, "data": DATA},
        {"path": "a\0b", "mode": 0o600, "data": DATA},
        {"path": "a", "mode": 0o4755, "data": DATA},
        {"path": "a", "mode": "x", "data": DATA},
        {"path": "a", "mode": 0o600, "data": "???"},
        {"path": "a", "mode": 0o600, "data": 1},
        {"path": "a", "mode": 0o600, "data": LARGE},
        {"path": "a", "link": ""},
        {"path": "a", "link": 1},
    ],
    ids=["empty", "number", "nowhere", "absolute", "up", "hidden_up", "zero", "setuid", "mode",
         "base64", "data", "large", "no_target", "bad_target"],
)  # fmt: skip
def test_what_another_host_sends_is_not_trusted(entry: dict[str, Any]) -> None:
    """It may be anybody by now."""
    with pytest.raises(ValueError, match=r"malformed|larger than 1024 bytes"):
        process_files.check([entry], KIB)


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """Whatever the order in which they came."""
    outside, home = tmp_path / "outside", tmp_path / "home"
    outside.mkdir()
    home.mkdir()
    entries: list[dict[str, Any]] = [
        {"path": "way", "link": str(outside)},
        {"path": "way/file", "mode": 0o600, "data": DATA},
    ]
    for sent in (entries, entries[::-1]):
        with pytest.raises(ValueError, match="not in a directory sent"):
            process_files.check(sent, KIB)
    with pytest.raises(OSError, match="way"):
        process_files.unpack(home, [process_files.File("way/file", None, 0o600, b"x")])
    assert list(outside.iterdir()) == []


def test_no_link_is_made_through_a_link(tmp_path: Path) -> None:
    """Another host's agent cannot put links into directories of this machine."""
    outside = tmp_path / "outside"
    outside.mkdir()
    entries = [{"path": "way", "link": str(outside)}, {"path": "way/link", "link": "/etc/shadow"}]
    with pytest.raises(ValueError, match="not in a directory sent"):
        process_files.check(entries, KIB)


def test_no_path_is_sent_twice() -> None:
    entries: list[dict[str, Any]] = [
        {"path": "way", "mode": 0o700},
        {"path": "way", "link": "/etc"},
    ]
    with pytest.raises(ValueError, match="is there twice"):
        process_files.check(entries, KIB)
