"""An agent that is stalled, is cut off, or has lost its state: each workload runs once."""

import contextlib
import shutil
import threading
from collections import defaultdict

import psutil
import pytest

from tests.faults.links import State
from tests.faults.operations import IMAGES
from tests.faults.stores import why_missing
from tests.faults.world import CELLS, Size, world
from tests.fixtures.asking import wait_for
from tests.fixtures.services import leave_out

pytestmark = [pytest.mark.long]

SIZE = Size(copies=1, simulated=1, processes=2, cells=CELLS[:1], hosts=1)
LOOK_SECONDS = 0.1


def places(uuids):
    """Return server -> the agents for which its processes run; stopped ones do not."""
    found = defaultdict(set)
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, IndexError):
            environment = process.environ()
            uuid = environment.get("ARMILLARY_INSTANCE_UUID")
            if uuid in uuids and process.status() not in (
                psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE,
            ):  # fmt: skip
                found[uuid].add(environment["HOME"].split("/services/")[1].split("/")[0])
    return found


@contextlib.contextmanager
def running_once(uuids):
    """Fail at the end if one of the servers ran for two agents at the same time meanwhile."""
    twice, ended = set(), threading.Event()

    def look():
        while not ended.wait(LOOK_SECONDS):
            twice.update(uuid for uuid, agents in places(uuids).items() if len(agents) > 1)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
    assert twice == set()


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    reason = why_missing()
    if reason:
        leave_out(reason)
    with world(tmp_path_factory.mktemp("away"), SIZE, 1, pace=2.0) as running:
        yield running


@pytest.fixture(scope="module")
def image(deployment):
    body = {"image": {"name": "process", "properties": IMAGES["process"]}}
    return deployment.post("/images", body)["image"]["id"]


@pytest.fixture(scope="module")
def flavor(deployment):
    return deployment.create_flavor("tiny", vcpus=1, ram=64)


@pytest.fixture
def servers(deployment, image, flavor):
    """Return three servers on the first agent, deleted afterwards."""
    first, _second = deployment.workloads
    zone = f"nova:{first}"
    made = [
        uuid
        for _ in range(3)
        for uuid in deployment.create_servers(flavor, 1, imageRef=image, availability_zone=zone)
    ]
    deployment.at_rest(made)
    yield made
    for uuid in made:  # a soft delete would leave their resources in use
        deployment.request("POST", f"/servers/{uuid}/action", json={"forceDelete": None})
    wait_for(lambda: not places(made), "their processes are gone", 60)


def is_up(deployment, host):
    found = deployment.get("/os-services", binary="armillary-compute")["services"]
    return next(each["state"] == "up" for each in found if each["host"] == host)


def exists(deployment, uuid):
    return deployment.request("GET", f"/servers/{uuid}").status_code != 404


def statuses(found):
    return {server["status"] for server in found.values()}


def test_an_agent_that_stood_still_runs_nothing_beside_evacuated_copies(deployment, servers):
    """Held while it is stalled and when it goes on; what was deleted is gone before it is up."""
    first, second = deployment.workloads
    deleted, *evacuated = servers
    with running_once(servers):
        deployment.pause(first)
        wait_for(lambda: not is_up(deployment, first), "it counts as down", 60)
        assert not places(servers)
        deployment.request("POST", f"/servers/{deleted}/action", json={"forceDelete": None})
        wait_for(lambda: not exists(deployment, deleted), "it is deleted", 60)
        for uuid in evacuated:
            deployment.act(uuid, "evacuate")
        assert statuses(deployment.at_rest(evacuated)) == {"ACTIVE"}
        deployment.resume(first)
        wait_for(lambda: is_up(deployment, first), "it is up again", 60)
    assert places(servers) == {uuid: {second} for uuid in evacuated}
    assert list((deployment.state(first) / "processes").glob("*-*")) == []


def test_a_destination_that_is_cut_off_runs_nothing_beside_the_source(deployment, servers):
    """The guest has just come there, and the cell lets it go back."""
    _first, second = deployment.workloads
    uuid = servers[0]
    links = [
        link for (process, target), link in deployment.network.links.items()
        if process == second and target.startswith("broker")
    ]  # fmt: skip
    with running_once(servers):
        deployment.act(uuid, "migrate", {"host": second})
        wait_for(lambda: second in places([uuid])[uuid], "it runs there", 60, 0.02)
        for link in links:
            deployment.network.set_state(link, State.SILENT)
        try:
            wait_for(lambda: not is_up(deployment, second), "it counts as down", 60)
            deployment.at_rest([uuid])
        finally:
            for link in links:
                deployment.network.set_state(link, State.OPEN)
        wait_for(lambda: is_up(deployment, second), "it is up again", 60)
        found = deployment.at_rest([uuid])[uuid]
    assert found["status"] in ("ACTIVE", "VERIFY_RESIZE")
    wait_for(lambda: places([uuid])[uuid] == {found["OS-EXT-SRV-ATTR:host"]}, "it runs once", 30)


