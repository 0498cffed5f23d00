"""A scenario file is read as it is meant, or refused with the place of the mistake."""

from pathlib import Path
from typing import Any

import pytest

from simulator.scenario.scenario import Amount
from simulator.scenario.scenario_errors import BadScenario
from simulator.scenario.scenario_file import read_scenario
from tests.fixtures.fleets.simulations import a_scenario, a_stream, some_hosts, write_scenario


def test_a_small_scenario_is_read(tmp_path: Path) -> None:
    """What is not said is as usual."""
    scenario = a_scenario(tmp_path)
    assert scenario.title == "scenario"
    assert scenario.hosts_total == 4
    assert scenario.seed == 1
    assert scenario.push_interval_seconds == 1.0
    assert scenario.shapes[0].amounts["VCPU"] == Amount(8)
    assert scenario.streams[0].lifetime.low == float("inf")


def test_another_seed_takes_the_place_of_the_file_s(tmp_path: Path) -> None:
    """As ``--seed`` asks."""
    assert a_scenario(tmp_path, seed=9).seed == 9


def test_everything_can_be_said(tmp_path: Path) -> None:
    """Each part of the document arrives."""
    scenario = a_scenario(
        tmp_path,
        title="All",
        hosts=[
            some_hosts(
                pcpus=4,
                zone="z1",
                cell="cell2",
                aggregates=["ssd"],
                traits=["HW_CPU_X86_AVX2", "CUSTOM_FAST"],
                resources={"CUSTOM_GPU": 2},
                allocation_ratios={"vcpus": 4},
                reserved={"memory_mb": 512},
                attributes={"hypervisor_type": "QEMU"},
            )
        ],
        aggregates={"ssd": {"ssd": True}},
        flavors={"small": {"vcpus": 1, "memory_mb": 1, "extra_specs": {"a": 2, "b": True}}},
        images={"linux": {"properties": {"hw_disk_bus": "virtio"}}},
        groups={"apart": {"policy": "anti-affinity", "max_server_per_host": 2}},
        load=[
            a_stream(
                images={"linux": 1}, zones={"z1": 1}, count=[2, 3], hints={"group": "apart"},
                lifetime={"exponential": 9},
            )
        ],
        failures={"mean_seconds_between": 10, "instances": "kept",
                  "outages": [{"at_seconds": 1, "hosts": "h-*"}]},
        builds={"seconds": {"uniform": [1, 2]}, "failure_rate": 0.5, "failing_hosts": ["h-1"]},
        push_interval_seconds=0,
    )  # fmt: skip
    (shape,) = scenario.shapes
    assert shape.amounts["VCPU"].capacity == 32
    assert shape.amounts["MEMORY_MB"].capacity == 7680
    assert shape.amounts["PCPU"].total == 4
    assert shape.amounts["CUSTOM_GPU"].total == 2
    assert scenario.aggregates == {"ssd": {"ssd": "true"}}
    assert scenario.flavors["small"].extra_specs == {"a": "2", "b": "true"}
    (stream,) = scenario.streams
    assert (stream.count_min, stream.count_max) == (2, 3)
    assert stream.group_name == "apart"
    assert stream.group is not None
    assert stream.group.rules == {"max_server_per_host": "2"}
    assert "group" not in stream.hints
    assert scenario.failures.keeps_instances
    assert scenario.builds.failing_hosts == ("h-1",)


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"host": []}, r"the document: found 'host'; allowed are title, duration_"),
    "wrong type": ({"title": 5}, r"title: found 5; allowed is string"),
    "number out of bounds": (
        {"hosts": [some_hosts(vcpus=-1)]}, r"hosts\[0\]\.vcpus: found -1; allowed is at least 0"
    ),
    "missing key": (
        {"flavors": {"small": {"vcpus": 1}}}, r"flavors\.small: memory_mb is missing; allowed are"
    ),
    "no hosts": ({"hosts": []}, r"hosts: found \[\]; allowed is at least 1"),
    "endless number": ({"duration_seconds": float("inf")}, r"duration_seconds: found inf"),
    "no number": ({"duration_seconds": float("nan")}, r"duration_seconds: found nan"),
    "key: no text": ({"flavors": {1: {}}}, r"flavors: found the key 1; keys must be strings"),
    "host twice": (
        {"hosts": [some_hosts(), some_hosts("h-3")]}, r"hosts\[1\]\.name: duplicate .* h-3"
    ),
    "too many hosts": (
        {"hosts": [some_hosts("h{000000..100000}")]}, r"hosts\[0\]\.name: .* 100,000 hosts"
    ),
    "too many hosts in all": (
        {"hosts": [some_hosts("a{1..60000}"), some_hosts("b{1..60000}")]},
        r"hosts\[1\]: at most 100,000 hosts",
    ),
    "bad name": ({"hosts": [some_hosts("h_{2..1}")]}, r"hosts\[0\]\.name: the range .* is empty"),
    "trait": (
        {"hosts": [some_hosts(traits=["FAST"])]}, r"hosts\[0\]\.traits\[0\]: found 'FAST'"
    ),
    "class": (
        {"hosts": [some_hosts(resources={"GPU": 1})]}, r"hosts\[0\]\.resources: found 'GPU'"
    ),
    "class with a field of its own": (
        {"hosts": [some_hosts(resources={"VCPU": 1})]}, r"found VCPU, which must be given as vcpus"
    ),
    "aggregate": (
        {"hosts": [some_hosts(aggregates=["x"])]}, r"aggregates\[0\]: found 'x'; allowed are none"
    ),
    "zone as metadata": (
        {"aggregates": {"a": {"availability_zone": "z"}}}, r"set the zone of hosts with"
    ),
    "zone called as an aggregate": (
        {"hosts": [some_hosts(zone="a")], "aggregates": {"a": {}}}, r"hosts\[0\]\.zone: an aggr"
    ),
    "reserved": (
        {"hosts": [some_hosts(reserved={"vcpus": 9})]}, r"reserved\.vcpus: found 9; the host has 8"
    ),
    "attribute": (
        {"hosts": [some_hosts(attributes={"free_ram_mb": 1})]}, r"attributes: found 'free_ram_mb'"
    ),
    "attribute's kind": (
        {"hosts": [some_hosts(attributes={"hypervisor_version": "1"})]},
        r"attributes\.hypervisor_version: found '1'; allowed is int",
    ),
    "flavor": (
        {"load": [a_stream(flavors={"big": 1})]},
        r"load\[0\]\.flavors: found 'big'; allowed are small",
    ),
    "image": (
        {"load": [a_stream(images={"x": 1})]}, r"load\[0\]\.images: found 'x'; allowed are none"
    ),
    "zone": ({"load": [a_stream(zones={"x": 1})]}, r"load\[0\]\.zones: found 'x'"),
    "group": (
        {"load": [a_stream(hints={"group": "x"})]}, r"load\[0\]\.hints\.group: found 'x'"
    ),
    "group's policy": (
        {"load": [a_stream(group={"policy": "far"})]},
        r"group\.policy: found 'far'; allowed is affinity, anti-affinity",
    ),
    "rule for another policy": (
        {"load": [a_stream(group={"policy": "affinity", "max_server_per_host": 2})]},
        r"max_server_per_host: allowed for the policy anti-affinity only",
    ),
    "lifetime": ({"load": [a_stream(lifetime="long")]}, r"load\[0\]\.lifetime: found 'long'"),
    "count": ({"load": [a_stream(count=[3, 2])]}, r"load\[0\]\.count: found \[3, 2\]"),
    "window": (
        {"load": [a_stream(start_seconds=5, end_seconds=5)]}, r"end_seconds: found 5; allowed is mo"
    ),
    "two kinds of arrivals": (
        {"load": [a_stream(arrivals={"fixed": 1, "poisson": 1})]}, r"arrivals: found .* at most 1"
    ),
    "too many requests": (
        {"duration_seconds": 1e6, "load": [a_stream(arrivals={"fixed": 2})]},
        r"load\[0\]\.arrivals: about 2,000,000 requests",
    ),
    "too many instances": (
        {"load": [a_stream(arrivals={"fixed": 100}, count=10_000)]}, r"allowed are 1,000,000 for"
    ),
    "stream twice": (
        {"load": [a_stream(name="a"), a_stream(name="a")]}, r"load\[1\]\.name: duplicate stream"
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_refused_with_its_place(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    """The file, where in it, what was found and what is allowed."""
    with pytest.raises(BadScenario, match=message) as refused:
        a_scenario(tmp_path, **changes)
    assert str(refused.value).startswith(f"{tmp_path / 'scenario.yaml'}: ")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    """With its name."""
    with pytest.raises(BadScenario, match=r"none\.yaml: the file: cannot be read: No such file"):
        read_scenario(tmp_path / "none.yaml")


def test_a_recorded_load_lies_beside_the_scenario(tmp_path: Path) -> None:
    """Wherever the program runs."""
    path = write_scenario(tmp_path, load="load.csv")
    assert read_scenario(path).recorded == tmp_path / "load.csv"
