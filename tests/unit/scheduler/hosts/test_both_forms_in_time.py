"""Both forms of a plugin agree later, too: when hosts reported again, came, went, or were chosen.

That concerns plugins that keep what they made of hosts' reports.
"""

from typing import Any

import numpy as np
import pytest

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters import BaseHostFilter
from scheduler.filters.affinity.type_affinity_filter import TypeAffinityFilter
from scheduler.filters.metrics_filter import MetricsFilter
from scheduler.filters.numa_topology_filter import NUMATopologyFilter
from scheduler.filters.pci_passthrough_filter import PciPassthroughFilter
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.weights import BaseHostWeigher
from scheduler.weights.image_cache_weigher import ImageCacheWeigher
from scheduler.weights.image_properties_weigher import _PROPERTIES_MAX, ImagePropertiesWeigher
from scheduler.weights.metrics_weigher import MetricsWeigher
from scheduler.weights.pci_weigher import PCIWeigher
from tests.builders import a_flavor, an_image
from tests.fixtures.fleets.numa_fleets import (
    a_guest,
    a_host_cell,
    a_host_topology,
    a_pci_request,
    a_pool,
)
from tests.fleets import Host, a_batch, a_fleet, a_host, a_request_spec, scheduling_conf

CONF = scheduling_conf(
    metrics__weight_setting=["cpu.percent=2", "cpu.frequency=-0.1"],
    metrics__required=False,
    filter_scheduler__image_props_weight_multiplier=1.0,
)
PLUGINS = [
    MetricsFilter,
    TypeAffinityFilter,
    NUMATopologyFilter,
    PciPassthroughFilter,
    MetricsWeigher,
    ImagePropertiesWeigher,
    ImageCacheWeigher,
    PCIWeigher,
]
IMAGE = an_image(properties={"hw_vm_mode": "hvm"})
SPECS = [
    a_request_spec(flavor=a_flavor("small"), image=IMAGE),
    a_request_spec(flavor=a_flavor("x"), pci_requests=[a_pci_request().to_plain()]),
    a_request_spec(
        numa_topology=a_guest(pinned=4).to_plain(), image=an_image(properties={"os_type": "linux"})
    ),
]


def values(number: int) -> dict[str, Any]:
    """Return what a host reports, another for nearly each number."""
    pinned = frozenset(range(4, 4 + number % 5))
    metrics = [
        {"name": "cpu.percent", "value": number / 10},
        {"name": "cpu.frequency", "value": number},
    ]
    return {
        "metrics": metrics[number % 3 == 0 :],
        "instance_flavors": {f"id-{'small' if number % 2 else 'x'}": number % 3},
        "instance_image_properties": {"hw_vm_mode=hvm": number, "os_type=linux": number % 2},
        "numa_topology": a_host_topology(a_host_cell(pinned=pinned, cpus_used=number)).to_plain(),
        "cached_images": [IMAGE.id] if number % 3 else None,
        "pci_stats": [a_pool(count=number)] if number % 4 else [],
    }


def moments() -> list[HostTable]:
    """Return what four decisions see, the first of them last."""
    hosts = [a_host(f"host{number}", **values(number)) for number in range(6)]
    fleet = a_fleet(hosts)

    def view(some: list[Host]) -> HostTable:
        return fleet.view([host.uuid for host in some])[0]

    first = view(hosts)
    hosts[1].values, hosts[4].values = values(10), values(11)
    fleet.apply(a_batch([hosts[1], hosts[4]], first_seq=1, last_seq=2))
    second = view(hosts[::-1])
    more = [a_host(f"more{number}", **values(number + 20)) for number in range(70)]
    fleet.apply(a_batch(more, first_seq=2, last_seq=3, removed=[hosts[0].uuid]))
    third, ledger = view([*hosts, *more]), HostLedger(view([*more[3:9], *hosts]))
    last = ledger.hosts
    ledger.consume(2, "00000000-0000-0000-0000-000000000001")
    last.column("pci_stats")[2] = []
    last.column("numa_topology")[2] = None
    return [first, second, third, last, first]


def answers(plugin: Any, hosts: HostTable, spec: RequestSpec) -> tuple[list[Any], list[Any]]:
    if isinstance(plugin, BaseHostFilter):
        mask = filters.mask_of(plugin, hosts, spec)
        return mask.tolist(), [plugin.host_passes(host, spec) for host in hosts]
    assert isinstance(plugin, BaseHostWeigher)
    weights = plugin.host_weights(hosts, spec)
    return weights.tolist(), [plugin.host_weight(host, spec) for host in hosts]


@pytest.mark.parametrize("plugin", PLUGINS)
def test_the_answer_for_all_is_that_for_each_at_any_time(plugin: Any) -> None:
    """One plugin serves all requests of a scheduler's life."""
    made = plugin(CONF)
    said = set()
    for hosts in moments():
        for spec in SPECS:
            of_all, of_each = answers(made, hosts, spec)
            assert of_all == of_each
            said.update(of_all)
    assert len(said) > 1


def test_another_option_counts_immediately() -> None:
    """For hosts that reported before, too."""
    conf = scheduling_conf(metrics__weight_setting=["cpu.percent=2"], metrics__required=False)
    hosts, spec = moments()[0], SPECS[0]
    made = [MetricsFilter(conf), MetricsWeigher(conf)]
    for setting in (["cpu.frequency=1"], ["cpu.frequency=1", "cpu.percent=-1"], []):
        for each in made:
            answers(each, hosts, spec)
        conf.set_override("weight_setting", setting, group="metrics")
        for each in made:
            of_all, of_each = answers(each, hosts, spec)
            assert of_all == of_each


def test_images_of_more_properties_than_are_remembered_are_weighed() -> None:
    """In full, also the second time."""
    wanted = {f"p{number}": "1" for number in range(_PROPERTIES_MAX + 10)}
    counts = {f"{name}=1": 1 for name in wanted}
    hosts = HostTable.from_values([{"instance_image_properties": counts}, {}])
    weigher = ImagePropertiesWeigher(CONF)
    spec = a_request_spec(image=an_image(properties=wanted))
    for _ in range(2):
        assert np.array_equal(weigher.host_weights(hosts, spec), [len(wanted), 0])
