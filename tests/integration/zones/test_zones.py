"""A tree of zones on real processes: where servers land, and what it is when parts die."""

import contextlib
import io
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import requests

from programs.commands.app import URL_VARIABLE, ClientApp
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.documented_output import assert_printed, example, section
from tests.fixtures.services import POSTGRESQL
from tests.integration.pools import add_pool, placement_answers, used_gb
from tests.integration.zones.zone_deployment import ZoneDeployment, tree

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

PATIENCE_SECONDS = 150.0
ANSWER_SECONDS = 2.0
RESTARTS = 10
MOMENT_SECONDS = 0.15
LIVING = "SELECT count(*) FROM instances WHERE deleted_at IS NULL"
OPTIONS = """
[simulated]
build_delay_seconds_min = 0.2
build_delay_seconds_max = 0.4
failing_hosts = *-bad
[zones]
reconcile_timeout_seconds = 120
absence_wait_seconds = 120
# A zone that does not answer in time is passed over, but a list has to be there sooner than in 10.
forward_timeout_seconds = 7
[scheduler]
# What came and went between two pulls is never seen in a report: it weighs until then.
claimed_instance_seconds = 3
"""
ALONE, GPU = "CUSTOM_ALONE", "CUSTOM_GPU"
"""Traits of the host of eu-1; of some of the root and of eu."""
# The larger, the better liked: eu-bad, us-bad, eu-1-h, us-h, root-h.
SHAPE: dict[str, tuple[str | None, list[str]]] = {
    "root": (None, [f"name=root-h:vcpus=32:memory_mb=65536:disk_gb=500:traits={GPU}"]),
    "eu": ("root", [f"name=eu-bad:vcpus=64:memory_mb=524288:disk_gb=4000:traits={GPU}"]),
    "us": (
        "root",
        [
            "name=us-bad:vcpus=60:memory_mb=480000:disk_gb=3600",
            "name=us-h:vcpus=40:memory_mb=131072:disk_gb=1000",
        ],
    ),
    "eu-1": ("eu", [f"name=eu-1-h:vcpus=48:memory_mb=262144:disk_gb=2000:traits={ALONE}"]),
}


@pytest.fixture(scope="module")
def zones(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ZoneDeployment]]:
    """Lend a root with own hosts and two children, one of them with a child of its own."""
    folder: Path = tmp_path_factory.mktemp("zones")
    with tree(
        folder, POSTGRESQL, SHAPE, options=OPTIONS, in_process=frozenset({"us", "eu-1"})
    ) as made:
        root = made["root"]
        wait_for(
            lambda: (
                root.hosts_below() == {"eu": 2, "us": 2}
                and all(root.vcpus_below().values())
                and root.up_hosts() == 1
            ),
            "the root knows all hosts",
            PATIENCE_SECONDS,
        )
        yield made


@pytest.fixture(scope="module")
def root(zones: dict[str, ZoneDeployment]) -> ZoneDeployment:
    """Return the zone with the API."""
    return zones["root"]


@pytest.fixture(autouse=True)
def nothing_is_left(root: ZoneDeployment) -> None:
    """Begin with nothing, whatever a test that failed has left."""
    for server in root.servers():
        root.request("DELETE", f"/servers/{server['id']}")
    wait_for(lambda: not root.servers(), "nothing is left", PATIENCE_SECONDS, 0.3)


@pytest.fixture(scope="module")
def small(root: ZoneDeployment) -> str:
    return root.create_flavor("small", vcpus=1, ram=512, disk=1)


def ended(root: ZoneDeployment, uuid: str) -> dict[str, str]:
    """Wait for the end of a build, and return the server."""

    def is_over() -> dict[str, str] | None:
        response = root.request("GET", f"/servers/{uuid}")
        if not response.ok:
            return None
        server: dict[str, str] = response.json()["server"]
        return server if server["status"] in ("ACTIVE", "ERROR") else None

    answer: dict[str, str] = wait_for(is_over, f"{uuid} is built", PATIENCE_SECONDS, 0.3)
    return answer


def favourite(root: ZoneDeployment, flavor: str) -> str | None:
    """Return the zone that a dry run would begin with.

    What was just built or deleted counts as work of a host for a second or two, and work weighs.
    """
    asked = {"server": {"flavorRef": flavor}}
    response = root.request("POST", "/armillary/dry-run", json=asked)
    hosts = response.json()["dry_run"]["hosts"] if response.ok else []
    return hosts[0]["zone"] if hosts else None


