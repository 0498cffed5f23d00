"""libvirt's daemon is killed before and after each call of each operation, and comes back.

At most 30 s later the operation has succeeded, or has failed with the reason; server, guest and
allocations agree, and the room of a guest that is still there is never free.
"""

import dataclasses
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compute_agent.virt.libvirt import connection, daemon_restarts
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.checks.ledger import delete_everything, expected_allocations
from tests.fixtures.embedded import embedded_system
from tests.fixtures.libvirt.libvirt_hosts import IMAGE_NAME, libvirt_library, write_image
from tests.fixtures.libvirt.libvirt_outages import AFTER, BEFORE, KilledDaemon
from tests.fixtures.plugins.sampling import seed

AWAY_SECONDS = 1.5
"""Long enough for the agent to look at its guests between two tries of an operation."""
SECONDS_MAX = 30
EVERY = 8
"""The daemon is killed at one in so many moments of an operation, at others with each commit."""
_POWERS = {
    "ACTIVE": 1, "RESCUE": 1, "VERIFY_RESIZE": 1, "PAUSED": 3, "SHUTOFF": 4, "SUSPENDED": 4,
}  # fmt: skip
"""Power state by status, as the API has it."""
_RUNS = ("ACTIVE", "RESCUE", "VERIFY_RESIZE", "PAUSED")
DELETE = "delete"


@dataclasses.dataclass(frozen=True)
class Story:
    """An operation on a server after others, and its status afterwards."""

    status: str
    action: str | None = None
    arguments: Any = None
    after: str | None = None


LARGER = object()
STORIES = {
    "build": Story("ACTIVE"),
    "delete": Story(DELETE, DELETE),
    "stop": Story("SHUTOFF", "os-stop"),
    "start": Story("ACTIVE", "os-start", after="stop"),
    "reboot": Story("ACTIVE", "reboot", {"type": "SOFT"}),
    "hard-reboot": Story("ACTIVE", "reboot", {"type": "HARD"}),
    "pause": Story("PAUSED", "pause"),
    "unpause": Story("ACTIVE", "unpause", after="pause"),
    "suspend": Story("SUSPENDED", "suspend"),
    "resume": Story("ACTIVE", "resume", after="suspend"),
    "rescue": Story("RESCUE", "rescue"),
    "unrescue": Story("ACTIVE", "unrescue", after="rescue"),
    "snapshot": Story("ACTIVE", "createImage", {"name": "snapshot"}),
    "shelve": Story("SHELVED_OFFLOADED", "shelve"),
    "unshelve": Story("ACTIVE", "unshelve", after="shelve"),
    "rebuild": Story("ACTIVE", "rebuild", {"name": "again"}),
    "resize": Story("VERIFY_RESIZE", "resize", LARGER),
    "confirm": Story("ACTIVE", "confirmResize", after="resize"),
    "revert": Story("ACTIVE", "revertResize", after="resize"),
}


