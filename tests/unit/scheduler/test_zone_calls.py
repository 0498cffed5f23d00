"""Answers of a named zone's scheduler over RPC, and in the process of its caller."""

import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.interface import HostStatesAPI
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.zones.interface import ZoneAPI, ZoneSummariesAPI
from objects.destinations import Destinations
from objects.packed.scheduling_batch import BatchedRequest, SchedulingBatch
from objects.zones.zone_query import ZoneQuery
from objects.zones.zone_summary import ProviderCapabilities, ZoneSummary
from placement.interface import PlacementAPI
from rpc.endpoints import local
from rpc.server import RpcServer
from rpc.transport import Bus
from scheduler.interface import SchedulerAPI
from scheduler.manager import SchedulerManager
from tests.builders import a_flavor, a_uuid
from tests.fixtures.asking import wait_for
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.zones.zone_trees import Zone
from tests.fleets import (
    CELL,
    OTHER_CELL,
    ArrayPlacement,
    a_request_spec,
    scheduling_conf,
    some_hosts,
)
from tests.unit.scheduler.test_manager import (
    ConductorEndpoint,
    HostStatesEndpoint,
    PlacementEndpoint,
)


class Placement(PlacementEndpoint):
    def get_summary(self, context: Any, excluded: Any, without_traits: Any) -> ProviderCapabilities:
        return ProviderCapabilities({"VCPU": 16}, ["CUSTOM_A"], providers=3)


class Parent:
    """Who listens to what the zone pushes."""

    def __init__(self) -> None:
        self.heard: list[ZoneSummary] = []

    def update_summary(self, context: Any, summary: ZoneSummary) -> None:
        self.heard.append(summary)


class Conductor(ConductorEndpoint):
    """A super conductor that knows of child zones, and of cells that do not answer."""

    def __init__(self, zones: list[dict[str, Any]], dead_cells: list[str]) -> None:
        super().__init__()
        self._zones = zones
        self._dead = [{"uuid": uuid, "name": uuid, "disabled": False} for uuid in dead_cells]

    def get_cluster_metadata(self, context: object) -> dict[str, Any]:
        cluster_metadata = super().get_cluster_metadata(context)
        return {
            **cluster_metadata,
            "cells": [*cluster_metadata["cells"], *self._dead],
            "zones": self._zones,
        }


class Child:
    """The border of a child zone, on the child's own broker."""

    def __init__(self, zone: Zone) -> None:
        self.zone = zone
        self.pushes = True
        self.asked_by: list[str | None] = []
        self.url = f"kombu+memory:////{uuid.uuid4()}"
        self.bus = Bus(zone.conf, self.url)

    def select_hosts(self, context: Any, query: ZoneQuery) -> Any:
        self.asked_by.append(context.asked_by)
        return self.zone.search.answer(context, query)

    def refresh(self, context: Any) -> None:
        if self.pushes:
            ZoneSummariesAPI(self.bus).update_summary(context, self.zone.summary())


class Deployment:
    """A scheduler with all that it asks, on a broker of its own."""

    def __init__(
        self,
        zones: list[dict[str, Any]] | None = None,
        dead_cells: list[str] | None = None,
        **options: Any,
    ) -> None:
        self.conf = scheduling_conf(**options)
        self.bus = Bus(self.conf, f"kombu+memory:////{uuid.uuid4()}")
        conductor = Conductor(zones or [], dead_cells or [])
        self.hosts = conductor.hosts
        self.placement = ArrayPlacement(conductor.hosts)
        self.parent = Parent()
        placement = Placement(self.placement)
        self.servers: list[RpcServer] = [
            an_rpc_server(self.bus, PlacementAPI, "p", placement),
            an_rpc_server(self.bus, SuperConductorAPI, "c", conductor),
            an_rpc_server(self.bus, HostStatesAPI, CELL, HostStatesEndpoint(conductor)),
            an_rpc_server(self.bus, ZoneSummariesAPI, "above", self.parent),
        ]
        self.manager = SchedulerManager(
            self.conf, top_bus=self.bus, make_bus=lambda url, _scope: Bus(self.conf, url)
        )
        self.servers += self.manager.servers()
        for server in self.servers:
            server.start()
        self.manager.start()
        self.api = SchedulerAPI(self.bus, timeout_seconds=20)

    def call(self, task: str) -> None:
        """Let a periodic task have its turn."""
        tasks = {each.name: each for each in self.manager.periodic_tasks()}
        tasks[task].fn()

    def query(self, **values: Any) -> ZoneQuery:
        return Zone("any").query(**values)

    def close(self) -> None:
        def stop(server: RpcServer) -> None:
            server.stop()
            server.wait()

        with ThreadPoolExecutor() as pool:
            list(pool.map(stop, self.servers))
        self.manager.stop(5.0)
        self.bus.close()


