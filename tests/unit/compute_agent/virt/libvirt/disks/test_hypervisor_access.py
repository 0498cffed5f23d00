"""Another user's hypervisor reaches the disks, whatever the umask; no other account reads them."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.virt.libvirt.disks import hypervisor_access
from compute_agent.virt.libvirt.disks.hypervisor_access import HypervisorUser

QEMU = HypervisorUser(64055, 64055)


@pytest.fixture(autouse=True)
def units_umask() -> Iterator[None]:
    """Have the umask of the shipped unit."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@pytest.mark.parametrize(
    ("label", "user"),
    [("+64055:+113", HypervisorUser(64055, 113)), (None, None), ("", None), ("kvm:kvm", None)],
)
def test_the_user_is_read_from_libvirts_label(
    label: str | None, user: HypervisorUser | None
) -> None:
    assert HypervisorUser.of_label(label) == user


def test_a_directory_and_its_missing_parents_can_be_traversed_and_not_listed(
    tmp_path: Path,
) -> None:
    hypervisor_access.make_directory(tmp_path / "state" / "instances")
    assert mode(tmp_path / "state") == mode(tmp_path / "state" / "instances") == 0o711


def test_the_agents_own_directories_are_opened(tmp_path: Path) -> None:
    """As an older release, or the journal, left them: only root could pass."""
    state = tmp_path.resolve() / "state"
    (state / "instances").mkdir(parents=True)
    assert mode(state) == 0o700
    for parent in state.parents:
        if not QEMU.can_traverse(parent.stat()):
            parent.chmod(parent.stat().st_mode | 0o001)  # pytest's own
    hypervisor_access.open_way(state / "instances", QEMU, state, "[libvirt] instances_path")
    assert QEMU.can_traverse(state.stat())
    assert QEMU.can_traverse((state / "instances").stat())


def test_a_directory_of_others_is_named_and_left_as_it_is(tmp_path: Path) -> None:
    closed = tmp_path.resolve() / "home"
    instances = closed / "vms" / "instances"
    instances.mkdir(parents=True)
    for parent in closed.parents:
        if not QEMU.can_traverse(parent.stat()):
            parent.chmod(parent.stat().st_mode | 0o001)  # pytest's own
    with pytest.raises(exception.ConfigurationError, match=rf"cannot traverse {closed};"):
        hypervisor_access.open_way(instances, QEMU, tmp_path / "state", "[libvirt] instances_path")
    assert mode(closed) == 0o700


@pytest.mark.parametrize("user", [None, HypervisorUser(os.geteuid(), os.getegid())])
def test_a_hypervisor_of_the_agents_own_user_needs_no_way(
    tmp_path: Path, user: HypervisorUser | None
) -> None:
    (closed := tmp_path / "home").mkdir()
    hypervisor_access.open_way(closed, user, tmp_path / "state", "[libvirt] instances_path")
    assert mode(closed) == 0o700


def test_disks_are_the_hypervisors_alone(tmp_path: Path) -> None:
    """Also those that an older release left readable; other files stay the agent's."""
    for name in ("disk.qcow2", "swap.raw", "owner.json"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o644)
    hypervisor_access.give(tmp_path, QEMU)
    assert mode(tmp_path / "disk.qcow2") == mode(tmp_path / "swap.raw") == 0o600
    assert mode(tmp_path / "owner.json") == 0o644
    owners = {path.name: path.stat().st_uid for path in tmp_path.iterdir()}
    ours = os.geteuid()
    given = QEMU.uid if ours == 0 else ours
    assert owners == {"disk.qcow2": given, "swap.raw": given, "owner.json": ours}
