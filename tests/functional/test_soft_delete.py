"""Deleted servers where they are kept, and reboots of unresponsive guests, over HTTP."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from api.versions import OWN_FIELDS_HEADER
from compute_agent.virt.simulated.simulated_delays import SimulatedDelays
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.embedded import embedded_system

SECONDS = 0.5
"""Duration of what a host does."""

REBOOT_SECONDS_MAX = 120
"""Longest reboot of a guest whose answer no test lets through."""


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    options: dict[str, Any] = {
        "DEFAULT__reclaim_instance_interval": 3600,
        "DEFAULT__shelved_offload_time": -1,
        "simulated__operation_delay_seconds_min": SECONDS,
        "simulated__operation_delay_seconds_max": SECONDS,
    }
    with embedded_system(tmp_path_factory.mktemp("kept"), **options) as api:
        yield api


@pytest.fixture
def server(system: Api) -> Iterator[str]:
    """Return an active server, which is deleted permanently afterwards."""
    flavor = system.create_flavor("tiny", vcpus=1, ram=64)
    (uuid,) = system.create_servers(flavor, 1)
    system.wait_for_status(uuid, "ACTIVE")
    yield uuid
    system.act(uuid, "forceDelete")
    system.request("DELETE", f"/flavors/{flavor}")
    wait_for(lambda: uuid not in system.allocations(), "its allocation is gone")


def listed_by_stock_clients(system: Api, **query: str) -> list[str]:
    """Return the servers that a client lists which knows nothing of Armillary."""
    headers: dict[str, Any] = {OWN_FIELDS_HEADER: None}
    answer = system.request("GET", "/servers", params=query, headers=headers)
    return [server["id"] for server in answer.json()["servers"]]


@pytest.mark.parametrize(
    ("action", "status"), [("migrate", "VERIFY_RESIZE"), ("shelve", "SHELVED")]
)
def test_a_deleted_server_is_kept_and_restored(
    system: Api, server: str, action: str, status: str
) -> None:
    """With one allocation; a second delete changes nothing."""
    system.act(server, action)
    system.wait_for_status(server, status)
    for _ in range(2):
        assert system.request("DELETE", f"/servers/{server}").status_code == 204
    system.wait_for_status(server, "SOFT_DELETED")
    assert system.request("DELETE", f"/servers/{server}").status_code == 204
    assert len(system.allocations()[server]) == 1
    assert listed_by_stock_clients(system) == []
    assert listed_by_stock_clients(system, status="SOFT_DELETED") == [server]
    assert server in listed_by_stock_clients(system, deleted="1")
    system.act(server, "restore")
    shown = system.wait_for_status(server, "ACTIVE")
    assert shown["OS-EXT-STS:power_state"] == 1
    assert system.get("/images")["images"] == []


@pytest.fixture
def guests_answer(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Return what is to be set before a guest on a simulated host answers a reboot."""
    answer = threading.Event()
    operation = SimulatedDelays.operation

    def wait_for_guest(delays: SimulatedDelays, name: str, uuid: str) -> None:
        if name == "reboot":
            answer.wait(REBOOT_SECONDS_MAX)
        operation(delays, name, uuid)

    monkeypatch.setattr(SimulatedDelays, "operation", wait_for_guest)
    yield answer
    answer.set()


def test_a_hard_reboot_takes_the_place_of_a_soft_one(
    system: Api, server: str, guests_answer: threading.Event
) -> None:
    """Then the server is active, and its actions say that the first one failed."""
    system.act(server, "reboot", {"type": "SOFT"})
    system.wait_for_status(server, "REBOOT")
    refused = system.request("POST", f"/servers/{server}/action", json={"reboot": {"type": "SOFT"}})
    assert refused.status_code == 409
    system.act(server, "reboot", {"type": "HARD"})
    system.wait_for_status(server, "HARD_REBOOT")
    guests_answer.set()
    system.wait_for_status(server, "ACTIVE")
    path = f"/servers/{server}/os-instance-actions"
    wait_for(
        lambda: (
            [one["message"] for one in system.get(path)["instanceActions"][:2]] == [None, "Error"]
        ),
        "the soft reboot has failed, the hard one has not",
    )
