"""Config drives of processes: the files in which a workload is told about its server."""

import base64
import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.process.process_guest import ProcessGuest
from objects.instance import Instance
from objects.instances.server_settings import ServerSettings
from tests.fixtures.agent.processes import Processes
from tests.unit.compute_agent.virt.process.test_process_isolation import need_root

READ = "sh -c 'cd $ARMILLARY_CONFIG_DRIVE/openstack && cat latest/user_data content/0000; ls -A'"
META = "sh -c 'cat $ARMILLARY_CONFIG_DRIVE/openstack/latest/meta_data.json; echo ready; sleep 300'"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def with_settings(processes: Processes, command: str, **settings: Any) -> Instance:
    instance = processes.instance(command)
    instance.settings = ServerSettings.from_values(**settings)
    instance.metadata = {"role": "db"}
    return instance


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[Processes]:
    """Return a driver with the defaults of isolation: users and file systems of their own."""
    made = Processes(tmp_path)
    for name in ("mounts", "network", "workload_user"):
        made.conf.clear_override(name, group="process")
    made.restart()
    yield made
    made.clear()


def test_a_workload_reads_its_user_data_and_files(isolated: Processes) -> None:
    """As its own user, behind its private mounts; no path of a file leads out of the drive."""
    instance = with_settings(
        isolated, READ, user_data=b64("#!/bin/sh\n"), files={"/../../etc/motd": b64("Welcome\n")}
    )
    isolated.driver.spawn(instance)
    assert isolated.wait_ended(instance) == 0
    assert isolated.console(instance) == "#!/bin/sh\nWelcome\ncontent\nlatest\n"


def test_a_drive_says_who_the_guest_is(processes: Processes) -> None:
    """Metadata, host name, keys, the paths of files, and a password."""
    instance = with_settings(
        processes, META, admin_password="pw", key_name="me", public_key="ssh-ed25519 AAAA",
        key_kind="ssh", files={"/etc/motd": b64("x")},
    )  # fmt: skip
    processes.driver.spawn(instance)
    folder = processes.directory(instance) / "config-drive"
    meta = json.loads((folder / "openstack/latest/meta_data.json").read_text())
    assert (meta["uuid"], meta["meta"], meta["admin_pass"]) == (
        instance.uuid, {"role": "db"}, "pw",
    )  # fmt: skip
    assert meta["hostname"] == instance.name.lower()
    assert meta["public_keys"] == {"me": "ssh-ed25519 AAAA"}
    assert meta["files"] == [{"path": "/etc/motd", "content_path": "/content/0000"}]


def test_only_its_user_reads_a_drive(isolated: Processes) -> None:
    """Directories 0700 and files 0600, of the workload's own user."""
    need_root()
    instance = with_settings(isolated, META, config_drive=True)
    isolated.driver.spawn(instance)
    folder = isolated.directory(instance) / "config-drive"
    places = [folder, *(Path(parent) / name for parent, *names in os.walk(folder)
                        for name in [*names[0], *names[1]])]  # fmt: skip
    assert {place.lstat().st_uid for place in places} == {
        (isolated.directory(instance) / "home").lstat().st_uid
    }
    assert {stat.S_IMODE(place.lstat().st_mode) for place in places} == {0o700, 0o600}


def test_a_drive_stays_and_moves(processes: Processes, tmp_path: Path) -> None:
    """It is there after a restart; a host that takes the workload over makes its own."""
    instance = with_settings(processes, META, user_data=b64("hello"))
    processes.driver.spawn(instance)
    processes.driver.reboot(instance, ANYWHERE, is_hard=True, grace_seconds=0.0)
    assert processes.power(instance) == ("running", None)
    payload = processes.driver.detach(instance.uuid, grace_seconds=0.5)
    there = Processes(tmp_path / "there", host="agent-2")
    try:
        there.driver.attach(instance, ANYWHERE, payload, is_on=True)
        drive = there.directory(instance) / "config-drive"
        assert (drive / "openstack/latest/user_data").read_text() == "hello"
        spec = ProcessGuest(there.directory(instance), "agent-2").spec()
        assert spec is not None
        assert spec.environment["ARMILLARY_CONFIG_DRIVE"] == str(drive)
    finally:
        there.clear()


def test_without_anything_to_say_there_is_no_drive(processes: Processes) -> None:
    """A description or a tag is not for the guest."""
    instance = with_settings(processes, "env", description="mine", tags=["a"])
    processes.driver.spawn(instance)
    processes.wait_ended(instance)
    assert "CONFIG_DRIVE" not in processes.console(instance)
