"""A tree of zones on real processes whose links are cut, and whose services are killed.

Each zone continues with what it can reach, waits for what is unreachable for seconds, and all
records agree soon after the links are whole again.
"""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from sqlalchemy.engine import make_url

from tests.faults.links import Link, Network, State
from tests.fixtures.asking import wait_for
from tests.fixtures.services import MARIADB, RABBITMQ
from tests.integration.zones.zone_deployment import PUSH_SECONDS, ZoneDeployment, tree

pytestmark = [pytest.mark.rabbitmq, pytest.mark.mariadb, pytest.mark.long]

PATIENCE_SECONDS = 150.0
PARTITION_SECONDS = 120.0
OPTIONS = """
[zones]
expiry_factor = 3
forward_timeout_seconds = 5
select_timeout_seconds = 3
[simulated]
build_delay_seconds_min = 0.1
build_delay_seconds_max = 0.2
failing_hosts = *-bad
[scheduler]
claimed_instance_seconds = 3
snapshot_interval_seconds = 2
"""
SHAPE: dict[str, tuple[str | None, list[str]]] = {
    "root": (None, ["name=root-h:vcpus=32:memory_mb=65536:disk_gb=500"]),
    "eu": ("root", ["name=eu-h:vcpus=32:memory_mb=65536:disk_gb=500"]),
    "eu-1": (
        "eu",
        [
            "name=eu-1-bad:vcpus=64:memory_mb=8000000:disk_gb=4000",
            "name=eu-1-h:vcpus=48:memory_mb=4000000:disk_gb=2000",
        ],
    ),
}
NETWORKS: list[Network] = []


class LinkedZone(ZoneDeployment):
    """A zone whose way up, and whose cell's way to the top, can be cut."""

    @property
    def border_url(self) -> str:
        return self._through("border", self.top_url)

    @property
    def way_up(self) -> Link:
        return NETWORKS[0].links[(f"{self.name} border", self._target)]

    @property
    def cells_way(self) -> Link:
        return NETWORKS[0].links[(f"{self.name} cell", self._target)]

    @property
    def _target(self) -> str:
        return f"broker-{make_url(self.top_url).database}"

    def _through(self, who: str, url: str) -> str:
        parts = make_url(url)
        link = NETWORKS[0].link(f"{self.name} {who}", self._target, parts.port or 5672)
        return parts.set(host="127.0.0.1", port=link.port).render_as_string(hide_password=False)

    def _add(self, name: str, binary: str, options: str, *, transport_url: str = "") -> None:
        if name.endswith("-conductor"):
            transport_url = self._through("cell", self.top_url)
        super()._add(name, binary, options, transport_url=transport_url)

    def leave_out_api(self) -> None:
        if self.name != "eu":  # it has users of its own
            super().leave_out_api()


@pytest.fixture(scope="module")
def zones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """Lend a tree of three levels; the one in the middle has an API, too."""
    NETWORKS.append(Network(RABBITMQ.url.port or 5672))
    folder: Path = tmp_path_factory.mktemp("zones")
    try:
        with tree(folder, MARIADB, SHAPE, options=OPTIONS, kind=LinkedZone) as made:
            wait_for(
                lambda: (
                    made["root"].hosts_below() == {"eu": 3}
                    and made["root"].vcpus_below() == {"eu": 64}
                    and made["root"].up_hosts() == 1
                ),
                "the root knows all hosts",
                PATIENCE_SECONDS,
            )
            yield made
    finally:
        NETWORKS.pop().close()


@pytest.fixture(scope="module")
def root(zones: dict[str, LinkedZone]) -> LinkedZone:
    return zones["root"]


@pytest.fixture(scope="module")
def large(root: LinkedZone) -> str:
    """Return a flavor for which only the hosts of eu-1 are large enough."""
    return root.create_flavor("large", vcpus=1, ram=100_000)


def ended(zone: LinkedZone, uuids: list[str]) -> dict[str, dict[str, Any]]:
    """Wait until servers are built or in ERROR; a living server is never said to be gone."""

    def look() -> dict[str, dict[str, Any]] | None:
        found = {}
        for uuid in uuids:
            response = zone.request("GET", f"/servers/{uuid}")
            assert response.status_code != 404, f"{uuid} is said to be gone"
            if not response.ok or response.json()["server"]["status"] == "BUILD":
                return None
            found[uuid] = response.json()["server"]
        return found

    answer: dict[str, dict[str, Any]] = wait_for(look, "all are built", PATIENCE_SECONDS, 0.3)
    return answer


def test_a_failed_attempt_in_a_zone_is_explained(root: LinkedZone, large: str) -> None:
    """O02: the best host fails, the next builds: both are attempts, with their joined weights."""
    (uuid,) = root.create_servers(large, 1)
    server = ended(root, [uuid])[uuid]
    assert (server["status"], server["armillary:zone"]) == ("ACTIVE", "eu/eu-1")
    explained = root.get(f"/armillary/servers/{uuid}/explain")["explanation"]
    assert [one["result"] for one in explained["attempts"]] == ["Error", "Success"]
    assert [one["attempt"] for one in explained["attempts"]] == [1, 2]
    assert explained["server"]["attempt"] == 2
    (choice,) = explained["trace"]["choices"]
    assert choice["host"] == "eu-1-h"
    assert len(choice["runners_up"]) == 1
    assert choice["runners_up"][0]["weight"] > choice["weight"] > 0
    root.delete_servers(uuid)


