"""The cell conductor as a service: its endpoints on real buses, asked by real clients."""

import functools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

import objects
from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.db import Database
from armillary.db.database_clock import DatabaseClock
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor import manager
from conductor.cell_conductor.interface import CellConductorAPI, HostStatesAPI
from conductor.cell_conductor.manager import CellConductorManager
from conductor.common.cell_db import host_requests, models, services
from objects.flavor import Flavor
from objects.hosts.host_answers import ServiceChanges
from objects.instance import Instance
from objects.instances.instance_command import BuiltReport
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_filters import ServerFilters
from objects.request_spec import RequestSpec
from placement.interface import PlacementAPI
from rpc.transport import Bus
from scheduler.interface import SchedulerAPI
from tests import builders
from tests.fixtures.asking import wait_for
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
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.services.databases import fresh_database, sqlite_with_tables

SECONDS_MAX = 60.0


class RecordingAgent:
    """Notes what it is asked to do."""

    def __init__(self) -> None:
        self.builds: list[Instance] = []
        self.deletes: list[str] = []

    def build_instances(
        self, context: RequestContext, instances: list[Instance], request_specs: list[RequestSpec]
    ) -> None:
        self.builds += instances

    def delete_instance(self, context: RequestContext, instance_uuid: str, host: str) -> None:
        self.deletes.append(instance_uuid)


class Running:
    """A manager with its servers started, and what it talks to, on two brokers in memory."""

    def __init__(self, url: str) -> None:
        objects.register_all()
        self.conf = a_conf()
        name = builders.a_uuid()
        self.top_bus = Bus(self.conf, f"kombu+memory:////top-{name}")
        self.cell_bus = Bus(self.conf, f"kombu+memory:////cell-{name}")
        self.database = Database(url, name="cell")
        self.manager = CellConductorManager(
            self.conf, top_bus=self.top_bus, cell_bus=self.cell_bus, database=self.database
        )
        self.placement, self.scheduler, self.agent = Placement(), Scheduler(), RecordingAgent()
        self.manager.start()
        self.servers = [
            an_rpc_server(self.top_bus, PlacementAPI, "p", self.placement),
            an_rpc_server(self.top_bus, SchedulerAPI, "s", self.scheduler),
            an_rpc_server(self.cell_bus, ComputeAPI, "agent", self.agent),
            *self.manager.servers(),
        ]
        for server in self.servers:
            server.start()
        self.api = CellConductorAPI(self.cell_bus, timeout_seconds=SECONDS_MAX)
        self.host_states = HostStatesAPI(self.top_bus, timeout_seconds=SECONDS_MAX)

    def stop(self) -> None:
        for server in self.servers:
            server.stop()
        for server in self.servers:
            server.wait()
        self.manager.stop(5.0)
        self.database.dispose()

    def periodic(self, name: str) -> Any:
        """Run one of the periodic tasks now."""
        return next(task for task in self.manager.periodic_tasks() if task.name == name).fn()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Return a manager that serves, with agent `agent` carrying host `a`."""
    made = Running(sqlite_with_tables(tmp_path_factory.mktemp("cell") / "cell.sqlite", SCHEMA))
    made.api.report_services(admin_context(), "agent", ["a"], {}, service_version=1)
    made.api.report_compute_nodes(admin_context(), "agent", [a_node("a")])
    yield made
    made.stop()


def until(condition: Callable[[], Any]) -> Any:
    """Return what a condition says once it says something true."""
    return wait_for(condition, "the condition is true", SECONDS_MAX, 0.01)


def build(running: Running) -> Instance:
    """Hand over a request for host a; return the instance as its agent got it."""
    request = a_build_request("a")
    running.api.build_instances(admin_context(), [request])
    return until(
        lambda: next((i for i in running.agent.builds if i.uuid == request.instance_uuid), None)
    )


def build_active(running: Running) -> Instance:
    instance = build(running)
    built = BuiltReport("a", instance.uuid, 1, "running")
    running.api.builds_succeeded(admin_context(), "agent", [built])
    return instance


@pytest.mark.postgresql
def test_a_wrong_clock_of_a_conductor_harms_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts would all be down, and leases free, for a conductor that is an hour fast."""
    an_hour_fast = functools.partial(DatabaseClock, here=lambda: time.time() + 3600)
    monkeypatch.setattr(manager, "DatabaseClock", an_hour_fast)
    with fresh_database(POSTGRESQL, SCHEMA) as url:
        made = Running(url)
        made.api.report_services(admin_context(), "agent", ["a"], {}, service_version=1)
        with made.database.reader() as session:
            heard_at = session.scalars(sa.select(models.Service.last_seen_up)).one()
        made.stop()
    assert heard_at is not None
    assert abs(heard_at.timestamp() - time.time()) < SECONDS_MAX


