"""From API requests to virtual machines on two daemons, whose agents are killed in between."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import expected_allocations
from tests.fixtures.libvirt.libvirt_hosts import BOOT_SECTOR, need_program
from tests.integration.libvirt.libvirt_daemons import IMAGE_BYTES
from tests.integration.libvirt.libvirt_system import (
    HOST,
    SECONDS_MAX,
    LibvirtSystem,
    nothing_is_left,
    request_for,
    system,
    wait_for_boots,
)

__all__ = ["nothing_is_left", "request_for", "system"]

pytestmark = [pytest.mark.libvirt, pytest.mark.rabbitmq, pytest.mark.long]


def do(system: LibvirtSystem, uuid: str, action: str, arguments: Any = None) -> dict[str, Any]:
    """Ask for something, and return the server when it is done."""
    system.act(uuid, action, arguments)
    return system.at_rest([uuid], seconds=SECONDS_MAX)[uuid]


def test_a_build_goes_on_in_the_agent_that_comes_after(
    system: LibvirtSystem, request_for: dict[str, Any]
) -> None:
    """Killed as soon as there are files of the guest: it boots once, and is one guest."""
    (uuid,) = system.create_servers(**request_for, availability_zone="nova:a")
    wait_for(system.files, "the build has begun", SECONDS_MAX, 0.005)
    system.agents["a"].kill()
    system.start("a")
    assert system.settled([uuid])[uuid]["status"] == "ACTIVE", system.logs()
    assert system.guests() == {"a": {uuid: True}, "b": {}}
    wait_for_boots(system, uuid, 1)


def test_a_server_goes_through_all_that_can_be_done_to_it(
    system: LibvirtSystem, request_for: dict[str, Any]
) -> None:
    """Off and on, larger on the other host and back, and larger to stay; it boots each time."""
    larger = system.create_flavor("larger", vcpus=1, ram=96, disk=1)
    (uuid,) = system.create_servers(**request_for, availability_zone="nova:a")
    assert system.settled([uuid])[uuid]["status"] == "ACTIVE", system.logs()
    wait_for_boots(system, uuid, 1)
    story: list[tuple[str, Any, str, dict[str, dict[str, bool]]]] = [
        ("os-stop", None, "SHUTOFF", {"a": {uuid: False}, "b": {}}),
        ("os-start", None, "ACTIVE", {"a": {uuid: True}, "b": {}}),
        ("reboot", {"type": "HARD"}, "ACTIVE", {"a": {uuid: True}, "b": {}}),
        ("resize", {"flavorRef": larger}, "VERIFY_RESIZE", {"a": {uuid: False}, "b": {uuid: True}}),
        ("revertResize", None, "ACTIVE", {"a": {uuid: True}, "b": {}}),
        ("resize", {"flavorRef": larger}, "VERIFY_RESIZE", {"a": {uuid: False}, "b": {uuid: True}}),
        ("confirmResize", None, "ACTIVE", {"a": {}, "b": {uuid: True}}),
    ]
    for action, arguments, status, guests in story:
        server = do(system, uuid, action, arguments)
        found = (server["status"], system.guests())
        assert found == (status, guests), (action, system.why(uuid), system.logs())
    before = len(system.console(uuid))  # what it wrote on the other host is there, too
    wait_for(lambda: len(system.console(uuid)) > before, "it boots and runs on", SECONDS_MAX)
    assert system.memory_mb("b", uuid) == 96
    assert system.allocations() == expected_allocations(system)


def a_large_disk(tmp_path: Path) -> bytes:
    """Return a small file of the format qcow2, with a disk of 2 GiB."""
    path = tmp_path / "large.qcow2"
    made = [need_program("qemu-img"), "create", "-q", "-f", "qcow2", str(path), "2G"]
    subprocess.run(made, check=True)
    return path.read_bytes()


def wait_until_it_goes_on(system: LibvirtSystem, uuid: str) -> None:
    before = len(system.console(uuid))
    wait_for(lambda: len(system.console(uuid)) > before, "it goes on", SECONDS_MAX)


def test_a_rebuild_whose_image_cannot_be_had_leaves_the_guest_as_it_was(
    system: LibvirtSystem, request_for: dict[str, Any], tmp_path: Path
) -> None:
    """It runs on, and its record says what it runs; the event says why. A good image is booted."""
    disk = system.create_flavor("with a disk", vcpus=1, ram=64, disk=1)
    (uuid,) = system.create_servers(**request_for | {"flavor": disk}, availability_zone="nova:a")
    before = system.settled([uuid])[uuid]
    assert before["status"] == "ACTIVE", system.logs()
    wait_for_boots(system, uuid, 1)
    altered = system.upload_image("altered", BOOT_SECTOR.ljust(IMAGE_BYTES, b"y"))
    (system.store / altered).write_bytes(BOOT_SECTOR.ljust(IMAGE_BYTES, b"z"))
    lost = system.upload_image("lost", BOOT_SECTOR.ljust(IMAGE_BYTES, b"u"))
    (system.store / lost).unlink()
    large = system.upload_image("large", a_large_disk(tmp_path), disk_format="qcow2")
    wrong = system.upload_image("wrong", BOOT_SECTOR.ljust(IMAGE_BYTES), disk_format="qcow2")
    reasons = {
        altered: "has another SHA-512 digest",
        lost: lost,
        large: "2147483648 bytes, but the flavor's root disk only 1 GiB",
        wrong: "disk format is qcow2, but its data is",
    }
    for image, reason in reasons.items():
        server = do(system, uuid, "rebuild", {"imageRef": image, "name": "new"})
        (event,) = system.why(uuid)
        assert event["result"] == "Error", system.logs()
        assert reason in event["details"]
        assert "the guest was not changed" in event["details"]
        for name in ("status", "name", "image", "OS-EXT-STS:power_state"):
            assert server[name] == before[name], (image, name, event, system.logs())
        wait_until_it_goes_on(system, uuid)
    good = system.upload_image("good", BOOT_SECTOR.ljust(IMAGE_BYTES, b"w"))
    server = do(system, uuid, "rebuild", {"imageRef": good, "name": "new"})
    found = (server["status"], server["name"], server["image"]["id"])
    assert found == ("ACTIVE", "new", good), (system.why(uuid), system.logs())
    wait_for_boots(system, uuid, 1)  # in a new log


def test_a_guest_arrives_though_its_agent_is_killed_on_the_way(
    system: LibvirtSystem, request_for: dict[str, Any]
) -> None:
    """The daemons go on with it; agent and conductor find out how it ended."""
    (uuid,) = system.create_servers(**request_for, availability_zone="nova:a")
    assert system.settled([uuid])[uuid]["status"] == "ACTIVE", system.logs()
    wait_for_boots(system, uuid, 1)
    system.act(uuid, "os-migrateLive", {"host": None, "block_migration": "auto"})
    wait_for(lambda: system.is_moving("a", uuid), "it is on its way", SECONDS_MAX, 0.02)
    system.agents["a"].kill()
    system.start("a")
    server = system.at_rest([uuid], seconds=SECONDS_MAX)[uuid]
    assert (server["status"], server[HOST]) == ("ACTIVE", "b"), (system.why(uuid), system.logs())
    assert system.guests() == {"a": {}, "b": {uuid: True}}
    before = len(system.console(uuid))
    wait_for(lambda: len(system.console(uuid)) > before, "it runs on", SECONDS_MAX)
    (move,) = system.get(f"/servers/{uuid}/migrations")["migrations"]
    assert (move["migration_type"], move["status"]) == ("live-migration", "completed")
    with connect(system.serial_console(uuid)) as user:  # of the agent that has the guest now
        assert user.recv(SECONDS_MAX)


def test_a_user_sees_what_a_guest_writes_by_a_link_that_can_be_used_once(
    system: LibvirtSystem, request_for: dict[str, Any]
) -> None:
    """From the API by conductors to the agent, and by the proxy to the agent's port."""
    (uuid,) = system.create_servers(**request_for, availability_zone="nova:a")
    assert system.settled([uuid])[uuid]["status"] == "ACTIVE", system.logs()
    wait_for_boots(system, uuid, 1)
    url = system.serial_console(uuid)
    with connect(url) as user:
        assert user.recv(SECONDS_MAX) in {b"." * count for count in range(1, 2000)}
    with connect(url) as user, pytest.raises(ConnectionClosed, match="was used before"):
        user.recv(SECONDS_MAX)