def test_the_only_zone_that_can_serve_is_killed_again_and_again(
    zones: dict[str, LinkedZone], root: LinkedZone, large: str
) -> None:
    """BZ-65: its super conductor is unreachable for seconds while ten servers are asked for."""
    owner, is_over = zones["eu-1"], threading.Event()

    def kill() -> None:
        while not is_over.is_set():
            owner.kill("super")
            is_over.wait(1.5)
            owner.start("super")
            is_over.wait(2.5)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        uuids = []
        for _ in range(10):
            uuids += root.create_servers(large, 1)
            time.sleep(0.4)  # spreads them over the kills
    finally:
        wait_until = time.monotonic() + 10
        while time.monotonic() < wait_until:
            time.sleep(0.2)
        is_over.set()
        killer.join()
    servers = ended(root, uuids)
    told = [(one["status"], one.get("fault")) for one in servers.values()]
    assert [status for status, _fault in told] == ["ACTIVE"] * 10, told
    listed = [one["id"] for one in root.servers()]
    assert sorted(listed) == sorted(uuids)
    root.delete_servers(*uuids)


def test_a_restarted_scheduler_of_a_parent_waits_for_its_children(
    root: LinkedZone, large: str
) -> None:
    """D7, BZ-69: both of its pair are killed; the next create finds the grandchild's host."""
    schedulers = [name for name in root.processes if name.startswith("scheduler")]
    for name in schedulers:
        root.kill(name)
    root.start(*schedulers)
    uuids = root.create_servers(large, 1)
    assert ended(root, uuids)[uuids[0]]["status"] == "ACTIVE"
    root.delete_servers(*uuids)


def test_a_partition_of_two_minutes(zones: dict[str, LinkedZone], root: LinkedZone) -> None:
    """BZ-66: root from eu, and eu-1's cell from its top; each goes on, then all truths agree."""
    eu, eu_1, network = zones["eu"], zones["eu-1"], NETWORKS[0]
    small = {zone.name: zone.create_flavor("small", vcpus=1, ram=512) for zone in (root, eu)}
    (before,) = root.create_servers(root.create_flavor("large2", vcpus=1, ram=100_000), 1)
    assert ended(root, [before])[before]["armillary:zone"] == "eu/eu-1"
    links = [eu.way_up, eu_1.cells_way]
    since = time.monotonic()
    for link in links:
        network.set_state(link, State.SILENT)
    made: dict[str, list[str]] = {"root": [], "eu": []}
    while time.monotonic() < since + PARTITION_SECONDS:
        for zone in (root, eu):
            made[zone.name] += zone.create_servers(small[zone.name], 1)
        time.sleep(10)
    for zone in (root, eu):
        servers = ended(zone, made[zone.name])
        assert {one["status"] for one in servers.values()} == {"ACTIVE"}, zone.name
    assert root.zone_states()["eu"] in ("stale", "offline")
    listed = root.get("/servers/detail")
    others = {
        one["id"]: one["status"] for one in listed["servers"] if one["id"] not in made["root"]
    }
    assert (others, len(listed["servers"])) == ({before: "UNKNOWN"}, len(made["root"]) + 1)
    assert listed["armillary:down_cells"] == ["zone eu/eu-1"]
    for link in links:
        network.set_state(link, State.OPEN)
    agree(
        zones,
        lambda: sorted(one["id"] for one in root.servers()) == sorted([before, *made["root"]]),
    )
    again = root.create_servers(root.create_flavor("large3", vcpus=1, ram=100_000), 1)
    assert ended(root, again)[again[0]]["status"] == "ACTIVE"
    root.delete_servers(before, *again, *made["root"])
    eu.delete_servers(*made["eu"])
    wait_for(lambda: held(zones) == 0, "nothing is held", PATIENCE_SECONDS)


def agree(zones: dict[str, LinkedZone], are_all_listed: Callable[[], bool]) -> None:
    """Wait until all summaries and lists are true: reconnection, and a push period a level."""
    levels, reconnection_seconds = 3, 20.0

    def do_agree() -> bool:
        try:
            return (
                zones["root"].hosts_below() == {"eu": 3}
                and zones["root"].zone_states() == {"eu": "online"}
                and zones["eu"].hosts_below() == {"eu-1": 2}
                and are_all_listed()
            )
        except (AssertionError, requests.RequestException):
            return False

    wait_for(do_agree, "all truths agree", reconnection_seconds + levels * PUSH_SECONDS)


def held(zones: dict[str, LinkedZone]) -> int:
    return sum(zone.count("placement", "SELECT count(*) FROM consumers") for zone in zones.values())