def test_an_instance_is_built_shown_and_deleted_over_rpc(running: Running) -> None:
    """From the handing over to the end of its record, each side through its client."""
    context = admin_context()
    instance = build_active(running)
    shown = running.api.get_instance(context, instance.uuid)
    assert (shown.vm_state, shown.host, shown.cell_uuid) == ("active", "a", CELL_UUID)
    running.api.delete_instance(context, instance.uuid)
    until(lambda: instance.uuid in running.agent.deletes)
    assert running.api.instance_deleted(context, "agent", "a", instance.uuid) == "accepted"
    until(lambda: _is_gone(running, instance.uuid))
    assert instance.uuid not in running.placement.held


def test_a_failed_build_ends_in_error_over_rpc(running: Running) -> None:
    """The fault crosses, and the works go on after the answer."""
    instance = build(running)
    fault = InstanceFault.from_values(instance_uuid=instance.uuid, message="No.", details="no")
    answer = running.api.build_failed(
        admin_context(), "agent", "a", instance.uuid, 1, fault=fault, retry=True
    )
    assert answer == "accepted"
    until(lambda: running.api.get_instance(admin_context(), instance.uuid).vm_state == "error")
    faults = running.api.list_instance_faults(admin_context(), instance.uuid)
    assert [found.attempt for found in faults] == [1, 0]


def test_an_ended_workload_is_told_over_rpc(running: Running) -> None:
    """Stopped, with its exit code."""
    instance = build_active(running)
    answer = running.api.instance_ended(
        admin_context(), "agent", "a", instance.uuid, 1, exit_code=4
    )
    assert answer == "accepted"
    assert running.api.get_instance(admin_context(), instance.uuid).exit_code == 4


def test_what_was_told_of_a_guest_is_not_told_again_by_a_late_message(running: Running) -> None:
    """Any broker may deliver it twice; the guest has ended, or was started, since."""
    uuid = build_active(running).uuid
    ended, begun, ended_again = (admin_context() for _ in range(3))

    def end(context: RequestContext) -> str:
        return running.api.instance_ended(context, "agent", "a", uuid, 1, exit_code=4)

    def begin(context: RequestContext) -> str:
        return running.api.power_changed(
            context, "agent", "a", uuid, 1, power_state="running", reason=None
        )

    def state_after(tell: Callable[[RequestContext], str], context: RequestContext) -> str:
        assert tell(context) == "accepted"
        return running.api.get_instance(admin_context(), uuid).vm_state

    assert state_after(end, ended) == "stopped"
    assert state_after(begin, begun) == "active"
    assert state_after(end, ended) == "active"
    assert state_after(end, ended_again) == "stopped"
    assert state_after(begin, begun) == "stopped"


def test_what_a_super_conductor_asks_for_is_answered(running: Running) -> None:
    """Lists, hosts, actions."""
    context = admin_context()
    instance = build_active(running)
    listed = running.api.list_instances(context, filters=ServerFilters(project_id="p1"), limit=1000)
    assert instance.uuid in [found.uuid for found in listed]
    assert running.api.find_instance_hosts(context, [instance.uuid]) == {instance.uuid: "a"}
    assert set(running.api.find_hosts_in_use(context, ["a", "b"])) == {"a"}
    assert [use.host for use in running.api.list_zone_uses(context) if use.host] == ["a"]
    [action] = running.api.list_instance_actions(context, instance.uuid)
    assert [event.host for event in action.events] == ["a"]
    [node] = running.api.list_compute_nodes(context)
    assert node.host == "a"
    assert running.api.list_known_hosts(context) == {"a": [node.uuid]}
    [service] = running.api.list_services(context)
    assert (service.host, service.up) == ("a", True)
    [same] = running.api.find_compute_services(context, ["a", "b"])
    assert same.to_plain() == service.to_plain()
    names = running.api.list_instances_on_hosts(context, ["a", "b"])
    assert (instance.uuid, instance.name, "a") in [(one.uuid, one.name, one.host) for one in names]


def test_what_an_agent_asks_for_is_answered(running: Running) -> None:
    """What should be on its hosts, and who else is in a group."""
    instance = build_active(running)
    listed = running.api.list_host_instances(admin_context(), "agent", ["a"])
    assert instance.uuid in [found.uuid for found in listed]
    group = builders.a_uuid()
    request = a_build_request("a", group_uuid=group)
    running.api.build_instances(admin_context(), [request])
    members = running.api.list_group_members(admin_context(), "agent", group)
    assert members == {request.instance_uuid: "a"}


def test_who_carries_no_host_learns_nothing_of_groups(running: Running) -> None:
    """Any sender can name itself; only agents of this cell have a reason to ask."""
    with pytest.raises(exception.Forbidden, match="stranger"):
        running.api.list_group_members(admin_context(), "stranger", builders.a_uuid())


