"""The whole system in one process.

What a user sees of one request, from the front door to the end.
"""

import uuid

import pytest
import requests
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from oslo_config import cfg

from armillary.conf import base as base_conf
from armillary.conf import register
from armillary.conf import tracing as tracing_conf
from armillary.metrics import tracing
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_nothing_is_lost, delete_everything
from tests.fixtures.embedded import embedded_system


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    folder = tmp_path_factory.mktemp("system")
    hosts = [
        "name=sim-{1..3}:vcpus=8:memory_mb=16384:disk_gb=100",
        "name=bad:vcpus=64:memory_mb=131072:disk_gb=1000",
    ]
    with embedded_system(
        folder,
        hosts=4,
        simulated__hosts=hosts,
        simulated__failing_hosts=["bad"],
        tracing__continue_traces_of="all",
    ) as api:
        yield api


@pytest.fixture(scope="module")
def tiny(system):
    return system.create_flavor("tiny", vcpus=1, ram=512)


@pytest.fixture(autouse=True)
def clean(system):
    yield
    delete_everything(system)


def test_one_server_becomes_active_on_an_alternate_of_the_bad_host(system, tiny):
    """The biggest host is chosen first and fails; the next one builds it."""
    (server_id,) = system.create_servers(tiny, 1)
    assert assert_nothing_is_lost(system, [server_id]) == {server_id: "ACTIVE"}
    server = system.get(f"/servers/{server_id}")["server"]
    assert server["OS-EXT-SRV-ATTR:host"].startswith("sim-")


def test_an_explanation_adds_up_to_the_fleet(system, tiny):
    """Ruled out, filtered and left over make all hosts."""
    (server_id,) = system.create_servers(tiny, 1)
    system.settled([server_id])
    trace = system.get(f"/armillary/servers/{server_id}/explain")["explanation"]["trace"]
    ruled_out = sum(item["count"] for item in trace["ruled_out"])
    assert trace["hosts_total"] == 4
    assert ruled_out + trace["candidates"] == trace["hosts_total"]
    assert trace["choices"][0]["shares"]


def test_moves_are_explained_too_and_those_that_find_no_host(system, tiny):
    """The last one first; each with the numbers of its own decision."""
    huge = system.create_flavor("huge", vcpus=1, ram=2_000_000)
    (server_id,) = system.create_servers(tiny, 1)
    system.settled([server_id])
    for action, arguments in (("migrate", None), ("revertResize", None), ("resize", huge)):
        system.act(server_id, action, arguments and {"flavorRef": arguments})
        system.at_rest([server_id])
    path = f"/armillary/servers/{server_id}/explain"
    explained = system.get(path)["explanation"]
    refused, moved, created = explained["decisions"]
    operations = [each["operation"] for each in (refused, moved, created)]
    assert operations == ["resize", "migrate", "create"]
    assert explained["decision"] == refused
    assert refused["host"] is None
    assert "MEMORY_MB" in explained["trace"]["sentence"]
    for each in (moved, created):
        found = system.get(f"{path}?request_id={each['request_id']}")["explanation"]
        assert found["decision"] == each
        assert each["host"] is not None
        assert found["trace"]["choices"][0]["host"] == each["host"]
        assert found["trace"]["request_id"] == each["request_id"]
    assert system.request("GET", f"{path}?request_id=req-typo").status_code == 404


def test_a_request_that_fits_nowhere_ends_with_a_safe_reason(system):
    """The user reads no host name; the operator reads numbers."""
    giant = system.create_flavor("giant", vcpus=1, ram=1_000_000)
    (server_id,) = system.create_servers(giant, 1)
    server = system.settled([server_id])[server_id]
    assert server["status"] == "ERROR"
    assert "No valid host was found" in server["fault"]["message"]
    sentence = system.get(f"/armillary/servers/{server_id}/explain")["explanation"]["trace"][
        "sentence"
    ]
    assert "MEMORY_MB" in sentence
    assert "1,000,000" in sentence


def test_a_dry_run_says_where_and_leaves_nothing(system, tiny):
    """Hosts, alternates and why; or who comes nearest."""
    asked = {"server": {"flavorRef": tiny, "max_count": 2}}
    found = system.post("/armillary/dry-run", asked)["dry_run"]
    assert [len({one["host"], *one["alternates"]}) for one in found["hosts"]] == [3, 3]
    assert len(found["trace"]["choices"]) == 2
    spec = {"flavor": {"vcpus": 1, "memory_mb": 1_000_000}}
    found = system.post("/armillary/dry-run", {"request_spec": spec})["dry_run"]
    assert found["hosts"] == []
    assert found["trace"]["nearest"][0]["host"] == "bad"
    assert system.get("/armillary/allocations")["allocations"] == []