def answers_quickly(root: ZoneDeployment, flavor: str) -> bool:
    """Return whether no zone is about to be left out for a late answer."""
    began = time.monotonic()
    return favourite(root, flavor) is not None and time.monotonic() - began < ANSWER_SECONDS


def flavor_with(root: ZoneDeployment, trait: str) -> str:
    """Return a new flavor, named after the trait that it requires."""
    made = root.create_flavor(trait, vcpus=1, ram=512, disk=1)
    root.post(f"/flavors/{made}/os-extra_specs", {"extra_specs": {f"trait:{trait}": "required"}})
    return made


def test_the_examples_of_the_documentation_are_printed(
    root: ZoneDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of zones, and the zones of a decision."""
    monkeypatch.setenv("COLUMNS", "400")

    def run(*words: str) -> str:
        said = io.StringIO()
        environment = {URL_VARIABLE: root.api_url}
        assert ClientApp(said, said, environment).run([*words]) == 0, said.getvalue()
        return said.getvalue()

    assert_printed(example("docs/operating/zones.md"), run("zone", "list"))
    flavor_with(root, GPU)
    said = run("schedule", "--dry-run", "--flavor", GPU)
    assert_printed(example("docs/operating/explain.md", 3), section(said, "Zones:"))


def test_the_first_two_hosts_fail_and_the_third_gets_it(root: ZoneDeployment, small: str) -> None:
    """By weight, across zones: the best hosts of eu and us fail, that of eu-1 builds."""
    wait_for(lambda: answers_quickly(root, small), "the tree has settled", PATIENCE_SECONDS)
    (uuid,) = root.create_servers(small, 1)
    server = ended(root, uuid)
    assert (server["status"], server["armillary:zone"]) == ("ACTIVE", "eu/eu-1")
    assert [one["id"] for one in root.servers()] == [uuid]
    assert root.request("POST", f"/servers/{uuid}/action", json={"os-stop": None}).ok
    root.wait_for_status(uuid, "SHUTOFF", seconds=PATIENCE_SECONDS)
    root.delete_servers(uuid)
    assert root.servers() == []


def test_a_killed_origin_walks_on(root: ZoneDeployment, small: str) -> None:
    """kill -9 of the origin's super conductor in the walk: another one goes on."""
    uuids = root.create_servers(small, 3)
    root.kill("super")
    root.start("super")
    servers = [ended(root, uuid) for uuid in uuids]
    assert [server["status"] for server in servers] == ["ACTIVE"] * 3
    assert sorted(one["id"] for one in root.servers()) == sorted(uuids)
    root.delete_servers(*uuids)


@pytest.mark.parametrize(
    ("database", "query"),
    [("api", "SELECT count(*) FROM zone_guests WHERE NOT is_cancelled"), ("cell", LIVING)],
    ids=["when it has the order", "when it builds"],
)
def test_a_killed_owner_builds_once(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment, small: str, database: str, query: str
) -> None:
    """BZ-51: kill -9 of the super conductor and the cell conductor of the zone that builds.

    The origin asks what has become of it, before any other zone is tried: there are never two.
    """
    owner = zones["eu-1"]
    wait_for(lambda: owner.count("cell", LIVING) == 0, "former servers are gone", PATIENCE_SECONDS)
    wait_for(lambda: favourite(root, small) == "eu/eu-1", "eu-1 is liked best", PATIENCE_SECONDS)
    before = owner.count(database, query)
    (uuid,) = root.create_servers(small, 1)
    wait_for(
        lambda: owner.count(database, query) > before, "the order is there", PATIENCE_SECONDS, 0.02
    )
    for name in ("super", "eu-1-cell-conductor"):
        owner.kill(name)
    assert active_instances(zones) <= 1
    owner.start("super", "eu-1-cell-conductor")
    server = ended(root, uuid)
    assert (server["status"], server["armillary:zone"]) == ("ACTIVE", "eu/eu-1")
    assert active_instances(zones) == 1
    wait_for(lambda: consumers(zones) == 1, "failed attempts left nothing", PATIENCE_SECONDS)
    root.delete_servers(uuid)
    wait_for(lambda: consumers(zones) == 0, "nothing is held", PATIENCE_SECONDS)


def active_instances(zones: dict[str, ZoneDeployment]) -> int:
    """Return how many instances run, by the cells of all zones."""
    query = "SELECT count(*) FROM instances WHERE vm_state = 'active' AND deleted_at IS NULL"
    return sum(zone.count("cell", query) for zone in zones.values())


def consumers(zones: dict[str, ZoneDeployment]) -> int:
    """Return who holds something in placement, in all zones."""
    return sum(zone.count("placement", "SELECT count(*) FROM consumers") for zone in zones.values())


@pytest.mark.long
def test_creates_wait_for_a_zone_that_restarts(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment, small: str
) -> None:
    """Kill -9 of its super conductor at various moments, and of the one between: none fails.

    One in three of them fits in that zone alone.
    """
    large = root.create_flavor("large", vcpus=45, ram=512, disk=1)  # except for hosts that fail
    for number in range(RESTARTS):
        restarted = zones["eu-1" if number % 2 else "eu"]
        uuids = root.create_servers(large, 1) + root.create_servers(small, 2)
        time.sleep(number * MOMENT_SECONDS)
        restarted.kill("super")
        uuids += root.create_servers(large, 1)
        time.sleep(number % 3)
        restarted.start("super")
        servers = [ended(root, uuid) for uuid in uuids]
        assert [one["status"] for one in servers] == ["ACTIVE"] * 4, servers
        root.delete_servers(*uuids)
    wait_for(lambda: consumers(zones) == 0, "nothing is held", PATIENCE_SECONDS)


@pytest.mark.long
def test_a_create_waits_for_the_zone_that_alone_can_serve(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment
) -> None:
    """It is down until the search has ended without it; then the search is repeated."""
    alone = flavor_with(root, ALONE)
    with down(zones["eu-1"]):
        (uuid,) = root.create_servers(alone, 1)
        wait_for_log(root, uuid, "does not answer")
    server = ended(root, uuid)
    assert (server["status"], server.get("armillary:zone")) == ("ACTIVE", "eu/eu-1"), server
    root.delete_servers(uuid)


@pytest.mark.long
def test_a_create_waits_for_a_zone_that_dies_before_its_turn(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment
) -> None:
    """It offered its host; those before it on the list fail while it is down."""
    large = root.create_flavor("large-too", vcpus=45, ram=512, disk=1)
    forget_failed_builds(zones["eu"])
    wait_for(lambda: favourite(root, large) == "eu", "eu is liked best", PATIENCE_SECONDS)
    (uuid,) = root.create_servers(large, 1)
    orders = f"SELECT count(*) FROM zone_guests WHERE instance_uuid = '{uuid}'"
    wait_for(lambda: zones["eu"].count("api", orders), "eu has its turn", PATIENCE_SECONDS, 0.02)
    with down(zones["eu-1"]):
        wait_for_log(root, uuid, "zone eu/eu-1 is unreachable")
    server = ended(root, uuid)
    assert (server["status"], server.get("armillary:zone")) == ("ACTIVE", "eu/eu-1"), server
    root.delete_servers(uuid)


def forget_failed_builds(zone: ZoneDeployment) -> None:
    """Make the hosts of a zone whose builds fail as well liked as before the first of them."""
    journal = zone.folder / f"{zone.name}-agent" / "compute-journal.sqlite"
    with contextlib.closing(sqlite3.connect(journal, timeout=60)) as connection, connection:
        connection.execute("UPDATE hosts SET failed_builds = 0")


@contextlib.contextmanager
def down(zone: ZoneDeployment) -> Iterator[None]:
    """Kill a zone's super conductor with -9, and start it again afterwards."""
    zone.kill("super")
    try:
        yield
    finally:
        zone.start("super")


def wait_for_log(root: ZoneDeployment, uuid: str, text: str) -> None:
    """Wait until the super conductor's log says this, of a server that has not failed meanwhile."""
    log = root.processes["super"].log
    said = log.read_text().count(text)

    def is_said() -> bool:
        server = root.get(f"/servers/{uuid}")["server"]
        assert server["status"] == "BUILD", server
        return log.read_text().count(text) > said

    wait_for(is_said, f"the root says {text!r}", PATIENCE_SECONDS, 0.3)


CLAIMS = "/armillary/claims"
POOLS = {"root": "root-array", "us": "us-array", "eu-1": "eu-1-array"}


@pytest.fixture(scope="module")
def pools(zones: dict[str, ZoneDeployment], root: ZoneDeployment) -> dict[str, str]:
    """Add a pool in zones of each level; return their UUIDs when the root can claim of each."""
    made = {name: add_pool(zones[zone], name) for zone, name in POOLS.items()}
    for name in made:
        wait_for(partial(can_claim_of, root, name), f"{name} is known", PATIENCE_SECONDS, 0.3)
    return made


def can_claim_of(root: ZoneDeployment, pool: str) -> bool:
    """Claim of a pool, and end that; return whether it succeeded."""
    made = claimed(root, claim(root, 1, pool=pool))
    end_claim(root, made["id"])
    return bool(made["status"] == "ACTIVE")


def claim(root: ZoneDeployment, amount_gb: int, **more: Any) -> str:
    body = {"claim": {"kind": "storage", "resources": {"DISK_GB": amount_gb}, **more}}
    return str(root.post(CLAIMS, body)["claim"]["id"])


def claimed(root: ZoneDeployment, claim_id: str) -> dict[str, Any]:
    """Wait for the outcome of a claim, and return it."""

    def is_over() -> dict[str, Any] | None:
        found: dict[str, Any] = root.get(f"{CLAIMS}/{claim_id}")["claim"]
        return found if found["status"] != "PENDING" else None

    answer: dict[str, Any] = wait_for(is_over, f"{claim_id} is decided", PATIENCE_SECONDS)
    return answer


def end_claim(root: ZoneDeployment, claim_id: str) -> None:
    """End a claim, and wait until nothing is left of it at the root."""
    root.request("DELETE", f"{CLAIMS}/{claim_id}").raise_for_status()
    path = f"{CLAIMS}/{claim_id}"
    wait_for(lambda: root.request("GET", path).status_code == 404, "it is gone", PATIENCE_SECONDS)


def held_gb(zones: dict[str, ZoneDeployment]) -> dict[str, int]:
    """Return what is used of each pool, as the placement of its zone says."""
    return {zone: used_gb(zones[zone], name) for zone, name in POOLS.items()}


@pytest.mark.long
def test_claims_are_on_the_best_pool_of_all_zones(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment, pools: dict[str, str]
) -> None:
    """L11: made at the root, held where most is free, explained; its end leaves nothing."""
    before = [claimed(root, claim(root, 300, pool=pool)) for pool in ("root-array", "us-array")]
    assert [made["zone"] for made in before] == [None, "us"]
    more = claimed(root, claim(root, 200, pool="us-array"))
    made = claimed(root, claim(root, 100))
    assert (made["status"], made["zone"], made["pool"]) == ("ACTIVE", "eu/eu-1", "eu-1-array")
    assert made["alternates"] == ["root-array", f"us:{pools['us-array']}"]
    assert held_gb(zones) == {"root": 300, "us": 500, "eu-1": 100}
    trace = root.get(f"{CLAIMS}/{made['id']}/explain")["explanation"]["trace"]
    (choice,) = trace["choices"]
    assert (choice["host"], len(choice["runners_up"])) == ("eu-1-array", 2)
    assert {"/".join(zone["path"]) for zone in trace["zones"]} == {"", "eu", "eu/eu-1", "us"}
    for each in (*before, more, made):
        end_claim(root, each["id"])
    assert held_gb(zones) == {"root": 0, "us": 0, "eu-1": 0}
    ledger = [zone.count("api", "SELECT count(*) FROM claims") for zone in zones.values()]
    assert ledger == [0, 0, 0, 0]


@pytest.mark.long
def test_a_claim_outlives_its_zone(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment, pools: dict[str, str]
) -> None:
    """The zone is killed once it was asked: the claim is made there and nowhere else, once.

    Its end is accepted while the zone is dead again, and done when it is back.
    """
    others = [claimed(root, claim(root, 300, pool=name)) for name in ("root-array", "us-array")]
    owner = zones["eu-1"]
    wanted = claim(root, 100)
    wait_for(
        lambda: owner.count("api", f"SELECT count(*) FROM claims WHERE uuid = '{wanted}'") == 1,
        "the zone was asked", PATIENCE_SECONDS, 0.02,
    )  # fmt: skip
    owner.kill("super")
    owner.kill("placement")
    log = root.processes["super"].log
    wait_for(
        lambda: f"{wanted}: outcome unknown" in log.read_text(), "the root got no answer",
        PATIENCE_SECONDS,
    )  # fmt: skip
    assert held_gb_elsewhere(zones) == {"root": 300, "us": 300}
    owner.start("super", "placement")
    made = claimed(root, wanted)
    assert (made["status"], made["zone"]) == ("ACTIVE", "eu/eu-1")
    wait_for(lambda: placement_answers(owner), "placement is back", PATIENCE_SECONDS)
    assert held_gb(zones) == {"root": 300, "us": 300, "eu-1": 100}
    owner.kill("super")
    root.request("DELETE", f"{CLAIMS}/{wanted}").raise_for_status()
    assert root.get(f"{CLAIMS}/{wanted}")["claim"]["status"] == "DELETING"
    owner.start("super")
    end_claim(root, wanted)
    for each in others:
        end_claim(root, each["id"])
    assert held_gb(zones) == {"root": 0, "us": 0, "eu-1": 0}


@pytest.mark.long
def test_claims_are_held_once_whichever_super_conductor_is_killed(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment, pools: dict[str, str]
) -> None:
    """At various moments of claims, and of their ends: of the root, and of zones below it.

    The user repeats what was not answered. Each claim is held once, its end leaves nothing.
    """
    made: list[str] = []
    for number, name in enumerate(("root", "eu", "eu-1", "us") * 3):
        with killed_meanwhile(zones[name], number):
            pool = {} if number % 2 else {"pool": list(POOLS.values())[number % 3]}
            made += [claim_once(root, **pool), claim_once(root)]
    wait_for(
        lambda: claim_states(root) == dict.fromkeys(made, "ACTIVE"),
        "all claims are active, and no other", PATIENCE_SECONDS, 0.3,
    )  # fmt: skip
    assert sum(held_gb(zones).values()) == CLAIMED_GB * len(made)
    for number, claim_id in enumerate(made):
        name = ("root", "eu-1", "us", "eu")[number // 2 % 4]
        with killed_meanwhile(zones[name], number) if number % 2 else contextlib.nullcontext():
            answered(root, "DELETE", f"{CLAIMS}/{claim_id}")
    wait_for(lambda: claim_states(root) == {}, "all claims have ended", PATIENCE_SECONDS, 0.3)
    assert held_gb(zones) == {"root": 0, "us": 0, "eu-1": 0}
    # Not counted: the mark with which a zone refuses a create that comes after the claim's end.
    claims = "SELECT count(*) FROM claims WHERE kind <> ''"
    wait_for(
        lambda: [zone.count("api", claims) for zone in zones.values()] == [0, 0, 0, 0],
        "no zone knows a claim", PATIENCE_SECONDS, 0.3,
    )  # fmt: skip


CLAIMED_GB = 7


@contextlib.contextmanager
def killed_meanwhile(zone: ZoneDeployment, number: int) -> Iterator[None]:
    """Kill a zone's super conductor some moments after something begins, and start it again."""

    def kill() -> None:
        time.sleep(number % 5 * MOMENT_SECONDS)
        zone.kill("super")
        time.sleep(number % 3)
        zone.start("super")

    with ThreadPoolExecutor(1) as pool:
        killing = pool.submit(kill)
        yield
        killing.result()


def claim_once(root: ZoneDeployment, **more: Any) -> str:
    body = {"claim": {"kind": "storage", "resources": {"DISK_GB": CLAIMED_GB}, **more}}
    headers = {"Idempotency-Key": f'"{uuid4()}"'}
    made = answered(root, "POST", CLAIMS, json=body, headers=headers)
    return str(made.json()["claim"]["id"])


def answered(root: ZoneDeployment, method: str, path: str, **more: Any) -> requests.Response:
    """Send a request until it is answered: done, or that what it ends is gone."""

    def send() -> list[requests.Response]:
        try:
            answer = root.request(method, path, **more)
        except requests.RequestException:
            return []
        return [answer] if answer.ok or answer.status_code == 404 else []

    found: list[requests.Response] = wait_for(
        send, f"{method} {path} is answered", PATIENCE_SECONDS
    )
    return found[0]


def claim_states(root: ZoneDeployment) -> dict[str, str]:
    return {one["id"]: one["status"] for one in answered(root, "GET", CLAIMS).json()["claims"]}


def held_gb_elsewhere(zones: dict[str, ZoneDeployment]) -> dict[str, int]:
    return {zone: used_gb(zones[zone], name) for zone, name in POOLS.items() if zone != "eu-1"}


def test_with_a_dead_zone_creates_go_on_and_lists_are_partial(
    zones: dict[str, ZoneDeployment], root: ZoneDeployment, small: str
) -> None:
    """What lives there is listed as unknown, with the zone; new servers go elsewhere."""
    wait_for(lambda: favourite(root, small) == "eu/eu-1", "eu-1 is liked best", PATIENCE_SECONDS)
    (there,) = root.create_servers(small, 1)
    assert ended(root, there)["armillary:zone"] == "eu/eu-1"
    for process in zones["eu-1"].processes.values():
        process.kill()
    (here,) = root.create_servers(small, 1)
    server = ended(root, here)
    assert (server["status"], server["armillary:zone"]) == ("ACTIVE", "us")
    listed = root.get("/servers/detail")
    assert {one["id"]: one["status"] for one in listed["servers"]} == {
        here: "ACTIVE",
        there: "UNKNOWN",
    }
    assert listed["armillary:down_cells"] == ["zone eu/eu-1"]
    root.delete_servers(here)