def test_errors_arrive_as_what_they_are(running: Running) -> None:
    """A caller can act on their class."""
    with pytest.raises(exception.InstanceNotFound):
        running.api.get_instance(admin_context(), builders.a_uuid())
    with pytest.raises(exception.ServiceNotFound):
        running.api.update_service(admin_context(), "no-such", ServiceChanges(disabled=True))
    with pytest.raises(exception.Conflict, match="agent-2"):
        running.api.report_services(admin_context(), "agent-2", ["a"], {}, service_version=1)


def test_a_service_is_changed_and_removed_over_rpc(running: Running) -> None:
    """As an operator does it."""
    context = admin_context()
    running.api.report_services(context, "other", ["b"], {}, service_version=1)
    running.api.report_compute_nodes(context, "other", [a_node("b")])
    uuid = next(s.uuid for s in running.api.list_services(context) if s.host == "b")
    assert running.api.update_service(context, uuid, ServiceChanges(disabled=True)).disabled
    assert running.api.delete_service(context, uuid) == "b"
    assert node_uuid("b") not in running.placement.providers


def test_host_states_are_served_on_the_top_broker_by_the_cell_s_uuid(running: Running) -> None:
    """All rows for who knows nothing."""
    batch = running.host_states.get_host_states(admin_context(), CELL_UUID, after_seq=0)
    assert (batch.full, batch.hosts) == (True, ["a"])


def test_changes_are_pushed_to_every_scheduler(running: Running) -> None:
    """By the periodic task, as a fanout."""
    running.periodic("push-host-states")
    instance = build(running)
    running.periodic("push-host-states")
    until(
        lambda: any(
            instance.uuid in batch.attributes["instance_uuids"][0]
            for batch in running.scheduler.batches
            if batch.node_uuids
        )
    )


def test_objects_are_rewritten_for_older_peers(running: Running) -> None:
    """The answer is in wire form, for the caller to read."""
    versions = {"Flavor": "1.0"}
    found = running.api.object_backport_versions(admin_context(), builders.a_flavor(), versions)
    flavor = Flavor.obj_from_primitive(found)
    assert (flavor.VERSION, flavor.name) == ("1.0", "small")


@pytest.mark.parametrize(
    "task", ["recover", "watch-services", "confirm-providers", "purge-deleted"]
)
def test_every_periodic_task_can_run(running: Running, task: str) -> None:
    """On an idle cell it finds little to do, and breaks nothing."""
    assert running.periodic(task) >= 0


def test_works_that_find_no_room_are_left_to_recovery(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer does not wait for a full queue, and nothing is lost."""
    pool = running.manager._pool
    monkeypatch.setattr(pool, "_closed", True)
    request = a_build_request("a")
    running.api.build_instances(admin_context(), [request])
    assert request.instance_uuid not in [i.uuid for i in running.agent.builds]
    monkeypatch.undo()
    running.periodic("recover")
    until(lambda: request.instance_uuid in [i.uuid for i in running.agent.builds])


def test_a_conductor_without_a_cell_does_not_start(tmp_path: Path) -> None:
    """The error names the option and the command that shows the value."""
    conf = a_conf()
    conf.clear_override("uuid", group="cell")
    with pytest.raises(exception.ConfigurationError, match=r"\[cell\] uuid.*cell list"):
        CellConductorManager(conf, top_bus=None, cell_bus=None, database=None)  # type: ignore[arg-type]


def test_a_database_of_another_release_stops_the_start(running: Running, tmp_path: Path) -> None:
    """The error says what to run."""
    database = Database(f"sqlite:///{tmp_path}/empty.sqlite", name="cell")
    manager = CellConductorManager(
        running.conf, top_bus=running.top_bus, cell_bus=running.cell_bus, database=database
    )
    with pytest.raises(exception.ConfigurationError, match="db sync"):
        manager.start()


def _is_gone(running: Running, uuid: str) -> bool:
    try:
        running.api.get_instance(admin_context(), uuid)
    except exception.InstanceNotFound:
        return True
    return False


def test_late_repeats_of_who_has_a_host_change_nothing(running: Running) -> None:
    """An operator has given it to another agent since, or has not released it again."""
    first, release = admin_context(), admin_context()
    running.api.approve_host(first, "new", "agent1")
    running.api.approve_host(admin_context(), "new", "agent2")
    running.api.report_services(admin_context(), "agent3", ["c"], {}, service_version=1)
    running.api.release_host(release, "c")
    running.api.approve_host(admin_context(), "c", "agent3")
    running.api.approve_host(first, "new", "agent1")
    running.api.release_host(release, "c")
    with running.database.reader() as session:
        assert not services.find_by_hosts(session, ["c"])["c"].is_released
        assert host_requests.approved_agents(session, ["new"]) == {"new": "agent2"}
