"""A cell's conductor that requires signatures, attacked with the key of one of its agents."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import prometheus_client
import pytest

import objects
from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from armillary.logs import line_budget
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.cell_conductor.manager import CellConductorManager
from conductor.common.cell_db import models
from objects.instances.instance_command import BuiltReport
from placement.interface import PlacementAPI
from rpc.transport import Bus
from scheduler.interface import SchedulerAPI
from tests import builders
from tests.fixtures.cell import (
    CELL_UUID,
    SCHEMA,
    Scheduler,
    a_build_request,
    a_conf,
    a_node,
    node_uuid,
)
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.placement.fake_placement import Placement
from tests.fixtures.services.databases import sqlite_with_tables
from tests.fixtures.signing import Authority

CONTEXT = admin_context()
AGENTS = ("victim", "thief")
UNAUTHORIZED = {"topic": "cell_conductor", "reason": "unauthorized"}


class SignedCell:
    """A manager of which each client has a key: two agents with a host of their name each."""

    def __init__(self, directory: Path) -> None:
        objects.register_all()
        self.authority = Authority(directory / "authority")
        self.authority.enrol("cell_conductor", scope=CELL_UUID)
        self.authority.enrol("conductor")
        for agent in AGENTS:
            self.authority.enrol("compute", name=agent, scope=agent)
        conf, name = a_conf(), builders.a_uuid()
        self.url = f"kombu+memory:////cell-{name}"
        top_bus = Bus(conf, f"kombu+memory:////top-{name}")
        self.database = Database(sqlite_with_tables(directory / "cell.sqlite", SCHEMA), name="cell")
        self.manager = CellConductorManager(
            conf, top_bus=top_bus, cell_bus=self.bus("cell_conductor"), database=self.database
        )
        self.placement = Placement()
        self.manager.start()
        self.servers = [
            an_rpc_server(top_bus, PlacementAPI, "p", self.placement),
            an_rpc_server(top_bus, SchedulerAPI, "s", Scheduler()),
            *self.manager.servers(),
        ]
        for server in self.servers:
            server.start()

    def bus(self, name: str) -> Bus:
        return Bus(a_conf(), self.url, message_signer=self.authority.signer(name), scope=CELL_UUID)

    def api(self, name: str) -> CellConductorAPI:
        return CellConductorAPI(self.bus(name), timeout_seconds=60.0)

    def stop(self) -> None:
        for server in self.servers:
            server.stop()
        for server in self.servers:
            server.wait()
        self.manager.stop(5.0)
        self.database.dispose()

    def owners(self) -> dict[str, str | None]:
        with self.database.reader() as session:
            return {row.host: row.agent for row in session.query(models.Service)}

    def refusals(self) -> float:
        name = "armillary_rpc_refused_total"
        return prometheus_client.REGISTRY.get_sample_value(name, UNAUTHORIZED) or 0.0


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedCell]:
    """Return a cell whose agents have reported; the victim's last sign of life is long ago."""
    made = SignedCell(tmp_path_factory.mktemp("cell"))
    for agent in AGENTS:
        api = made.api(agent)
        api.report_services(CONTEXT, agent, [agent], {}, service_version=1)
        (result,) = api.report_compute_nodes(CONTEXT, agent, [a_node(agent)])
        assert result.error is None
    with made.database.writer() as session:
        session.query(models.Service).filter_by(host="victim").update(
            {"last_seen_up": None, "agent_seen_at": None}
        )
    yield made
    made.stop()


@pytest.fixture(scope="module")
def stolen(cell: SignedCell) -> CellConductorAPI:
    """Return a client that signs with the thief's key."""
    return cell.api("thief")


@pytest.fixture
def counted(cell: SignedCell) -> Iterator[None]:
    """Check that one refusal was counted, and that each host is whose it was."""
    before, owners = cell.refusals(), cell.owners()
    yield
    assert cell.refusals() == before + 1
    assert cell.owners() == owners


