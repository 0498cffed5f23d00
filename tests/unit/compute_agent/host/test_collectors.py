"""Every attribute that an agent reports has a collector, of the declared kind."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.host import collectors
from compute_agent.host.host_topology import FreeTopology
from compute_agent.host.reserved import ReservedAmounts
from compute_agent.journal.journal import Entry, State
from compute_agent.virt.driver import ComputeDriver
from compute_agent.virt.process.process_driver import ProcessDriver
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from objects.hosts.host_attributes import BY_NAME, UNLIMITED_GB, Collector, Kind, collected_by
from tests.fixtures.agent import A_HOST, agent_conf

TYPES: dict[Kind, type | tuple[type, ...]] = {
    Kind.INT: int,
    Kind.FLOAT: float,
    Kind.BOOL: bool,
    Kind.TEXT: str,
    Kind.JSON: (dict, list),
}
DRIVERS = [ProcessDriver, SimulatedDriver]


def an_entry(state: State = State.RUNNING, **values: Any) -> Entry:
    """Return an entry of 2 vCPUs, 1 GiB of memory and 10 GiB of disk."""
    defaults: dict[str, Any] = {
        "host": "host1", "instance_uuid": "u", "attempt": 1, "state": state, "is_claimed": True,
        "is_dirty": False, "is_silent": False, "exit_code": None, "vcpus": 2, "memory_mb": 1024,
        "disk_gb": 10, "project_id": "p1", "os_type": None, "group_uuid": None, "request_id": None,
    }  # fmt: skip
    return Entry(**{**defaults, **values})


def figures(*entries: Entry) -> collectors.HostFigures:
    """Return a host of 16 vCPUs, 64 GiB and 500 GiB that keeps 1, 512 MiB and 5 GiB."""
    return collectors.HostFigures(
        resources=A_HOST,
        reserved=ReservedAmounts(vcpus=1, memory_mb=512, disk_gb=5),
        entries=entries,
        ratios={"VCPU": 4.0, "MEMORY_MB": 1.5, "DISK_GB": 1.0},
        failed_builds=3,
        places=FreeTopology(None, ()),
        metrics=(),
    )


def driver_values(driver: ComputeDriver) -> dict[str, Any]:
    driver.init_host([])
    try:
        return driver.get_attributes()
    finally:
        driver.close()


def make_driver(driver_class: Any, state_path: Path) -> ComputeDriver:
    conf = agent_conf(state_path)
    conf.set_override("limits", "rlimit", group="process")
    conf.set_override("hosts", ["name=sim-1:vcpus=1:memory_mb=1:disk_gb=1"], group="simulated")
    driver: ComputeDriver = driver_class.make_hosts(conf, state_path)[0]
    return driver


@pytest.mark.parametrize(
    ("collector", "table"),
    [
        (Collector.TRACKER, collectors.TRACKER_COLLECTORS),
        (Collector.MONITOR, collectors.MONITOR_COLLECTORS),
    ],
    ids=["tracker", "monitor"],
)
def test_each_declared_attribute_has_a_collector(
    collector: Collector, table: dict[str, Any]
) -> None:
    """And there is no collector of something that is not declared."""
    assert {attribute.name for attribute in collected_by(collector)} == set(table)


@pytest.mark.parametrize("driver_class", DRIVERS)
def test_each_driver_reports_what_is_declared(driver_class: Any, tmp_path: Path) -> None:
    """No more and no less; the check at start agrees."""
    values = driver_values(make_driver(driver_class, tmp_path))
    collectors.check_driver_values("a driver", values)
    declared = {attribute.name for attribute in collected_by(Collector.DRIVER)}
    assert declared - set(values) <= {"isolation", "cached_images"}  # what only some drivers know


@pytest.mark.parametrize("driver_class", DRIVERS)
def test_values_are_of_the_declared_kind(driver_class: Any, tmp_path: Path) -> None:
    """All that an agent reports of a host, whichever driver carries it."""
    values = collectors.collect(
        figures(an_entry()), driver_values(make_driver(driver_class, tmp_path))
    )
    wrong = {
        name: value
        for name, value in values.items()
        if not isinstance(value, TYPES[BY_NAME[name].kind])
        and not (value is None and BY_NAME[name].default is None)
    }
    assert wrong == {}


def test_a_driver_that_leaves_one_out_is_refused() -> None:
    """The agent says which at start, before a filter misses it."""
    with pytest.raises(exception.ConfigurationError, match="cpu_info"):
        collectors.check_driver_values("mine", {"host_ip": "192.0.2.1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("vcpus_total", 16),
        ("vcpus_used", 1 + 4),
        ("total_usable_ram_mb", 65536),
        ("free_ram_mb", 65536 - 512 - 2048),
        ("total_usable_disk_gb", 500),
        ("free_disk_mb", (500 - 5 - 20) * 1024),
        ("disk_mb_used", 25 * 1024),
        ("cpu_allocation_ratio", 4.0),
        ("ram_allocation_ratio", 1.5),
        ("disk_allocation_ratio", 1.0),
        ("num_io_ops", 1),
        ("failed_builds", 3),
    ],
)
def test_usage_counts_reserve_and_instances(name: str, value: object) -> None:
    """An instance takes its place from the command to build until nothing is left of it."""
    host = figures(an_entry(State.BUILDING), an_entry(State.ENDED))
    assert collectors.TRACKER_COLLECTORS[name](host) == value


def test_instances_are_counted_by_flavor_and_by_image_property() -> None:
    """What is only a trace of a delete has neither."""
    web: dict[str, Any] = {"flavor_id": "1", "image_pairs": ("os_type=linux", "os_version=12")}
    host = figures(
        an_entry(**web), an_entry(State.BUILDING, **web),
        an_entry(flavor_id="2", image_pairs=("os_type=linux",)), an_entry(State.DELETING),
    )  # fmt: skip
    assert host.flavors() == {"1": 2, "2": 1}
    assert host.image_properties() == {"os_type=linux": 3, "os_version=12": 2}


def test_stats_count_what_operators_know() -> None:
    """By state, task, project and system of the instances."""
    host = figures(
        an_entry(State.BUILDING), an_entry(os_type="linux"), an_entry(State.DELETING),
        an_entry(State.ENDED, project_id="p2"),
    )  # fmt: skip
    assert host.stats() == {
        "num_instances": 4,
        "num_vm_building": 1,
        "num_vm_active": 1,
        "num_vm_stopped": 1,
        "num_task_spawning": 1,
        "num_task_deleting": 1,
        "num_task_None": 2,
        "num_os_type_None": 3,
        "num_os_type_linux": 1,
        "num_proj_p1": 3,
        "num_proj_p2": 1,
        "io_workload": 1,
        "failed_builds": 3,
    }


@pytest.mark.parametrize(("least", "free_mb"), [(None, 475 * 1024), (480, 475 * 1024), (3, 3072)])
def test_free_disk_is_what_can_be_written_if_that_is_less(least: int | None, free_mb: int) -> None:
    """A file system may hold other files than those of instances."""
    host = figures(an_entry(State.BUILDING), an_entry(State.ENDED))
    resources = dataclasses.replace(host.resources, disk_available_least=least)
    host = dataclasses.replace(host, resources=resources)
    assert host.free_disk_mb == free_mb
    assert host.disk_available_least == (UNLIMITED_GB if least is None else least)
