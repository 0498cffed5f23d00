"""One scenario on real processes, a real broker and real databases, with each backend.

It is the compose file's layout: an API, a super conductor, two schedulers, placement, two cells
with a conductor and two agents each; one host fails all its builds.
"""

import json
import time

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import (
    assert_all_active,
    assert_nothing_is_lost,
    delete_everything,
    expected_allocations,
)
from tests.fixtures.deployment import BAD_HOST, two_cells
from tests.fixtures.plugins.sampling import TAKES_ALL
from tests.fixtures.services import MARIADB, POSTGRESQL
from tests.fixtures.services.brokers import rabbitmqctl
from tests.fixtures.waiting import seconds

pytestmark = pytest.mark.rabbitmq

GONE_SECONDS_MAX = 2.0
REQUESTS = 25 if TAKES_ALL else 10

VARIANTS = [
    pytest.param((POSTGRESQL, "threading"), marks=pytest.mark.postgresql, id="postgresql-threads"),
    pytest.param(
        (MARIADB, "eventlet"), marks=[pytest.mark.mariadb, pytest.mark.long], id="mariadb-eventlet"
    ),
]


@pytest.fixture(scope="module", params=VARIANTS)
def deployment(request, tmp_path_factory):
    databases, backend = request.param
    folder = tmp_path_factory.mktemp("deployment")
    with two_cells(folder, databases, backend=backend) as running:
        running.errors_at_start = running.errors()
        yield running


@pytest.fixture(autouse=True)
def clean(deployment):
    """Leave nothing to the next test."""
    yield
    delete_everything(deployment)


@pytest.fixture(scope="module")
def small(deployment):
    return deployment.create_flavor("small", vcpus=1, ram=512, disk=2)


@pytest.mark.long
def test_a_delete_that_crosses_the_end_of_a_build_is_over_immediately(deployment, small):
    """Within two seconds server and allocations are gone, at whatever moment the delete comes."""
    late = {}
    for number in range(40):
        (uuid,) = deployment.create_servers(small, 1)
        time.sleep(number % 20 * 0.05)  # builds take 0.2 to 0.6 s here, on their host alone
        asked_at = time.monotonic()
        assert deployment.request("DELETE", f"/servers/{uuid}").status_code == 204
        wait_for(lambda gone=uuid: is_gone(deployment, gone), f"{uuid} is gone", 30, 0.02)
        took = time.monotonic() - asked_at
        if took > seconds(GONE_SECONDS_MAX):
            late[uuid] = took
    assert not late
    assert deployment.allocations() == {}


def is_gone(deployment, uuid):
    """Whether a server and what it held are gone: one may be seen to go before the other."""
    is_found = deployment.request("GET", f"/servers/{uuid}").status_code != 404
    return not is_found and uuid not in deployment.allocations()


def test_many_instances_become_active(deployment, small):
    """All are built, in both cells, and placement holds what they use; no start logs an error.

    Four a request: a host selected for a request cannot be an alternate in it, and each needs some.
    """
    assert deployment.errors_at_start == []
    uuids = [uuid for _ in range(REQUESTS) for uuid in deployment.create_servers(small, 4)]
    assert_all_active(deployment, uuids)
    cells = {server["OS-EXT-SRV-ATTR:host"].partition("-")[0] for server in deployment.servers()}
    assert cells == {"cell1", "cell2"}


def test_a_bad_host_is_left_for_an_alternate(deployment, small):
    """The favourite host fails its builds: they end elsewhere, with the attempt that worked."""
    (instance_uuid,) = deployment.create_servers(small, 1)
    assert_nothing_is_lost(deployment, [instance_uuid])
    server = deployment.get(f"/servers/{instance_uuid}")["server"]
    assert server["status"] == "ACTIVE"
    assert server["OS-EXT-SRV-ATTR:host"] != BAD_HOST


def test_what_fits_nowhere_says_why(deployment):
    """The user gets a safe reason, the operator one sentence with numbers."""
    flavor = deployment.create_flavor("giant", vcpus=1, ram=10_000_000)
    (instance_uuid,) = deployment.create_servers(flavor, 1)
    assert assert_nothing_is_lost(deployment, [instance_uuid]) == {instance_uuid: "ERROR"}
    explained = deployment.get(f"/armillary/servers/{instance_uuid}/explain")
    assert "MEMORY_MB" in explained["explanation"]["trace"]["sentence"]