@pytest.mark.usefixtures("counted")
@pytest.mark.parametrize("host", ["victim", "made-up"])
def test_a_stolen_agents_key_takes_over_no_host(stolen: CellConductorAPI, host: str) -> None:
    """Neither one that fell silent, nor one without a record: the operator is asked."""
    with pytest.raises(exception.HostsNotApproved, match=host):
        stolen.report_services(CONTEXT, "thief", ["thief", host], {}, service_version=1)


def test_a_stolen_agents_key_reads_no_instance_of_another_host(
    cell: SignedCell, stolen: CellConductorAPI
) -> None:
    """Nor the one of its own host if it asks for both."""
    request = a_build_request("victim")
    cell.api("conductor").build_instances(CONTEXT, [request])
    for hosts in (["victim"], ["thief", "victim"]):
        for method in (stolen.list_host_instances, stolen.list_migrating_instances):
            with pytest.raises(exception.Conflict, match="belongs to agent victim"):
                method(CONTEXT, "thief", hosts)
    assert stolen.list_host_instances(CONTEXT, "thief", ["thief", "made-up"]) == []


@pytest.mark.usefixtures("counted")
def test_a_stolen_agents_key_learns_nothing_of_a_group_elsewhere(
    cell: SignedCell, stolen: CellConductorAPI
) -> None:
    """Only of those that have a member on its hosts."""
    group = builders.a_uuid()
    cell.api("conductor").build_instances(CONTEXT, [a_build_request("victim", group_uuid=group)])
    with pytest.raises(exception.NotItsOwn, match=group):
        stolen.list_group_members(CONTEXT, "thief", group)


REPORTS: list[Callable[[CellConductorAPI, str, str], str]] = [
    lambda api, host, uuid: api.builds_succeeded(
        CONTEXT, "thief", [BuiltReport(host, uuid, 1, "running")]
    )[0],
    lambda api, host, uuid: api.instance_deleted(CONTEXT, "thief", host, uuid),
    lambda api, host, uuid: api.instance_ended(CONTEXT, "thief", host, uuid, 1, exit_code=0),
]


@pytest.mark.parametrize("report", REPORTS, ids=["built", "deleted", "ended"])
@pytest.mark.parametrize("host", AGENTS)
def test_a_stolen_agents_key_reports_nothing_of_another_hosts_instance(
    cell: SignedCell,
    stolen: CellConductorAPI,
    report: Callable[[CellConductorAPI, str, str], str],
    host: str,
) -> None:
    """Neither as on its own host nor as on the other's: the report is stale."""
    request = a_build_request("victim")
    cell.api("conductor").build_instances(CONTEXT, [request])
    assert report(stolen, host, request.instance_uuid) == "stale"
    found = cell.api("conductor").get_instance(CONTEXT, request.instance_uuid)
    assert (found.vm_state, found.host) == ("building", "victim")


def nodes(cell: SignedCell) -> dict[str, str]:
    with cell.database.reader() as session:
        return {row.uuid: row.host for row in session.query(models.ComputeNode)}


@pytest.mark.parametrize("whose", ["of-another-host", "of-another-cell"])
def test_a_stolen_agents_key_uses_no_provider_uuid_of_another(
    cell: SignedCell, stolen: CellConductorAPI, whose: str
) -> None:
    """Neither in a second node, nor in the place of its own; nothing is kept of it."""
    before = nodes(cell)
    uuid = node_uuid("victim") if whose == "of-another-host" else builders.a_uuid()
    cell.placement.foreign = {uuid} - {node_uuid("victim")}
    for name in ("second", "thief"):
        reported = a_node("thief", uuid=uuid, node=name)
        (result,) = stolen.report_compute_nodes(CONTEXT, "thief", [reported])
        assert result.error
    assert nodes(cell) == before
    assert uuid not in cell.placement.providers.keys() - before.keys()


def test_a_stolen_agents_key_reports_no_node_of_another_host(
    cell: SignedCell, stolen: CellConductorAPI
) -> None:
    """The host's own node, or a new one of its name."""
    before = nodes(cell)
    for uuid in (node_uuid("victim"), builders.a_uuid()):
        reported = a_node("victim", uuid=uuid)
        (result,) = stolen.report_compute_nodes(CONTEXT, "thief", [reported])
        assert "belongs to agent victim" in str(result.error)
    assert nodes(cell) == before