def test_workloads_outlive_a_lost_state_directory(deployment, servers):
    """They are found again; stopped and started, each runs once."""
    first, _second = deployment.workloads
    state = deployment.state(first)
    identity = (state / "compute_id").read_bytes()
    deployment.processes[first].stop()
    shutil.rmtree(state)
    state.mkdir(mode=0o700)
    (state / "compute_id").write_bytes(identity)
    deployment.processes[first].start()
    deployment.wait_until_ready()
    wait_for(lambda: is_up(deployment, first), "it is up again", 60)
    assert statuses(deployment.at_rest(servers)) == {"ACTIVE"}
    for action, status, count in (("os-stop", "SHUTOFF", 0), ("os-start", "ACTIVE", 3)):
        for uuid in servers:
            deployment.act(uuid, action)
        assert statuses(deployment.at_rest(servers)) == {status}
        assert len(places(servers)) == count


def test_a_revert_ends_with_an_older_copy_of_the_state_directory(deployment, servers, tmp_path):
    """Its journal knows nothing of the move; the cell does, and nothing waits for what is lost."""
    first, second = deployment.workloads
    uuid, state = servers[0], deployment.state(first)
    deployment.act(uuid, "os-stop")
    assert statuses(deployment.at_rest([uuid])) == {"SHUTOFF"}
    agent = deployment.processes[first]
    agent.stop()
    older = shutil.copytree(state, tmp_path / "older", symlinks=True)
    agent.start()
    deployment.wait_until_ready()
    deployment.act(uuid, "migrate", {"host": second})
    assert statuses(deployment.at_rest([uuid])) == {"VERIFY_RESIZE"}
    agent.stop()
    shutil.rmtree(state)
    shutil.copytree(older, state, symlinks=True)
    deployment.act(uuid, "revertResize")
    agent.start()
    deployment.wait_until_ready()
    found = deployment.at_rest([uuid])[uuid]
    assert (found["status"], found["OS-EXT-SRV-ATTR:host"]) == ("SHUTOFF", first)
    deployment.act(uuid, "os-start")
    assert statuses(deployment.at_rest([uuid])) == {"ACTIVE"}
    assert places(servers)[uuid] == {first}


BROKER_PAUSE_SECONDS = 40


def test_a_server_runs_once_while_the_broker_stands_still_during_its_move(deployment, servers):
    """The destination begins only when it is certain that the source has ended."""
    _first, second = deployment.workloads
    with running_once(servers):
        for uuid in servers:
            deployment.act(uuid, "migrate", {"host": second})
        wait_for(lambda: second in set().union(*places(servers).values()), "one is there", 60, 0.02)
        deployment.broker.pause()
        try:
            threading.Event().wait(BROKER_PAUSE_SECONDS)  # the fault itself
        finally:
            deployment.broker.go_on()
        deployment.wait_until_ready()
        found = deployment.at_rest(servers, seconds=180)
    assert statuses(found) <= {"ACTIVE", "VERIFY_RESIZE"}
    for uuid, server in found.items():
        host = server["OS-EXT-SRV-ATTR:host"]
        wait_for(lambda uuid=uuid, host=host: places([uuid])[uuid] == {host}, "it runs once", 60)


def test_a_revert_is_repeated_while_connections_to_the_databases_end(deployment, servers):
    """In the middle of transactions, again and again; no server is left in ERROR."""
    first, second = deployment.workloads
    for uuid in servers:
        deployment.act(uuid, "migrate", {"host": second})
    assert statuses(deployment.at_rest(servers)) == {"VERIFY_RESIZE"}
    ended, is_over = 0, threading.Event()
    for uuid in servers:
        deployment.act(uuid, "revertResize")
    for _ in range(20):
        ended += deployment.databases.end_backends()
        is_over.wait(0.25)  # the fault itself
    found = deployment.at_rest(servers, seconds=180)
    assert ended > 0
    assert statuses(found) == {"ACTIVE"}
    assert places(servers) == {uuid: {first} for uuid in servers}