def test_guests_boot_from_images_that_their_hosts_fetch(
    system: LibvirtSystem, request_for: dict[str, Any]
) -> None:
    """And from a snapshot of such a guest, on the other host; no directory is shared with the API.

    The images were fetched in advance, or for the guest.
    """
    image = system.upload_image("hello", BOOT_SECTOR.ljust(IMAGE_BYTES, b"x"))
    rack = system.post("/os-aggregates", {"aggregate": {"name": "rack"}})["aggregate"]["id"]
    system.post(f"/os-aggregates/{rack}/action", {"add_host": {"host": "a"}})
    asked = system.request("POST", f"/os-aggregates/{rack}/images", json={"cache": [{"id": image}]})
    assert asked.status_code == 202, asked.text
    wait_for(lambda: system.has_fetched(image), "it is fetched in advance", SECONDS_MAX)
    small = request_for["flavor"]
    (uuid,) = system.create_servers(small, 1, imageRef=image, availability_zone="nova:a")
    assert system.settled([uuid])[uuid]["status"] == "ACTIVE", system.logs()
    wait_for_boots(system, uuid, 1)
    made = system.post(f"/servers/{uuid}/action", {"createImage": {"name": "snap"}})["image_id"]
    wait_for(
        lambda: system.get(f"/images/{made}")["image"]["status"] == "ACTIVE", "the snapshot",
        SECONDS_MAX,
    )  # fmt: skip
    assert not system.has_fetched(made)
    (copy,) = system.create_servers(small, 1, imageRef=made, availability_zone="nova:b")
    assert system.settled([copy])[copy]["status"] == "ACTIVE", (system.why(copy), system.logs())
    wait_for_boots(system, copy, 1)
    assert system.has_fetched(made)
