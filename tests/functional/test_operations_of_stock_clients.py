"""Operations as clients of OpenStack see them, from the HTTP API to simulated hosts and back."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary.names.identifiers import is_uuid
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.embedded import embedded_system

HOST = "OS-EXT-SRV-ATTR:host"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stock")


@pytest.fixture(scope="module")
def system(folder: Path) -> Iterator[Api]:
    options = {"image__clean_interval_seconds": 1, "DEFAULT__shelved_offload_time": -1}
    with embedded_system(folder, **options) as api:
        yield api
        delete_everything(api)


@pytest.fixture
def server(system: Api) -> Iterator[str]:
    """Return an active server that is deleted afterwards."""
    flavor = system.create_flavor("tiny", vcpus=1, ram=64)
    (uuid,) = system.create_servers(flavor, 1)
    system.wait_for_status(uuid, "ACTIVE")
    yield uuid
    system.delete_servers(uuid)
    system.request("DELETE", f"/flavors/{flavor}")


def images(system: Api, folder: Path) -> tuple[list[str], int]:
    """Return the names of the images that a user sees, and of how many there is data."""
    names = [image["name"] for image in system.get("/images")["images"]]
    return names, sum(is_uuid(path.name) for path in (folder / "images").iterdir())


def test_a_paused_server_moves_and_stays_paused(system: Api, server: str) -> None:
    """Until it is unpaused at its destination."""
    system.act(server, "pause")
    before = system.wait_for_status(server, "PAUSED")
    system.act(server, "os-migrateLive", {"host": None, "block_migration": "auto"})
    after = wait_for(
        lambda: next(
            (
                one
                for one in system.servers()
                if one["status"] == "PAUSED" and one[HOST] != before[HOST]
            ),
            None,
        ),
        "it has moved, and is paused",
    )
    assert after["OS-EXT-STS:power_state"] == 3
    system.act(server, "unpause")
    system.wait_for_status(server, "ACTIVE")


@pytest.mark.parametrize("is_offloaded", [False, True], ids=["on-its-host", "offloaded"])
def test_a_shelved_server_has_an_image_until_it_is_unshelved(
    system: Api, server: str, folder: Path, is_offloaded: bool
) -> None:
    """Then its data goes, too."""
    system.act(server, "shelve")
    system.wait_for_status(server, "SHELVED")
    assert images(system, folder) == (["vm-shelved"], 1)
    if is_offloaded:
        system.act(server, "shelveOffload")
        system.wait_for_status(server, "SHELVED_OFFLOADED")
        assert images(system, folder) == (["vm-shelved"], 1)
    system.act(server, "unshelve")
    system.wait_for_status(server, "ACTIVE")
    assert images(system, folder)[0] == []
    wait_for(lambda: images(system, folder) == ([], 0), "the data of the image is gone")


def test_a_host_without_kernels_refuses_a_crash_dump_by_name(system: Api, server: str) -> None:
    """The server is as it was, and its actions say that it was tried."""
    answer = system.request("POST", f"/servers/{server}/action", json={"trigger_crash_dump": None})
    assert answer.status_code == 400
    assert "cannot trigger a crash dump in a server" in answer.text
    assert system.wait_for_status(server, "ACTIVE")["OS-EXT-STS:task_state"] is None
    newest = system.get(f"/servers/{server}/os-instance-actions")["instanceActions"][0]
    assert (newest["action"], newest["message"]) == ("trigger_crash_dump", "Error")
