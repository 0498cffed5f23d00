"""The scheduler on a broker that serialises: calls in, questions out, errors as they are meant."""

import contextlib
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.interface import HostStatesAPI
from conductor.super_conductor.interface import SuperConductorAPI
from objects.base import ArmillaryObject
from objects.destinations import Destinations
from objects.hosts.cluster_metadata import CellDict
from objects.hosts.host_states import HostStateBatch
from objects.packed.claim_batch import ClaimAnswers, ClaimBatch
from objects.packed.scheduling_batch import BatchedRequest, SchedulingBatch
from objects.traces.decision_trace import DecisionTrace
from placement.interface import PlacementAPI
from rpc.server import RpcServer
from rpc.transport import Bus
from scheduler.filters import BaseHostFilter
from scheduler.interface import SchedulerAPI
from scheduler.manager import SchedulerManager
from scheduler.plugins import plugin_calls
from tests.builders import a_flavor, a_uuid, an_aggregate
from tests.fixtures.asking import wait_for
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fleets import (
    CELL,
    ArrayPlacement,
    a_batch,
    a_group,
    a_request_spec,
    scheduling_conf,
    some_hosts,
)

HERE = "tests.unit.scheduler.test_manager"
_VERSION = ArmillaryObject.primitive_key("version")


class PlacementEndpoint:
    """As much of placement as a scheduler asks."""

    def __init__(self, placement: ArrayPlacement) -> None:
        self._placement = placement

    def get_candidates(self, context: object, query: Any, by_id: bool) -> Any:
        return self._placement.get_allocation_candidates(context, query)

    def claim_batch(self, context: object, batch: ClaimBatch) -> ClaimAnswers:
        return ClaimAnswers.of(self._placement.claim(context, batch.unpacked()))

    def release(self, context: object, consumers: Any) -> None:
        self._placement.release(context, consumers)


class ConductorEndpoint:
    """As much of the super conductor and of a cell as a scheduler asks."""

    def __init__(self) -> None:
        self.hosts = some_hosts(3)
        self.aggregates = [an_aggregate(hosts=["host1"])]

    def get_cluster_metadata(self, context: object) -> dict[str, Any]:
        cells = [{"uuid": CELL, "name": "cell1", "disabled": False}]
        return {"seq": 1, "cells": cells, "aggregates": self.aggregates}

    def map_hosts(self, context: object, cell_uuid: str, hosts: dict[str, list[str]]) -> list[str]:
        return []


class HostStatesEndpoint:
    def __init__(self, conductor: ConductorEndpoint) -> None:
        self._conductor = conductor

    def get_host_states(self, context: object, after_seq: int) -> HostStateBatch:
        return a_batch(self._conductor.hosts, full=True)


@pytest.fixture
def conf() -> Any:
    return scheduling_conf()


@pytest.fixture
def bus(conf: Any) -> Iterator[Bus]:
    bus = Bus(conf, f"kombu+memory:////{uuid.uuid4()}")
    yield bus
    bus.close()


@pytest.fixture
def conductor() -> ConductorEndpoint:
    return ConductorEndpoint()


@pytest.fixture
def placement(conductor: ConductorEndpoint) -> ArrayPlacement:
    return ArrayPlacement(conductor.hosts)


@pytest.fixture
def manager(
    conf: Any, bus: Bus, conductor: ConductorEndpoint, placement: ArrayPlacement
) -> Iterator[SchedulerManager]:
    peers = [
        an_rpc_server(bus, PlacementAPI, "p1", PlacementEndpoint(placement)),
        an_rpc_server(bus, SuperConductorAPI, "c1", conductor),
        an_rpc_server(bus, HostStatesAPI, CELL, HostStatesEndpoint(conductor)),
    ]
    for peer in peers:
        peer.start()
    manager = SchedulerManager(conf, top_bus=bus)
    manager.start()
    servers = [*peers, *manager.servers()]
    servers[-1].start()
    yield manager
    with ThreadPoolExecutor() as pool:  # each takes a moment
        list(pool.map(_stop, servers))
    manager.stop(5.0)