@pytest.mark.parametrize("trait", ["MISC_SHARES_VIA_AGGREGATE", "CUSTOM_POOL_STORAGE"])
@pytest.mark.parametrize("is_child", [False, True])
def test_a_stolen_agents_key_lets_its_host_serve_no_others(
    cell: SignedCell, stolen: CellConductorAPI, trait: str, is_child: bool
) -> None:
    """Which would have servers of other hosts take its word for CPUs and disks that they lack."""
    before = nodes(cell)
    child = {
        "uuid": builders.a_uuid(), "name": "below", "parent_uuid": node_uuid("thief"),
        "inventories": {}, "traits": [trait],
    }  # fmt: skip
    values = {"child_providers": [child]} if is_child else {"traits": ["COMPUTE_NODE", trait]}
    (result,) = stolen.report_compute_nodes(CONTEXT, "thief", [a_node("thief", **values)])
    assert f"has the trait {trait}" in str(result.error)
    assert nodes(cell) == before
    assert trait not in str(cell.placement.providers)


@pytest.mark.parametrize("name", ["victim", "a-host-to-come"])
def test_a_stolen_agents_key_keeps_no_host_out_by_its_name(
    cell: SignedCell, stolen: CellConductorAPI, name: str
) -> None:
    """A node of its own host has that host's name, or one that the agent is enrolled for."""
    before = nodes(cell)
    reported = a_node("thief", uuid=builders.a_uuid(), node=name)
    (result,) = stolen.report_compute_nodes(CONTEXT, "thief", [reported])
    assert f"node {name} of host thief" in str(result.error)
    assert nodes(cell) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("pci_stats", [5]), ("pci_stats", [{"count": "x"}]), ("pci_reserved", 5),
        ("supported_instances", 5), ("cached_images", 5), ("stats", {"num_proj_p1": 10**400}),
        ("instance_flavors", ["x"]), ("metrics", 5), ("numa_topology", []),
    ],
)  # fmt: skip
def test_a_stolen_agents_key_reports_nothing_that_no_scheduler_can_read(
    cell: SignedCell, stolen: CellConductorAPI, name: str, value: object
) -> None:
    """A scheduler looks at all hosts together: it would choose none any more, in any cell."""
    node = a_node("thief")
    node.attributes = {**node.attributes, name: value}
    (result,) = stolen.report_compute_nodes(CONTEXT, "thief", [node])
    assert f"attribute {name} of node thief" in str(result.error)
    assert_unchanged(cell, name, value)


def test_a_stolen_agents_key_makes_no_push_too_large_to_be_sent(
    cell: SignedCell, stolen: CellConductorAPI
) -> None:
    """With it the other hosts of the cell would be unknown to schedulers, too."""
    node, huge = a_node("thief"), {"user": "x" * 300_000}
    node.attributes = {**node.attributes, "isolation": huge}
    (result,) = stolen.report_compute_nodes(CONTEXT, "thief", [node])
    assert "the attributes of node thief have" in str(result.error)
    assert_unchanged(cell, "isolation", huge)


def assert_unchanged(cell: SignedCell, name: str, value: object) -> None:
    with cell.database.reader() as session:
        (row,) = session.query(models.ComputeNode).filter_by(host="thief")
        assert row.attributes.get(name) != value


def test_a_stolen_agents_key_fills_no_disk_by_stale_reports(
    stolen: CellConductorAPI, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of their lines some are written, others are counted."""
    monkeypatch.setattr(line_budget, "AT_ONCE_MAX", 3)
    caplog.set_level(logging.INFO)
    for _ in range(20):
        told = stolen.instance_ended(CONTEXT, "thief", "thief", builders.a_uuid(), 1, exit_code=1)
        assert told == "stale"
    lines = [each for each in caplog.messages if "instance_ended of attempt" in each]
    assert 3 <= len(lines) < 10