MakeDeployment = Callable[..., Deployment]


@pytest.fixture
def deploy() -> Iterator[MakeDeployment]:
    made: list[Deployment] = []

    def make(*arguments: Any, **options: Any) -> Deployment:
        made.append(Deployment(*arguments, **options))
        return made[-1]

    yield make
    for each in made:
        each.close()


def select(api: Any, **values: Any) -> Destinations:
    found: Destinations = api.select_destinations(
        admin_context("req-1"),
        values.pop("spec", None) or a_request_spec(),
        [a_uuid()],
        fences=[1000],
        **values,
    )
    return found


def test_a_named_zone_answers_a_parent(deploy: MakeDeployment) -> None:
    """BZ-43: with any driver that filters and weighs; nothing is claimed."""
    zone = deploy(zones__name="leaf")
    answer = zone.api.select_for_zone(admin_context(), zone.query())
    assert sorted(answer.host_ids) == sorted(host.uuid for host in zone.hosts)
    assert not zone.placement.consumers


def test_a_deployment_without_a_name_is_not_a_zone(deploy: MakeDeployment) -> None:
    """BZ-05: it answers no parent and pushes nothing."""
    alone = deploy()
    with pytest.raises(exception.Invalid, match=r"\[zones\] name is not set"):
        alone.api.select_for_zone(admin_context(), alone.query())
    assert alone.api.get_zones(admin_context()) == {"own": None, "zones": []}
    alone.api.refresh_zones(admin_context())
    assert "zones" not in {task.name for task in alone.manager.periodic_tasks()}
    assert alone.parent.heard == []


def test_a_zone_pushes_to_any_zone_above(deploy: MakeDeployment) -> None:
    """BZ-27: once its hosts are known, on its own broker."""
    zone = deploy(zones__name="leaf")
    wait_for(lambda: zone.manager._sync.is_complete, "the hosts are known", 15)
    zone.call("zones")
    wait_for(lambda: zone.parent.heard, "the summary came", 15)
    (summary,) = zone.parent.heard
    assert (summary.zone, summary.counts["hosts"]) == ("leaf", 3)
    assert summary.capabilities["resources"] == {"VCPU": 16}
    own = zone.api.get_zones(admin_context())["own"]
    assert own is not None
    assert own.seq == summary.seq


def test_a_cell_that_is_away_does_not_silence_its_zone(deploy: MakeDeployment) -> None:
    """BZ-65: the other hosts are there, whichever process was started when."""
    zone = deploy(dead_cells=[OTHER_CELL], zones__name="leaf", scheduler__sync_timeout_seconds=1)

    def pushed() -> bool:
        zone.call("zones")
        return bool(zone.parent.heard)

    wait_for(pushed, "the summary came", 15)
    assert zone.parent.heard[0].counts["hosts"] == 3


def test_a_zone_that_is_left_alone_tells_what_it_knows(deploy: MakeDeployment) -> None:
    """BZ-08, BZ-20: conductor, cells and placement end; what it has of them answers."""
    zone = deploy(zones__name="leaf")
    wait_for(lambda: zone.manager._sync.is_complete, "the hosts are known", 15)
    zone.api.refresh_zones(admin_context())
    for server in zone.servers[:3]:
        server.stop()
        server.wait()
    zone.call("zones")
    own = zone.api.get_zones(admin_context())["own"]
    assert own is not None
    assert own.counts["hosts_up"] == 3
    assert own.capabilities["attributes"]


def test_a_push_can_be_asked_for(deploy: MakeDeployment) -> None:
    """BZ-30: over RPC."""
    zone = deploy(zones__name="leaf")
    wait_for(lambda: zone.manager._sync.is_complete, "the hosts are known", 15)
    zone.api.refresh_zones(admin_context())
    wait_for(lambda: zone.parent.heard, "the summary came", 15)


@pytest.fixture
def child() -> Iterator[Child]:
    made = Child(Zone("leaf", some_hosts(2)))
    server = an_rpc_server(made.bus, ZoneAPI, "border", made)
    server.start()
    yield made
    server.stop()
    server.wait()
    made.bus.close()


