"""Extra specs are held against what a host reports."""

import json
from typing import Any

import pytest

from scheduler.filters.compute_capabilities_filter import ComputeCapabilitiesFilter
from scheduler.hosts.host_table import HostTable
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

CPU = {
    "arch": "x86_64",
    "features": ["aes", "avx"],
    "topology": {"cores": 4},
    "maxphysaddr": {"mode": "emulate", "bits": 42},
}


def the_host(**values: Any) -> HostTable:
    reported = {
        "hypervisor_type": "simulated",
        "free_ram_mb": 4096,
        "cpu_info": json.dumps(CPU),
        "stats": {"num_vm_active": "3", "colour": "red"},
    }
    return a_table([a_host(**{**reported, **values})])


@pytest.mark.parametrize(
    ("extra_specs", "passes"),
    [
        ({}, True),
        ({"capabilities:hypervisor_type": "simulated"}, True),
        ({"capabilities:hypervisor_type": "kvm"}, False),
        ({"capabilities:service:disabled": "False"}, True),
        ({"capabilities:service:disabled": "True"}, False),
        ({"capabilities:service:version": ">= 999"}, False),
        ({"service": "anything"}, True),
        ({"capabilities:hypervisor_type": "<or> kvm <or> simulated"}, True),
        ({"capabilities:free_ram_mb": ">= 4096"}, True),
        ({"capabilities:free_ram_mb": ">= 4097"}, False),
        ({"capabilities:service_up": "True"}, True),
        ({"capabilities:colour": "red"}, True),
        ({"capabilities:colour": "blue"}, False),
        ({"capabilities:no_such_thing": "1"}, False),
        ({"capabilities:cpu_info:arch": "x86_64"}, True),
        ({"capabilities:cpu_info:features": "<in> avx"}, True),
        ({"capabilities:cpu_info:features": "<in> avx512"}, False),
        ({"capabilities:cpu_info:topology:cores": ">= 4"}, True),
        ({"capabilities:cpu_info:topology:cores:deeper": "1"}, False),
        ({"capabilities:hypervisor_type:deeper": "1"}, False),
        ({"capabilities:": "1"}, False),
        ({"capabilities:_hosts": "1"}, False),
        ({"hw:maxphysaddr_bits": "42"}, True),
        ({"hw:maxphysaddr_bits": "43"}, False),
        ({"hw:cpu_policy": "dedicated"}, True),
        ({"trait:CUSTOM_A": "required"}, True),
        ({"hypervisor_type": "simulated"}, True),
        ({"hypervisor_type": "kvm"}, False),
        ({"colour": "blue"}, False),
        ({"no_such_thing": "1"}, True),
        ({"group_policy": "none"}, True),
        ({"capabilities:free_ram_mb": ">= plenty"}, False),
        ({"capabilities:hypervisor_type": ">= 4"}, False),
        ({"capabilities:hypervisor_type": "<or>"}, False),
        ({"capabilities:hypervisor_type": "simulated", "colour": "blue"}, False),
    ],
    ids=str,
)
def test_a_host_passes_when_it_meets_all_demands(extra_specs: dict[str, str], passes: bool) -> None:
    """Scoped and not, on attributes and statistics, deep and shallow, sane and not."""
    each, spec = ComputeCapabilitiesFilter(scheduling_conf()), a_request_spec(extra_specs)
    hosts = the_host()
    assert each.host_passes(hosts[0], spec) is passes
    assert each.host_mask(hosts, spec).tolist() == [passes]


@pytest.mark.parametrize("cpu_info", ["", "no json", "[1]", "[" * 100000], ids=len)
def test_cpu_info_that_cannot_be_read_fails_the_host(cpu_info: str) -> None:
    """Not the request."""
    each = ComputeCapabilitiesFilter(scheduling_conf())
    spec = a_request_spec({"capabilities:cpu_info:arch": "x86_64"})
    assert not each.host_passes(the_host(cpu_info=cpu_info)[0], spec)


@pytest.mark.parametrize(
    ("extra_specs", "reason"),
    [
        ({"capabilities:free_ram_mb": ">= 5000"}, "capabilities:free_ram_mb is 4096"),
        ({"capabilities:no_such_thing": "1"}, "capabilities:no_such_thing is not reported"),
        ({"capabilities:cpu_info:arch": "arm"}, "capabilities:cpu_info:arch is x86_64"),
    ],
    ids=str,
)
def test_the_reason_is_what_the_host_reports(extra_specs: dict[str, str], reason: str) -> None:
    """For the first demand that it does not meet."""
    each = ComputeCapabilitiesFilter(scheduling_conf())
    assert each.explain(the_host()[0], a_request_spec(extra_specs)) == reason