class World:
    """A system whose only host has a libvirt whose daemon can be killed."""

    def __init__(self, api: Api, daemon: KilledDaemon) -> None:
        self.api, self.daemon = api, daemon
        properties = {"libvirt_disk_file": IMAGE_NAME}
        image = api.post("/images", {"image": {"name": "hello", "properties": properties}})
        self.image: str = image["image"]["id"]
        self.small, self.large = (self._flavor(ram) for ram in (64, 96))

    def _flavor(self, ram: int) -> str:
        """Make a flavor; hosts of libvirt's test driver have no CPUs."""
        flavor = self.api.create_flavor(f"of-{ram}", vcpus=1, ram=ram)
        specs = {"extra_specs": {"resources:VCPU": "0"}}
        self.api.post(f"/flavors/{flavor}/os-extra_specs", specs)
        return flavor

    def create(self) -> str:
        (uuid,) = self.api.create_servers(self.small, 1, imageRef=self.image)
        return uuid

    def act(self, uuid: str, story: Story) -> None:
        arguments = {"flavorRef": self.large} if story.arguments is LARGER else story.arguments
        if story.action == DELETE:
            assert self.api.request("DELETE", f"/servers/{uuid}").status_code == 204
        elif story.action == "rebuild":
            self.api.act(uuid, story.action, {**arguments, "imageRef": self.image})
        elif story.action == "rescue":  # answered with a password
            self.api.post(f"/servers/{uuid}/action", {"rescue": None})
        elif story.action is not None:
            self.api.act(uuid, story.action, arguments)

    def bring_to(self, story: Story) -> str:
        """Return a server as it is before an operation."""
        uuid = self.create()
        assert self.end_of(uuid, STORIES["build"]) == "ACTIVE"
        if story.after is not None:
            former = STORIES[story.after]
            self.act(uuid, former)
            assert self.end_of(uuid, former) == former.status
        return uuid

    def end_of(self, uuid: str, story: Story) -> str:
        """Wait until the operation is over; return the server's status."""

        def end() -> str | None:
            self.check_room(uuid)
            response = self.api.request("GET", f"/servers/{uuid}")
            if response.status_code == 404:
                assert uuid not in self.daemon.domains()
                return DELETE
            server = response.json()["server"]
            status = str(server["status"])
            # An offload follows the shelve by itself.
            is_between = status == "BUILD" or (status == "SHELVED" and story.action == "shelve")
            is_over = server["OS-EXT-STS:task_state"] is None and story.action != DELETE
            return status if is_over and not is_between else None

        return str(wait_for(end, "the operation is over", SECONDS_MAX))

    def check_room(self, uuid: str) -> None:
        """A guest that runs has its room, which its migration holds during a resize."""
        before, domains = self.api.allocations(), self.daemon.domains()
        if domains.get(uuid):
            assert before or self.api.allocations()

    def check(self, uuid: str, story: Story, status: str, *, fails: bool) -> None:
        """All agree at the end, and a failure has its reason."""
        if status == DELETE:
            assert self.api.allocations() == {}
            return
        wait_for(lambda: self._agree(uuid, fails), "server, guest and room agree", SECONDS_MAX)
        if fails and self.api.get(f"/servers/{uuid}")["server"]["status"] != story.status:
            failed = [e for e in self.api.why(uuid) if e["result"] == "Error"]
            assert any(word in str(failed) for word in ("refused", "reset", "closed")), failed

    def _agree(self, uuid: str, fails: bool) -> bool:
        server = self.api.get(f"/servers/{uuid}")["server"]
        status, domains = server["status"], self.daemon.domains()
        held = self.api.allocations()
        if status == "SHELVED_OFFLOADED":
            return domains == {} and held == {}
        if status == "VERIFY_RESIZE":  # and the former size, which the migration holds
            is_held = uuid in held and len(held) == 2
        elif status == "ERROR":  # it keeps its room
            is_held = set(held) == {uuid}
        else:
            expected = expected_allocations(self.api)
            is_held = held == {
                each: {host: {"MEMORY_MB": of["MEMORY_MB"], "DISK_GB": of["DISK_GB"]}
                       for host, of in hosts.items()}
                for each, hosts in expected.items()
            }  # fmt: skip
        power = server["OS-EXT-STS:power_state"]
        if status == "ERROR":  # a rebuild may have removed its guest
            return is_held and domains in ({}, {uuid: power == 1})
        if fails and status in ("RESCUE", "VERIFY_RESIZE"):
            return is_held and domains == {uuid: power == 1}  # its guest is there, on or off
        return is_held and power == _POWERS[status] and domains == {uuid: status in _RUNS}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder: Path = tmp_path_factory.mktemp("killed")
    write_image(folder / "images")
    node = folder / "node.xml"
    node.write_text("<node/>", encoding="utf-8")
    libvirt_library()
    daemon = KilledDaemon(connection.load_library(), f"test://{node}", AWAY_SECONDS)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(connection, "load_library", lambda: daemon)
        with embedded_system(
            folder,
            hosts=1,
            DEFAULT__allow_resize_to_same_host=True,
            compute__driver=["libvirt"],
            compute__shutdown_timeout_seconds=0.3,
            compute__guest_poll_interval_seconds=0.5,
            libvirt__connection_uri=f"test://{node}",
            libvirt__virt_type="test",
            libvirt__images_type="raw",
        ) as api:
            yield World(api, daemon)


@pytest.mark.long
@pytest.mark.parametrize("name", STORIES)
def test_an_operation_survives_its_daemon(
    world: World, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It succeeds if the daemon is back soon, and fails for that reason if it is not."""
    story = STORIES[name]
    calls = _play(world, story, None, BEFORE, fails=False)
    moments = [(BEFORE, True), (AFTER, False), (AFTER, True)]
    kills = list(itertools.product(range(calls), moments))
    first = zlib.crc32(f"{seed()} {name}".encode()) % EVERY
    for number, (moment, fails) in kills[first::EVERY]:
        seconds = 0.0 if fails else daemon_restarts.RESTART_SECONDS_MAX
        with monkeypatch.context() as patched:
            patched.setattr(daemon_restarts, "RESTART_SECONDS_MAX", seconds)
            _play(world, story, number, moment, fails=fails)


def _play(world: World, story: Story, kill_at: int | None, moment: str, *, fails: bool) -> int:
    """Play a story; return how many calls of libvirt it took."""
    daemon = world.daemon
    what = f"{story.action} with a kill {moment} call {kill_at}"
    if story.action is None:
        daemon.watch(kill_at, moment)
        uuid = world.create()
    else:
        uuid = world.bring_to(story)
        daemon.watch(kill_at, moment)
        world.act(uuid, story)
    try:
        status = world.end_of(uuid, story)
        calls = len(daemon.calls)
        assert daemon.has_killed == (kill_at is not None), what
        assert fails or status == story.status, (what, status)
        world.check(uuid, story, status, fails=fails)
    except AssertionError as error:
        raise AssertionError(f"{what}: {daemon.calls}: {error}") from error
    daemon.watch()
    delete_everything(world.api)
    assert daemon.domains() == {}
    return calls
