"""No identifier, and no symbolic link, leads out of the directory of a host's instances."""

import os
import uuid
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.virt.instance_directories import InstanceDirectories, open_own

UUID = "461c967a-7cfe-431a-8474-03396e178078"
ESCAPES = [
    "", ".", "..", "../..", "/", "/etc", "a/../b", f"../{UUID}", f"{UUID}/..", f"{UUID}/",
    f"/{UUID}", UUID.upper() + "A", f"{UUID}\n", f"{UUID}\0", f".trash-{UUID}", "home", "host1",
    None, 7, ["x"],
]  # fmt: skip


@pytest.mark.parametrize("name", ESCAPES, ids=ascii)
def test_what_is_not_a_uuid_has_no_path(tmp_path: Path, name: object) -> None:
    with pytest.raises(exception.Invalid, match="instance_uuid must be a UUID"):
        InstanceDirectories(tmp_path).of(name)  # type: ignore[arg-type]


def test_a_uuid_names_a_directory_below_the_parent(tmp_path: Path) -> None:
    """Whether or not it exists."""
    directories = InstanceDirectories(tmp_path)
    assert directories.of(UUID) == tmp_path / UUID
    (tmp_path / UUID).mkdir()
    assert directories.of(UUID) == tmp_path / UUID


@pytest.mark.parametrize("target", ["/etc", "nowhere", "."])
def test_a_symbolic_link_is_not_a_directory_of_an_instance(tmp_path: Path, target: str) -> None:
    (tmp_path / UUID).symlink_to(target)
    directories = InstanceDirectories(tmp_path)
    with pytest.raises(OSError, match="symbolic links"):
        directories.of(UUID)
    assert list(directories.list()) == []


def test_only_directories_named_after_instances_are_listed(tmp_path: Path) -> None:
    other = str(uuid.uuid4())
    for name in (UUID, other, ".draft-x", "lost+found"):
        (tmp_path / name).mkdir()
    (tmp_path / str(uuid.uuid4())).write_text("no directory")
    listed = list(InstanceDirectories(tmp_path).list())
    assert listed == sorted((tmp_path / UUID, tmp_path / other))


def test_a_file_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    """A link is an error; a pipe without a writer does not block the agent."""
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    with pytest.raises(OSError, match="symbolic links"):
        open_own(tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    with open_own(tmp_path / "pipe") as file:
        assert file.read() == b""