def test_a_child_is_found_by_the_cluster_metadata_and_asked(
    deploy: MakeDeployment, child: Child
) -> None:
    """BZ-14, BZ-42: the child was added to the conductor's table, nothing else was done."""
    known = {"uuid": a_uuid(), "name": "leaf", "transport_url": child.url, "disabled": False}
    root = deploy([known], scheduler__driver="zone_scheduler", zones__name="root")
    wait_for(lambda: root.manager._host_store.cluster_metadata.zones, "the metadata came", 15)
    root.call("zones")

    def state() -> str:
        (zone,) = root.api.get_zones(admin_context())["zones"]
        assert zone["name"] == "leaf"
        return str(zone["state"])

    wait_for(lambda: state() == "online", "the child's summary came", 15)
    found = select(root.api, takes_zones=True)
    assert sorted(map(tuple, (entry["path"] for entry in found.zone_entries))) == [
        (), (), (), ("leaf",), ("leaf",),
    ]  # fmt: skip
    assert [zone["outcome"] for zone in found.trace.zones] == ["own", "asked", "own"]
    batched = root.api.select_destinations_many(
        admin_context(),
        SchedulingBatch.of([BatchedRequest(a_request_spec(), [a_uuid()], [1000], "req-2")]),
    ).unpacked()
    assert not isinstance(batched[0], Exception)
    assert len(batched[0].zone_entries) == 5
    assert len(batched[0].trace.zones) == 3
    assert select(root.api).zone_entries == []


def test_the_first_request_after_a_start_asks_the_children(
    deploy: MakeDeployment, child: Child
) -> None:
    """D7, BZ-65: no periodic task has run, and the child pushes nothing: its answer is enough."""
    child.pushes = False
    known = {"uuid": a_uuid(), "name": "leaf", "transport_url": child.url, "disabled": False}
    root = deploy([known], scheduler__driver="zone_scheduler", zones__name="root")
    found = select(root.api, takes_zones=True)
    assert sum(entry["path"] == ["leaf"] for entry in found.zone_entries) == 2
    (told,) = (zone for zone in found.trace.zones if zone["path"] == ["leaf"] and zone["reason"])
    assert "has not pushed a summary since this scheduler's start" in str(told["reason"])
    context = admin_context().with_parent_zone("world")
    root.api.select_for_zone(context, root.query(visited=["world"]))
    assert child.asked_by == [None, "world"]  # it tells the servers of parents apart


def test_a_child_that_cannot_be_asked_after_a_start_is_waited_for(deploy: MakeDeployment) -> None:
    """BZ-69: it may have what hosts here lack, so the request is tried again."""
    url = f"kombu+memory:////{uuid.uuid4()}"
    known = {"uuid": a_uuid(), "name": "leaf", "transport_url": url, "disabled": False}
    root = deploy(
        [known],
        scheduler__driver="zone_scheduler",
        scheduler__first_sync_wait_seconds=0,
        zones__name="root",
        zones__select_timeout_seconds=0.1,
    )
    wait_for(lambda: root.manager._sync.is_complete, "the hosts are known", 15)
    big = a_request_spec(flavor=a_flavor("big", memory_mb=10**6))
    with pytest.raises(exception.Unavailable, match="has not heard from zone leaf yet"):
        select(root.api, spec=big, takes_zones=True)
    own = select(root.api, takes_zones=True).zone_entries  # to be tried, and the child after them
    assert [entry["path"] for entry in own] == [[], [], []]


def test_a_restarted_scheduler_answers_by_its_snapshot(
    deploy: MakeDeployment, tmp_path: Path
) -> None:
    """L08: while a cell is unreachable; the trace says how old its hosts are."""
    former = deploy(state_path=str(tmp_path))
    wait_for(lambda: former.manager._sync.is_complete, "the hosts are known", 15)
    former.call("snapshot")
    for server in former.servers[1:3]:  # the super conductor and the cell
        server.stop()
        server.wait()
    restarted = SchedulerManager(former.conf, top_bus=former.bus)
    restarted.start()
    found = restarted.select_destinations(admin_context(), a_request_spec(), [a_uuid()], [1000])
    assert len(found.selections()[0]) == 3
    (sentence,) = found.trace.old_states
    assert sentence.startswith("3 hosts of a cell that has not answered since the scheduler's")
    big = a_request_spec(flavor=a_flavor("big", memory_mb=10**6))
    with pytest.raises(exception.Unavailable, match="does not know the state of some hosts"):
        restarted.select_destinations(admin_context(), big, [a_uuid()], [1000])
    restarted.stop(1.0)