def test_one_trace_shows_a_request_in_all_services(system, tiny):
    """Also after the API has answered: each message belongs to the client's trace."""
    conf, exporter = cfg.ConfigOpts(), InMemorySpanExporter()
    register(conf, base_conf, tracing_conf)
    conf([], default_config_files=[], default_config_dirs=[])
    conf.set_override("endpoint", "http://127.0.0.1:1/v1/traces", "tracing")
    tracing.start(conf, "armillary", exporter=exporter)
    trace = uuid.uuid4().hex
    body = {"server": {"name": "traced", "flavorRef": tiny}}
    headers = {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"}
    try:
        made = system.request("POST", "/servers", json=body, headers=headers).json()["server"]
        system.settled([made["id"]])
    finally:
        tracing.stop()
    spans = [s for s in exporter.get_finished_spans() if f"{s.context.trace_id:032x}" == trace]
    served = {s.attributes.get("rpc.service") for s in spans if s.kind is SpanKind.SERVER}
    assert {"POST /v2.1/servers"} <= {span.name for span in spans}
    assert {"conductor", "scheduler", "placement", "cell_conductor", "compute"} <= served


def test_a_volume_to_boot_from_takes_no_disk_of_the_host(system):
    """Of the flavor's disks only the ephemeral one; the actions are known when it is deleted."""
    flavor = {
        "name": "two-disks",
        "vcpus": 1,
        "ram": 512,
        "disk": 7,
        "OS-FLV-EXT-DATA:ephemeral": 2,
    }
    flavor_id = system.post("/flavors", {"flavor": flavor})["flavor"]["id"]
    device = {"boot_index": 0, "uuid": str(uuid.uuid4()), "source_type": "volume"}
    (server_id,) = system.create_servers(flavor_id, 1, block_device_mapping_v2=[device])
    assert system.settled([server_id])[server_id]["status"] == "ACTIVE"
    (held,) = system.allocations()[server_id].values()
    assert held == {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 2}
    system.delete_servers(server_id)
    actions = system.get(f"/servers/{server_id}/os-instance-actions")["instanceActions"]
    assert [action["action"] for action in actions] == ["delete", "create"]
    older = {"OpenStack-API-Version": "compute 2.20"}
    path = f"/servers/{server_id}/os-instance-actions"
    assert system.request("GET", path, headers=older).status_code == 404


def test_many_instances_of_one_request_are_all_or_nothing(system, tiny):
    """Forty do not fit into 24 + 64 vCPU without overcommit of memory, a hundred do not at all."""
    uuids = system.create_servers(tiny, 20)
    assert set(assert_nothing_is_lost(system, uuids).values()) == {"ACTIVE"}


def test_a_server_can_be_deleted_immediately(system, tiny):
    """Accepted, deleted, gone."""
    (server_id,) = system.create_servers(tiny, 1)
    assert system.request("DELETE", f"/servers/{server_id}").status_code == 204
    wait_for(
        lambda: system.request("GET", f"/servers/{server_id}").status_code == 404,
        "the server is gone",
        30,
    )


def test_members_of_an_anti_affine_group_are_apart(system, tiny):
    """Three members, three good hosts; the late check and the filter agree."""
    group = system.post(
        "/os-server-groups", {"server_group": {"name": "apart", "policy": "anti-affinity"}}
    )["server_group"]["id"]
    answer = system.post(
        "/servers",
        {
            "server": {"name": "apart", "flavorRef": tiny, "min_count": 3, "max_count": 3},
            "os:scheduler_hints": {"group": group},
        },
    )
    settled = system.settled(answer["armillary:servers"])
    hosts = [
        server["OS-EXT-SRV-ATTR:host"]
        for server in settled.values()
        if server["status"] == "ACTIVE"
    ]
    assert len(hosts) == len(set(hosts))
    assert len(hosts) >= 2


def test_a_disabled_host_gets_nothing_new(system, tiny):
    """The trait in placement keeps it out of the candidates."""
    services = system.get("/os-services")["services"]
    (service,) = [s for s in services if s["host"] == "sim-1"]
    system.put(f"/os-services/{service['id']}", {"status": "disabled", "disabled_reason": "test"})
    try:
        uuids = system.create_servers(tiny, 10)
        settled = system.settled(uuids)
        hosts = {server["OS-EXT-SRV-ATTR:host"] for server in settled.values()}
        assert "sim-1" not in hosts
    finally:
        system.put(f"/os-services/{service['id']}", {"status": "enabled"})


def test_an_availability_zone_is_kept(system, tiny):
    """Servers of a zone land on its hosts; an unknown zone is refused and nothing is stored."""
    aggregate = system.post(
        "/os-aggregates", {"aggregate": {"name": "east", "availability_zone": "east"}}
    )["aggregate"]["id"]
    system.post(f"/os-aggregates/{aggregate}/action", {"add_host": {"host": "sim-2"}})
    try:
        uuids = system.create_servers(tiny, 3, availability_zone="east")
        settled = system.settled(uuids)
        assert {s["OS-EXT-SRV-ATTR:host"] for s in settled.values()} == {"sim-2"}
        refused = system.request(
            "POST",
            "/servers",
            json={"server": {"name": "x", "flavorRef": tiny, "availability_zone": "west"}},
        )
        assert refused.status_code == 400
        assert len(system.servers()) == 3
    finally:
        delete_everything(system)
        system.post(f"/os-aggregates/{aggregate}/action", {"remove_host": {"host": "sim-2"}})
        system.request("DELETE", f"/os-aggregates/{aggregate}")


@pytest.mark.parametrize(
    "headers",
    [{"Host": "evil.example:8774"}, {"Origin": "https://evil.example"}],
    ids=["host", "origin"],
)
def test_web_pages_of_other_sites_can_not_use_the_api(system, headers):
    """Neither by DNS rebinding nor by posting to this machine."""
    body = {"flavor": {"name": "theirs", "vcpus": 1, "ram": 64, "disk": 0}}
    answer = requests.post(
        f"{system.api_url}/v2.1/flavors", json=body, headers=headers, timeout=waiting.seconds(60)
    )
    names = {flavor["name"] for flavor in system.get("/flavors")["flavors"]}
    assert (answer.status_code, "theirs" in names) == (403, False)
