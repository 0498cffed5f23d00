"""Tests of walks, deletes and sizes with the zones' records on a database server.

One tree serves all tests of this file: each has servers of its own in it. A run takes one of the
engines, `make long` both.
"""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from armillary import exception
from conductor.super_conductor.db.catalogue import quotas
from objects.traces.decision_trace import DecisionTrace
from tests.fixtures.control_plane import API_SCHEMA, PROJECT
from tests.fixtures.services.databases import SERVERS, SyncedDatabases, on_one_server
from tests.fixtures.zones import Zone, zone_tree
from tests.unit.conductor.super_conductor.zones.test_groups_elsewhere import a_group
from tests.unit.conductor.super_conductor.zones.test_lost_answers import TIMEOUT
from tests.unit.conductor.super_conductor.zones.test_servers_elsewhere import (
    PATIENCE_SECONDS,
    delete,
    reconcile_sizes,
    resize,
)
from tests.unit.conductor.super_conductor.zones.test_walk import child, create, show

pytestmark = pytest.mark.sampled_tests(every=2)


@pytest.fixture(scope="module", params=on_one_server("walks"))
def tree(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    synced_databases: SyncedDatabases,
) -> Iterator[Zone]:
    """Lend a tree whose zones have databases on one server."""
    service = SERVERS[request.param]
    with ExitStack() as databases:
        folder = tmp_path_factory.mktemp(request.param)

        def new_url() -> str:
            return databases.enter_context(synced_databases.lend(service, API_SCHEMA))

        with zone_tree(folder, new_url) as made:
            made.add_flavor("large", vcpus=4, memory_mb=2048)
            yield made


@pytest.fixture
def root(tree: Zone) -> Iterator[Zone]:
    """Lend it as it was: all hosts well, no zone silent, nothing left of the test before."""
    yield tree
    for zone in tree.all_zones():
        zone.cell().failing_hosts.clear()
        zone.cell().slow_hosts.clear()
        zone.cell().finish_slow()
        zone.scheduler.error = None
        for below in zone.children:
            zone.bus_to(below).acts.clear()
            zone.bus_to(below).is_down = zone.bus_to(below).is_twice = False
    tree.settle_all()


def cores(root: Zone) -> int:
    with root.database.reader() as session:
        return quotas.count_usage(session, PROJECT)["cores"]


@pytest.mark.parametrize("when_done", [True, False], ids=["answer lost", "order lost"])
@pytest.mark.parametrize("method", ["create", "get_attempts", "cancel"])
@pytest.mark.sampled(every=2)
def test_a_lost_message_leaves_one_server(root: Zone, method: str, *, when_done: bool) -> None:
    """As on files: the zone is asked what it knows before another one has its turn."""
    held = root.held()
    eu = child(root, "eu")
    eu.cell().failing_hosts = {"cell1-host1"}
    root.bus_to(eu).fail(method, TIMEOUT, when_done=when_done)
    (uuid,) = create(root, "eu:cell1-host1", "eu:cell1-host2", "us:cell1-host1")
    root.walk()
    root.settle_all()
    assert len(root.living(uuid)) == 1
    assert root.held() == held + 1
    assert show(root, uuid).vm_state == "active"


def test_each_of_several_is_built_once(root: Zone) -> None:
    """Though the first hosts fail, and every message comes twice."""
    held = root.held()
    for name in ("eu", "us"):
        child(root, name).cell().failing_hosts = {"cell1-host1"}
        root.bus_to(child(root, name)).is_twice = True
    uuids = create(root, "eu:cell1-host1", "us:cell1-host1", "eu/eu-1:cell1-host1", count=3)
    root.walk()
    root.settle_all()
    assert [root.living(uuid) for uuid in uuids] == [[("eu-1", "active")]] * 3
    assert root.held() == held + 3


@pytest.mark.parametrize("looks", [0, 1, 3])
def test_a_delete_on_the_way_ends_the_walk(root: Zone, looks: int) -> None:
    """Nothing lives, nothing is held, nothing is left to do."""
    held = root.held()
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    child(root, "us").cell().slow_hosts = {"cell1-host2"}
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host2")
    for _ in range(looks):
        root.workers.work()
        root.look_again()
    delete(root, uuid)
    root.settle_all()
    assert (root.living(uuid), root.places(uuid), root.held()) == ([], [], held)


def test_a_delete_is_brought_to_a_zone_that_was_silent(root: Zone) -> None:
    """Also of one that had got another name there."""
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    (uuid,) = create(root, "eu:cell1-host1", "eu:cell1-host2")
    root.walk()
    root.bus_to(child(root, "eu")).is_down = True
    delete(root, uuid)
    root.bus_to(child(root, "eu")).is_down = False
    root.settle_all()
    assert (root.living(uuid), root.places(uuid)) == ([], [])


def test_a_resize_elsewhere_is_counted(root: Zone) -> None:
    """The larger, then what was kept; another one that begins meanwhile is not forgotten."""
    (uuid,) = create(root, "us:cell1-host1")
    root.walk()
    before, cell = cores(root), child(root, "us").cell()
    small = cell.instances[uuid].flavor
    for _ in range(2):
        resize(root, uuid)
        root.work_all()
        assert reconcile_sizes(root) == 0
        root.clock.advance(PATIENCE_SECONDS)
        cell.end_resize(uuid, flavor=small)
    root.bus_to(child(root, "us")).meanwhile(
        "get_attempts", lambda: resize(root, uuid), when_done=True
    )
    assert reconcile_sizes(root) == 0
    assert cores(root) == before + 3
    root.work_all()
    root.clock.advance(PATIENCE_SECONDS)
    cell.end_resize(uuid, flavor=small)
    assert reconcile_sizes(root) == 1
    assert cores(root) == before


def test_a_member_of_a_group_waits_for_the_first_one(root: Zone) -> None:
    """And goes where that is."""
    group = a_group(root, "affinity")
    child(root, "us").cell().slow_hosts = {"cell1-host3"}
    root.scheduler.zone_entries = root.entries("us:cell1-host3")
    (first,) = root.create(1, hints={"group": [group.uuid]})
    root.work_all()
    zones = [{"path": ["us"], "outcome": "asked", "hosts": 0, "seconds": 0.0, "reason": None}]
    trace = DecisionTrace.from_values(zones=zones, sentence="None is left.")
    root.scheduler.error = exception.NoValidHost(reason="", trace=trace.obj_to_primitive())
    (second,) = root.create(1, hints={"group": [group.uuid]})
    root.work_all()
    assert show(root, second).vm_state == "building"
    root.scheduler.error = None
    child(root, "us").cell().slow_hosts.clear()
    child(root, "us").cell().finish_slow()
    root.walk()
    root.settle_all()
    assert [root.living(uuid) for uuid in (first, second)] == [[("us", "active")]] * 2