def test_a_zone_whose_cell_has_not_answered_since_its_start_has_no_answer(
    deploy: MakeDeployment,
) -> None:
    """Its parent waits for it in place of "no host"; what it does know it offers."""
    zone = deploy(
        dead_cells=[OTHER_CELL], zones__name="leaf", scheduler__first_sync_wait_seconds=0.1
    )
    wait_for(lambda: len(zone.manager._host_store) == 3, "hosts of the other are known", 15)
    big = a_request_spec(flavor=a_flavor("big", memory_mb=10**6))
    with pytest.raises(exception.Unavailable, match="does not know the state of some hosts"):
        zone.api.select_for_zone(admin_context(), zone.query(spec=big))
    assert len(zone.api.select_for_zone(admin_context(), zone.query()).host_ids) == 3


def test_certain_zones_are_searched_by_a_scheduler_that_asks_zones(deploy: MakeDeployment) -> None:
    """Any other refuses, and claims nothing."""
    alone = deploy(zones__name="leaf")
    with pytest.raises(exception.Invalid, match="asks no other zones"):
        select(alone.api, only_zones=["eu"])
    assert not alone.placement.consumers


def a_batch(request_id: str) -> SchedulingBatch:
    return SchedulingBatch.of([BatchedRequest(a_request_spec(), [a_uuid()], [1000], request_id)])


# In the caller's process --------------------------------------------------------------------------


def test_a_scheduler_in_the_callers_process_serves_no_queue(deploy: MakeDeployment) -> None:
    """BZ-02: and decides as any other, by hosts that it asks for."""
    here = deploy(scheduler__in_process=True)
    assert list(here.manager.servers()) == []
    here_api = local(SchedulerAPI, here.manager)
    found = select(here_api)
    assert len(found.selections()[0]) == 3
    assert len(here.placement.consumers) == 1
    with pytest.raises(exception.Unavailable):
        here.api.ping(admin_context(), timeout_seconds=0.3)


def test_hosts_are_asked_for_when_no_cell_can_push_them(deploy: MakeDeployment) -> None:
    """BZ-02: every pull_interval_seconds."""
    here = deploy(scheduler__in_process=True)
    wait_for(lambda: here.manager._sync.is_complete, "the hosts are known", 15)
    here.hosts.append(some_hosts(1)[0])
    here.call("pull")
    wait_for(lambda: len(here.manager._host_store) == 4, "the new host is known", 15)


def test_in_process_errors_are_those_of_the_interface(deploy: MakeDeployment) -> None:
    """BZ-10: the same as over RPC."""
    here_api = local(SchedulerAPI, deploy(scheduler__in_process=True).manager)
    with pytest.raises(exception.NoValidHost) as caught:
        select(here_api, spec=a_request_spec(flavor=a_flavor("big", memory_mb=10**6)))
    assert caught.value.kwargs["reason"]
    with pytest.raises(exception.Invalid):
        here_api.select_destinations(admin_context(), a_request_spec(), [], fences=[])


def test_in_process_zones_and_news_are_taken_as_over_rpc(deploy: MakeDeployment) -> None:
    """BZ-10: every method of the interface that a super conductor calls is there."""
    here = deploy(scheduler__in_process=True, zones__name="leaf")
    here_api = local(SchedulerAPI, here.manager)
    wait_for(lambda: here.manager._sync.is_complete, "the hosts are known", 15)
    assert len(here_api.select_for_zone(admin_context(), here.query()).host_ids) == 3
    here_api.refresh_zones(admin_context())
    own = here_api.get_zones(admin_context())["own"]
    assert own is not None
    assert own.zone == "leaf"
    here_api.delete_aggregate(
        admin_context(), here.manager._host_store.cluster_metadata.aggregates[0].uuid, seq=2
    )
    assert here.manager._host_store.cluster_metadata.aggregates == ()
    answers = here_api.select_destinations_many(
        admin_context(),
        SchedulingBatch.of([BatchedRequest(a_request_spec(), [a_uuid()], [1000], "req-1")]),
    ).unpacked()
    assert not isinstance(answers[0], Exception)