def test_a_delete_in_the_middle_of_a_build_leaves_nothing(deployment, small):
    """Deleted immediately after it was accepted: gone, and no allocation is left."""
    uuids = deployment.create_servers(small, 20)
    for instance_uuid in uuids:
        assert deployment.request("DELETE", f"/servers/{instance_uuid}").status_code == 204
    delete_everything(deployment)
    assert deployment.request("GET", f"/servers/{uuids[0]}").status_code == 404


def test_a_server_goes_through_all_that_can_be_done_to_it(deployment, small):
    """Off and on, another flavor, other hosts, put away and brought back: one allocation, its own.

    Each is asked through the API and carried out by an agent; only a resize that waits holds two.
    """
    big = deployment.create_flavor("big", vcpus=2, ram=1024, disk=2)
    (uuid,) = deployment.create_servers(small, 1)
    assert_all_active(deployment, [uuid])
    story = [
        ("os-stop", None, "SHUTOFF"),
        ("os-start", None, "ACTIVE"),
        ("reboot", {"type": "HARD"}, "ACTIVE"),
        ("resize", {"flavorRef": big}, "VERIFY_RESIZE"),
        ("revertResize", None, "ACTIVE"),
        ("resize", {"flavorRef": big}, "VERIFY_RESIZE"),
        ("confirmResize", None, "ACTIVE"),
        ("os-migrateLive", None, "ACTIVE"),
        ("migrate", None, "VERIFY_RESIZE"),
        ("confirmResize", None, "ACTIVE"),
        ("shelve", None, "SHELVED"),
        ("shelveOffload", None, "SHELVED_OFFLOADED"),
        ("unshelve", None, "ACTIVE"),
    ]
    for action, arguments, status in story:
        deployment.act(uuid, action, arguments)
        server = deployment.at_rest([uuid])[uuid]
        assert server["status"] == status, (action, server, deployment.why(uuid))
        consumers = 2 if status == "VERIFY_RESIZE" else int(status != "SHELVED_OFFLOADED")
        assert len(deployment.allocations()) == consumers
    assert deployment.allocations() == expected_allocations(deployment)
    moves = deployment.get(f"/servers/{uuid}/migrations")["migrations"]
    # Those of one second come in any order.
    assert sorted((move["migration_type"], move["status"]) for move in moves) == [
        ("live-migration", "completed"),
        ("migration", "confirmed"),
        ("resize", "confirmed"),
        ("resize", "reverted"),
    ]
    begun = [move["created_at"] for move in moves]
    assert begun == sorted(begun, reverse=True)
    assert_each_move_is_explained(deployment, uuid)


def assert_each_move_is_explained(deployment, uuid):
    """What was decided about it, the last move first, each with a trace of its own."""
    path = f"/armillary/servers/{uuid}/explain"
    explained = deployment.get(path)["explanation"]
    decisions = explained["decisions"]
    assert [each["operation"] for each in decisions] == [
        "unshelve", "migrate", "live-migration", "resize", "resize", "create",
    ]  # fmt: skip
    assert explained["decision"]["host"] == explained["server"]["host"]
    for each in decisions:
        found = deployment.get(f"{path}?request_id={each['request_id']}")["explanation"]
        assert found["decision"] == each
        (choice,) = found["trace"]["choices"]
        assert choice["host"] == each["host"]


def test_no_queue_is_of_a_kind_that_newer_brokers_refuse(deployment, small):
    """RabbitMQ 4 takes no transient queue that several connections may use: there is none."""
    deployment.settled(deployment.create_servers(small, 2))
    queues = [queue for vhost in deployment.virtual_hosts() for queue in queues_of(vhost)]
    assert {"scheduler", "placement", "conductor", "cell_conductor"} <= {q["name"] for q in queues}
    refused = [q for q in queues if not q["durable"] and not q["exclusive"]]
    assert refused == []


def queues_of(vhost):
    columns = ["name", "type", "durable", "exclusive"]
    return json.loads(rabbitmqctl("--formatter", "json", "list_queues", "-p", vhost, *columns))
