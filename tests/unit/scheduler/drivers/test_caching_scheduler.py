"""The caching scheduler decides on hosts as of its last refresh, and claims nothing."""

import logging
from typing import Any

import pytest

from armillary import exception
from objects.traces.decision_trace import DecisionTrace
from scheduler.drivers.caching_scheduler import CachingScheduler
from scheduler.hosts.store.host_store import HostStore, Outcome
from tests.builders import a_flavor
from tests.fleets import Clock, Host, a_batch, a_fleet, a_host, a_request_spec, scheduling_conf
from tests.unit.scheduler.drivers.drivers import a_driver_of, rows, select

CAPACITY = ["ComputeFilter", "RamFilter", "CoreFilter", "DiskFilter"]


def a_conf(**values: Any) -> Any:
    return scheduling_conf(filter_scheduler__enabled_filters=CAPACITY, **values)


def small(name: str, **values: Any) -> Host:
    """Return a host with room for two instances."""
    return a_host(name, **{"total_usable_ram_mb": 1024, "free_ram_mb": 1024, **values})


class Scene:
    """A driver, the fleet that it reads, and a clock to turn."""

    def __init__(self, hosts: list[Host], **conf: Any) -> None:
        self.hosts = hosts
        self.clock = Clock()
        self.conf = a_conf(**conf)
        self.fleet: HostStore = a_fleet(hosts, conf=self.conf, clock=self.clock)
        self.driver = a_driver_of(
            CachingScheduler, hosts, fleet=self.fleet, conf=self.conf, clock=self.clock
        )
        self.seq = 1

    def push(self, *hosts: Host) -> None:
        self.seq += 1
        assert self.fleet.apply(a_batch(hosts, last_seq=self.seq)) is Outcome.APPLIED


def test_a_host_and_alternates_come_without_anything_to_claim() -> None:
    """The best host, as weighed, with the next ones of its cell."""
    hosts = [small("a"), small("b", free_ram_mb=4096, total_usable_ram_mb=4096), small("c")]
    found = select(Scene(hosts).driver)
    ((chosen, *others),) = found.selections()
    assert chosen.service_host == "b"
    assert {each.service_host for each in others} == {"a", "c"}
    assert [each.allocation_request for each in (chosen, *others)] == [{}, {}, {}]
    assert (found.trace.hosts_total, found.trace.candidates) == (3, 3)


def test_the_limits_of_filters_go_with_the_selection() -> None:
    """They are what guards the host."""
    ((chosen,),) = select(Scene([small("a")]).driver).selections()
    assert chosen.limits is not None
    assert chosen.limits.memory_mb == 1024


def test_what_is_pushed_counts_from_the_next_refresh_on() -> None:
    """Until then it is the hosts of the last one."""
    scene = Scene([small("a"), small("b")])
    select(scene.driver)
    for host in scene.hosts:
        host.values["service_disabled"] = True
    scene.push(*scene.hosts)
    select(scene.driver)
    scene.driver.refresh()
    with pytest.raises(exception.NoValidHost, match="ComputeFilter"):
        select(scene.driver)


def test_what_is_placed_counts_immediately() -> None:
    """Two requests, or two instances of one, do not take the same room."""
    scene = Scene([small("a"), small("b")])
    names = [rows(select(scene.driver, return_alternates=False))[0][0] for _ in range(3)]
    names += [row[0] for row in rows(select(scene.driver, return_alternates=False))]
    assert sorted(names) == ["a", "a", "b", "b"]
    with pytest.raises(exception.NoValidHost, match="RamFilter"):
        select(scene.driver)


def test_instances_of_one_request_fill_hosts_up() -> None:
    """All or nothing."""
    scene = Scene([small("a"), small("b")])
    with pytest.raises(exception.NoValidHost, match="Only 4 of 5 instances"):
        select(scene.driver, count=5)
    assert sorted(row[0] for row in rows(select(scene.driver, count=4))) == ["a", "a", "b", "b"]


def test_a_dry_run_uses_nothing_up() -> None:
    """It may be repeated."""
    scene = Scene([small("a")])
    for _ in range(3):
        select(scene.driver, dry_run=True)
    select(scene.driver, count=2)


def test_a_refresh_keeps_what_no_report_shows_yet() -> None:
    """The cell's push may be older than the decision; after a while it is believed."""
    scene = Scene([small("a")], scheduler__claimed_instance_seconds=30)
    select(scene.driver, count=2)
    scene.driver.refresh()
    with pytest.raises(exception.NoValidHost):
        select(scene.driver)
    scene.clock.seconds += 31
    scene.driver.refresh()
    assert rows(select(scene.driver)) == [["a"]]


def test_a_refresh_counts_nothing_twice() -> None:
    """What the cell shows with its instance is in the host's own figures."""
    scene = Scene([small("a")])
    ((placed,),) = [[choice["instance_uuid"] for choice in select(scene.driver).trace.choices]]
    scene.hosts[0].values.update(
        instance_uuids=[placed], num_instances=1, free_ram_mb=512, vcpus_used=1
    )
    scene.push(scene.hosts[0])
    scene.driver.refresh()
    assert rows(select(scene.driver)) == [["a"]]


def test_the_first_request_loads_the_hosts() -> None:
    """No request waits for the first refresh, nor for one after hosts became known."""
    scene = Scene([])
    scene.driver.refresh()
    with pytest.raises(exception.NoValidHost, match="No host is known"):
        select(scene.driver)
    scene.push(small("late"))
    assert rows(select(scene.driver)) == [["late"]]


@pytest.mark.parametrize(
    ("key", "wanted"),
    [("trait:HW_GPU_API_VULKAN", "HW_GPU_API_VULKAN"), ("resources:VGPU", "VGPU")],
)
def test_what_only_placement_knows_is_refused(key: str, wanted: str) -> None:
    """Rather than going to a host that may not have it."""
    value = "required" if key.startswith("trait") else "1"
    spec = a_request_spec(flavor=a_flavor(extra_specs={key: value}))
    with pytest.raises(
        exception.NoValidHost, match=f"needs {wanted}, which only placement"
    ) as error:
        select(Scene([small("a")]).driver, spec)
    trace = DecisionTrace.obj_from_primitive(error.value.kwargs["trace"])
    assert trace.sentence == error.value.kwargs["reason"]


@pytest.mark.parametrize(
    ("filters", "missing"),
    [(["ComputeFilter", "RamFilter"], "not include CoreFilter, DiskFilter"), (CAPACITY, "")],
    ids=["some", "all"],
)
def test_a_start_without_filters_of_capacity_is_warned_of(
    filters: list[str], missing: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing else keeps hosts from being filled without end."""
    conf = scheduling_conf(filter_scheduler__enabled_filters=filters)
    with caplog.at_level(logging.WARNING):
        a_driver_of(CachingScheduler, [], conf=conf)
    assert [missing in record.getMessage() for record in caplog.records] == [True] * bool(missing)