def _stop(server: RpcServer) -> None:
    server.stop()
    server.wait()


@pytest.fixture
def api(manager: SchedulerManager, bus: Bus) -> SchedulerAPI:
    return SchedulerAPI(bus, timeout_seconds=20)


def test_a_call_is_answered_with_claimed_hosts(
    api: SchedulerAPI, placement: ArrayPlacement
) -> None:
    """Also the first one, which waits for the hosts to be known."""
    uuids = [a_uuid(), a_uuid()]
    found = api.select_destinations(admin_context(), a_request_spec(), uuids, fences=[1000, 1000])
    assert len(found.selections()) == 2
    assert set(placement.consumers) == set(uuids)
    assert [choice["instance_uuid"] for choice in found.trace.choices] == uuids


def test_what_servers_may_hold_is_told_by_drivers_that_claim(
    conf: Any, bus: Bus, api: SchedulerAPI
) -> None:
    """Pinned CPUs in two ways; without claims no consumer need hold anything."""
    pinned = a_flavor(extra_specs={"hw:cpu_policy": "dedicated"})
    asked = [a_request_spec(), a_request_spec(flavor=pinned)]
    plain, ways = api.get_expected_allocations(admin_context(), asked) or []
    assert plain == [{"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}]
    assert [sorted(way) for way in ways] == [
        ["DISK_GB", "MEMORY_MB", "PCPU"], ["DISK_GB", "MEMORY_MB", "VCPU"]
    ]  # fmt: skip
    conf.set_override("driver", "chance_scheduler", "scheduler")
    assert (
        SchedulerManager(conf, top_bus=bus).get_expected_allocations(admin_context(), asked) is None
    )


def test_no_valid_host_arrives_with_its_sentence_and_trace(api: SchedulerAPI) -> None:
    """As the error that it is."""
    spec = a_request_spec(flavor=a_flavor(memory_mb=10**6))
    with pytest.raises(exception.NoValidHost) as caught:
        api.select_destinations(admin_context(), spec, [a_uuid()], fences=[1])
    sentence = "All 3 hosts lack MEMORY_MB: 1,000,000 asked, 32,768 free at most."
    assert caught.value.kwargs["reason"] == sentence
    trace = DecisionTrace.obj_from_primitive(caught.value.kwargs["trace"])
    assert (trace.hosts_total, trace.sentence) == (3, sentence)


def test_an_unsupported_policy_arrives_as_such(api: SchedulerAPI) -> None:
    """The super conductor tells it from a lack of hosts."""
    spec = a_request_spec(instance_group=a_group("rivalry"))
    with pytest.raises(exception.UnsupportedPolicy):
        api.select_destinations(admin_context(), spec, [a_uuid()], fences=[1])


@pytest.mark.parametrize(
    ("uuids", "fences"),
    [([], []), ([a_uuid()], []), ([a_uuid()], [1, 2]), ([a_uuid()] * 2, [1, 2])],
    ids=["none", "no fence", "too many fences", "twice the same"],
)
def test_instances_and_fences_must_match(
    api: SchedulerAPI, uuids: list[str], fences: list[int]
) -> None:
    """Nothing is decided otherwise."""
    with pytest.raises(exception.Invalid, match=f"{len(uuids)} instances with {len(fences)}"):
        api.select_destinations(admin_context(), a_request_spec(), uuids, fences=fences)


def test_pushed_states_and_cluster_metadata_count(
    api: SchedulerAPI, bus: Bus, conductor: ConductorEndpoint, manager: SchedulerManager
) -> None:
    """From the next decision on."""
    context = admin_context()
    api.select_destinations(context, a_request_spec(), [a_uuid()], fences=[1])  # all is known
    for host in conductor.hosts[:2]:
        host.values["service_disabled"] = True
    manager.update_host_states(context, a_batch(conductor.hosts, first_seq=1, last_seq=2))
    zone = an_aggregate(hosts=["host3"], metadata={"availability_zone": "north"})
    cell: CellDict = {"uuid": CELL, "name": "cell1", "disabled": False}
    manager.update_cluster_metadata(context, {"seq": 2, "cells": [cell], "aggregates": [zone]})
    found = api.select_destinations(context, a_request_spec(), [a_uuid()], fences=[1])
    ((selection,),) = found.selections()
    assert (selection.service_host, selection.availability_zone) == ("host3", "north")


def test_fanned_out_states_reach_the_scheduler(
    api: SchedulerAPI, conductor: ConductorEndpoint
) -> None:
    """A batch travels as it is; what it says is seen when its host is the only one left."""
    context, spec = admin_context(), a_request_spec()
    api.select_destinations(context, spec, [a_uuid()], fences=[1])
    for host in conductor.hosts:
        host.values["service_up"] = False
    api.update_host_states(context, a_batch(conductor.hosts, first_seq=1, last_seq=2))

    def ask_often() -> None:
        for _ in range(200):
            api.select_destinations(context, spec, [a_uuid()], fences=[1], dry_run=True)

    with pytest.raises(exception.NoValidHost, match="its service is down"):
        ask_often()


def test_news_of_instances_and_aggregates_reach_the_scheduler(
    api: SchedulerAPI, conductor: ConductorEndpoint, manager: SchedulerManager
) -> None:
    """By fanout, long before the next push."""
    context = admin_context()
    api.select_destinations(context, a_request_spec(), [a_uuid()], fences=[1])  # all is known
    told, gone = a_uuid(), a_uuid()
    api.update_instance_info(context, {"host1": [told, gone]})
    wait_for(lambda: _instances(manager, "host1") >= {told, gone}, "both are seen", 20)
    api.delete_instance_info(context, {"host1": [gone]})
    wait_for(lambda: gone not in _instances(manager, "host1"), "one is gone", 20)
    assert told in _instances(manager, "host1")
    zone = an_aggregate(hosts=["host2"], metadata={"availability_zone": "north"})
    api.update_aggregates(context, [zone], seq=2)
    wait_for(
        lambda: manager._host_store.cluster_metadata.zone_of("host2", "") == "north",
        "the zone is known",
        20,
    )
    api.delete_aggregate(context, zone.uuid, seq=3)
    wait_for(
        lambda: manager._host_store.cluster_metadata.zone_of("host2", "") == "",
        "the zone is gone",
        20,
    )
    assert manager._host_store.cluster_metadata.seq == 3
    conductor.hosts[2].values["instance_uuids"] = [told]
    api.sync_instance_info(context, {"host3": [told]})
    wait_for(lambda: told in _instances(manager, "host3"), "the cell was asked", 20)


def _instances(manager: SchedulerManager, host: str) -> frozenset[str]:
    return next(each for each in manager._host_store.view_all() if each.host == host).instances


def test_a_scheduler_that_knows_nothing_yet_says_so(bus: Bus) -> None:
    """It is worth another try, and no lack of hosts."""
    conf = scheduling_conf(scheduler__first_sync_wait_seconds=0, scheduler__sync_timeout_seconds=1)
    manager = SchedulerManager(conf, top_bus=bus)
    with pytest.raises(exception.Unavailable, match="does not know cells and hosts yet"):
        manager.select_destinations(admin_context(), a_request_spec(), [a_uuid()], [1])


def test_the_periodic_tasks_are_those_that_repair(manager: SchedulerManager) -> None:
    """Facts that were missed, host states, what the driver keeps, and the snapshot."""
    assert [(task.name, task.interval_seconds) for task in manager.periodic_tasks()] == [
        ("cluster_metadata", 60),
        ("host_states", 5),
        ("driver", 60),
        ("snapshot", 60),
    ]


class SleepyFilter(BaseHostFilter):
    """Does not come back before it is woken."""

    wakes = threading.Event()

    def host_passes(self, host_state: object, spec: object) -> bool:
        assert self.wakes.wait(60)
        return True


@pytest.mark.parametrize(
    "conf",
    [
        scheduling_conf(
            filter_scheduler__enabled_filters=[f"{HERE}:SleepyFilter"],
            scheduler__plugin_timeout_seconds=0.2,
        )
    ],
    ids=["sleepy"],
)
def test_a_plugin_that_does_not_come_back_costs_no_thread_but_its_own(
    api: SchedulerAPI, manager: SchedulerManager
) -> None:
    """Requests end explained while it is stuck, and are decided again when it is not."""
    for _ in range(20):
        with pytest.raises(exception.NoValidHost) as caught:
            api.select_destinations(admin_context(), a_request_spec(), [a_uuid()], fences=[1])
        assert caught.value.kwargs["reason"].startswith(
            "SleepyFilter is stuck: it has not returned"
        )
        trace = DecisionTrace.obj_from_primitive(caught.value.kwargs["trace"])
        assert trace.sentence == caught.value.kwargs["reason"]
    SleepyFilter.wakes.set()
    wait_for(lambda: not plugin_calls.mark_overdue(0.2), "the filter has answered", 20)

    def decided() -> Destinations | None:
        """Return a decision; also an awake filter is given up where the machine is too busy."""
        with contextlib.suppress(exception.NoValidHost):
            return api.select_destinations(
                admin_context(), a_request_spec(), [a_uuid()], fences=[1]
            )
        return None

    found = wait_for(decided, "a host is selected", 20)
    assert len(found.selections()) == 1


def test_an_unknown_plugin_stops_the_start(bus: Bus) -> None:
    """Before anything is served."""
    conf = scheduling_conf(filter_scheduler__enabled_filters=["NoFilter"])
    with pytest.raises(exception.PluginNotFound):
        SchedulerManager(conf, top_bus=bus)


# Batches ------------------------------------------------------------------------------------------


def a_batched(*, vcpus: int = 1, uuids: list[str] | None = None) -> BatchedRequest:
    spec = a_request_spec(flavor=a_flavor(f"f{vcpus}", vcpus=vcpus))
    uuids = uuids or [a_uuid()]
    return BatchedRequest(spec, uuids, [1000] * len(uuids), f"req-{vcpus}")


def test_requests_of_one_message_have_their_own_answers(
    api: SchedulerAPI, placement: ArrayPlacement
) -> None:
    """Hosts, or the error with its trace, in their order; claims are made for those with hosts."""
    requests = [a_batched(), a_batched(vcpus=999), a_batched()]
    first, refused, last = api.select_destinations_many(
        admin_context(), SchedulingBatch.of(requests)
    ).unpacked()
    hosts = {each.selections()[0][0].service_host for each in (first, last)}  # type: ignore[union-attr]
    assert len(hosts) == 2
    assert isinstance(refused, exception.NoValidHost)
    trace = DecisionTrace.obj_from_primitive(refused.kwargs["trace"])
    assert trace.request_id == "req-999"
    assert trace.sentence is not None
    assert "VCPU: 999 asked" in trace.sentence
    assert set(placement.consumers) == {*requests[0].instance_uuids, *requests[2].instance_uuids}


def test_a_request_in_a_message_that_makes_no_sense_stops_all_of_it(
    api: SchedulerAPI, placement: ArrayPlacement
) -> None:
    """Nothing is done for any, so each may be asked for again."""
    uuid = a_uuid()
    with pytest.raises(exception.Invalid, match="no duplicates"):
        api.select_destinations_many(
            admin_context(), SchedulingBatch.of([a_batched(), a_batched(uuids=[uuid, uuid])])
        )
    assert not placement.consumers
