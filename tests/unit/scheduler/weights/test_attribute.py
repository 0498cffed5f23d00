"""Weighers by one attribute: the number that a host reports is its weight."""

import pytest

from scheduler.weights.attribute import AttributeWeigher
from scheduler.weights.build_failure_weigher import BuildFailureWeigher
from scheduler.weights.disk_weigher import DiskWeigher
from scheduler.weights.hypervisor_version_weigher import HypervisorVersionWeigher
from scheduler.weights.io_ops_weigher import IoOpsWeigher
from scheduler.weights.num_instances_weigher import NumInstancesWeigher
from scheduler.weights.ram_weigher import RAMWeigher
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(
    ("weigher_class", "attribute", "value", "multiplier"),
    [
        (BuildFailureWeigher, "failed_builds", 2, -1_000_000.0),
        (DiskWeigher, "free_disk_mb", 9, 1.0),
        (HypervisorVersionWeigher, "hypervisor_version", 7_001_002, 1.0),
        (IoOpsWeigher, "num_io_ops", 3, -1.0),
        (NumInstancesWeigher, "num_instances", 3, 0.0),
        (RAMWeigher, "free_ram_mb", -7, 1.0),
    ],
)
def test_the_weight_is_the_reported_number(
    weigher_class: type[AttributeWeigher], attribute: str, value: int, multiplier: float
) -> None:
    """As it is, also below zero; an unknown one is 0; the default multiplier has the sign."""
    weigher = weigher_class(scheduling_conf())
    hosts = [a_host("host1"), a_host("host2")]
    hosts[0].values[attribute], hosts[1].values[attribute] = value, 0
    table = a_table(hosts)
    assert weigher.host_weight(table[0], a_request_spec()) == float(value)
    assert weigher.host_weights(table, a_request_spec()).tolist() == [float(value), 0.0]
    assert weigher.multipliers(table).tolist() == [multiplier, multiplier]
