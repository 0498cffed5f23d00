"""From API requests to virtual machines on two daemons, whose agents are killed in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.ledger import delete_everything, expected_allocations
from tests.fixtures.libvirt_daemons import Daemons
from tests.fixtures.libvirt_hosts import GREETING
from tests.fixtures.libvirt_system import LibvirtSystem, libvirt_system

pytestmark = [pytest.mark.libvirt, pytest.mark.rabbitmq]

SECONDS_MAX = 90.0
HOST = "OS-EXT-SRV-ATTR:host"


@pytest.fixture(scope="module")
def system(
    both_daemons: Daemons, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LibvirtSystem]:
    """Lend the system to all these tests: to start it takes longer than what they do."""
    with libvirt_system(tmp_path_factory.mktemp("system"), both_daemons) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_is_left(system: LibvirtSystem) -> Iterator[None]:
    """Delete all servers; after that no daemon has a guest, and no host a file of one."""
    yield
    delete_everything(system)
    assert system.guests() == {"a": {}, "b": {}}
    assert system.files() == []


@pytest.fixture(scope="module")
def request_for(system: LibvirtSystem) -> dict[str, Any]:
    """Return what is asked for each time: a small guest of the image."""
    flavor = system.create_flavor("small", vcpus=1, ram=64, disk=0)
    return {"flavor": flavor, "count": 1, "imageRef": system.create_image()}


def wait_for_boots(system: LibvirtSystem, uuid: str, count: int) -> None:
    wait_for(lambda: system.console(uuid).count(GREETING) == count, "boots", SECONDS_MAX)


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
    """Off and on, larger on the other host and back, and larger for good; it boots each time."""
    larger = system.create_flavor("larger", vcpus=1, ram=96, disk=1)
    (uuid,) = system.create_servers(**request_for, availability_zone="nova:a")
    assert system.settled([uuid])[uuid]["status"] == "ACTIVE", system.logs()
    wait_for_boots(system, uuid, 1)
    story: list[tuple[str, Any, str, dict[str, dict[str, bool]]]] = [
        ("os-stop", None, "SHUTOFF", {"a": {uuid: False}, "b": {}}),
        ("os-start", None, "ACTIVE", {"a": {uuid: True}, "b": {}}),
        ("reboot", {"type": "HARD"}, "ACTIVE", {"a": {uuid: True}, "b": {}}),
        (
            "resize",
            {"flavorRef": larger},
            "VERIFY_RESIZE",
            {"a": {uuid: False}, "b": {uuid: True}},
        ),
        ("revertResize", None, "ACTIVE", {"a": {uuid: True}, "b": {}}),
        (
            "resize",
            {"flavorRef": larger},
            "VERIFY_RESIZE",
            {"a": {uuid: False}, "b": {uuid: True}},
        ),
        ("confirmResize", None, "ACTIVE", {"a": {}, "b": {uuid: True}}),
    ]
    for action, arguments, status, guests in story:
        server = do(system, uuid, action, arguments)
        found = (server["status"], system.guests())
        assert found == (status, guests), (action, system.why(uuid), system.logs())
    wait_for_boots(system, uuid, 1)
    assert system.memory_mb("b", uuid) == 96
    assert system.allocations() == expected_allocations(system)


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
