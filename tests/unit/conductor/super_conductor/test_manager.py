"""Tests of the super conductor as a whole, on brokers in memory."""

import time
from pathlib import Path

import pytest
from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from conductor.common.leases import Leases
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.db import models
from conductor.super_conductor.manager import SuperConductorManager
from objects.instances.new_servers import NewServers
from objects.instances.server_filters import ServerFilters
from placement.interface import PlacementAPI
from rpc.transport import Bus
from tests import builders
from tests.fixtures.asking import wait_for
from tests.fixtures.control_plane import RunningConductor, a_user, an_admin, control_plane_conf
from tests.fixtures.messages.direct_bus import Breaker, DirectBus


@pytest.fixture(scope="module", autouse=True)
def flavor(running: RunningConductor) -> None:
    running.api.create_flavor(an_admin(), builders.a_flavor())


def create(running: RunningConductor) -> str:
    request = NewServers("web", "small")
    answer = running.api.create_servers(a_user(), request)
    return answer.instance_uuids[0]


def test_a_server_goes_from_request_to_cell_and_away(running: RunningConductor) -> None:
    """Through real messages and a worker of its own."""
    uuid = create(running)
    wait_for(
        lambda: running.api.get_server(a_user(), uuid).vm_state == "active", "it is active", 20
    )
    assert (
        running.api.list_servers(a_user(), filters=ServerFilters(), limit=10).instances[0].uuid
        == uuid
    )
    trace = running.api.explain_server(a_user(), uuid).trace
    assert trace
    assert trace["hosts_total"] == 1
    running.api.delete_server(a_user(), uuid)
    with pytest.raises(exception.InstanceNotFound):
        running.api.get_server(a_user(), uuid)
    assert running.placement.held == {}


def test_an_error_of_ours_arrives_as_it_was_raised(running: RunningConductor) -> None:
    """With its facts."""
    with pytest.raises(exception.FlavorNotFound) as raised:
        running.api.get_flavor(a_user(), "none")
    assert raised.value.kwargs == {"flavor": "none"}


def test_periodic_tasks_have_what_they_need(running: RunningConductor) -> None:
    """Each can be done, and again."""
    tasks = running.manager.periodic_tasks()
    assert tasks
    for task in tasks:
        assert task.is_enabled
        task.fn()
        task.fn()


def test_hosts_are_discovered_and_told(running: RunningConductor) -> None:
    """A new host needs no hand."""
    running.cell.add_host("fresh")
    running.run_task("discover-hosts")
    made = running.api.create_aggregate(an_admin(), "rack", "east")
    assert running.api.add_aggregate_host(an_admin(), made.uuid, "fresh").hosts == ["fresh"]
    assert len(running.placement.aggregates[made.uuid]) == 1
    wait_for(lambda: running.scheduler.cluster_metadata, "schedulers were told", 20)


def test_work_of_a_dead_conductor_is_taken_up(running: RunningConductor) -> None:
    """It accepted a request and died; its lease ran out."""
    leases = Leases(
        models.Reservation, models.Reservation.reservation_id, owner="dead", lease_seconds=-1,
        now=time.time,
    )  # fmt: skip
    reader = PlacedUsageReader(running.conf, running.database, PlacementAPI(DirectBus(Breaker())))
    acceptance = Acceptance(
        running.conf, running.database, leases, now=time.time, placed_usage=reader
    )
    accepted = acceptance.accept(a_user(), NewServers("web", "small"))
    uuid = accepted.instances[0].uuid
    running.run_task("recover-builds")
    wait_for(
        lambda: running.api.get_server(a_user(), uuid).vm_state == "active", "it is active", 20
    )


def a_manager(conf: cfg.ConfigOpts, tmp_path: Path) -> SuperConductorManager:
    return SuperConductorManager(
        conf,
        top_bus=Bus(conf, "kombu+memory:////none"),
        make_bus=lambda url, _scope: Bus(conf, url),
        api_database=Database(f"sqlite:///{tmp_path}/api.sqlite", name="api"),
        cell0_database=Database(f"sqlite:///{tmp_path}/cell0.sqlite", name="cell0"),
    )


def test_a_database_without_its_tables_stops_the_start(tmp_path: Path) -> None:
    """One line says what to do."""
    manager = a_manager(control_plane_conf(), tmp_path)
    with pytest.raises(exception.ConfigurationError, match="db sync"):
        manager.start()
    manager.stop(1)


def test_a_bad_alias_stops_the_start(tmp_path: Path) -> None:
    """With the option and its text."""
    conf = control_plane_conf()
    conf.set_override("alias", ["{nic}"], group="pci")
    manager = a_manager(conf, tmp_path)
    with pytest.raises(exception.ConfigurationError, match=r"\[pci\] alias '{nic}'"):
        manager.start()
    manager.stop(1)
