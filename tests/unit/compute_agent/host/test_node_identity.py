"""Node UUIDs: the same after every start, different for every host, never another host's."""

from pathlib import Path

import pytest

from armillary import exception
from compute_agent.host.node_identity import FILE_NAME, NodeIdentity


def load(path: Path, own_host: str = "host1") -> NodeIdentity:
    identity = NodeIdentity(path, own_host)
    identity.load()
    return identity


def test_uuids_are_the_same_after_a_restart(tmp_path: Path) -> None:
    """The machine's own host and each simulated one."""
    hosts = ("host1", "sim-1", "sim-2")
    first = [load(tmp_path).node_uuid(host) for host in hosts]
    assert [load(tmp_path).node_uuid(host) for host in hosts] == first
    assert len(set(first)) == 3


def test_the_file_holds_the_own_host_s_uuid(tmp_path: Path) -> None:
    """An operator can read it, and move it to a reinstalled machine."""
    uuid = load(tmp_path).node_uuid("host1")
    assert (tmp_path / FILE_NAME).read_text().split() == [uuid, "host1"]


def test_two_state_directories_have_nothing_in_common(tmp_path: Path) -> None:
    """Simulated hosts of the same name on two machines are two hosts."""
    uuids = {load(tmp_path / name).node_uuid("sim-1") for name in ("a", "b")}
    assert len(uuids) == 2


@pytest.mark.parametrize("content", ["", "nonsense host1", "one two three"])
def test_a_broken_file_stops_the_agent(tmp_path: Path, content: str) -> None:
    """A new identity would be another provider beside the old one."""
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(exception.ConfigurationError, match="restore it"):
        load(tmp_path)


def test_another_host_s_directory_is_refused(tmp_path: Path) -> None:
    """A renamed host, or a second agent with the same state directory, would take its records."""
    load(tmp_path, "host1")
    with pytest.raises(exception.ConfigurationError, match="belongs to host host1"):
        load(tmp_path, "host2")
