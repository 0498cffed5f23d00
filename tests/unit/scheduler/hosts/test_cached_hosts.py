"""Hosts as of the last refresh: each decision has its own, what is placed is seen by the next."""

import numpy as np

from scheduler.hosts.cached_hosts import CachedHosts, ReportedUsage, changes_of
from tests.builders import a_flavor, a_uuid
from tests.fleets import Clock, Host, a_fleet, a_host, a_request_spec, scheduling_conf


def cached(*hosts: Host) -> CachedHosts:
    conf = scheduling_conf()
    return CachedHosts(conf, host_store=a_fleet(hosts, conf=conf), clock=Clock())


def test_what_is_placed_is_seen_by_the_next_decision_only() -> None:
    """In amounts, in numbers, and by its UUID."""
    host, uuid, spec = a_host("a"), a_uuid(), a_request_spec()
    hosts = cached(host)
    current = hosts.ledger(spec).hosts
    hosts.place(spec, [(host.uuid, uuid), (a_uuid(), a_uuid())])
    (before,), (after,) = current, hosts.ledger(spec).hosts
    assert (before.free_ram_mb, before.num_instances, before.instances) == (32768, 0, frozenset())
    assert (after.free_ram_mb, after.num_instances) == (32256, 1)
    assert after.instances == {uuid}
    assert (after.vcpus_used, after.free_disk_mb, after.num_io_ops) == (1, 510976, 1)


def test_what_a_decision_uses_up_is_its_own() -> None:
    """Until it is placed."""
    hosts, spec = cached(a_host("a")), a_request_spec()
    hosts.ledger(spec).consume(0, a_uuid())
    (host,) = hosts.ledger(spec).hosts
    assert (host.free_ram_mb, host.num_instances) == (32768, 0)


def test_each_request_uses_up_what_its_own_flavor_says() -> None:
    """Several in one placement, too."""
    host = a_host("a")
    hosts, spec = cached(host), a_request_spec()
    hosts.ledger(spec)
    bigger = spec.with_values(flavor=spec.flavor.with_values(memory_mb=1024))
    hosts.place(spec, [(host.uuid, a_uuid()), (host.uuid, a_uuid())])
    hosts.place(bigger, [(host.uuid, a_uuid())])
    (shown,) = hosts.ledger(spec).hosts
    assert (shown.free_ram_mb, shown.num_instances) == (32768 - 2048, 3)


# Usage by report ----------------------------------------------------------------------------------

FIGURES = {
    "vcpus_used": np.array([0, 4]),
    "free_ram_mb": np.array([8192, 100]),
    "free_disk_mb": np.array([10240, 0]),
    "disk_mb_used": np.array([0, 10240]),
}
FLAVOR = a_flavor(vcpus=2, memory_mb=512, root_gb=2, ephemeral_gb=1, swap_mb=4096)


def test_swap_is_not_a_part_of_what_is_used_up() -> None:
    """Root and ephemeral disk are."""
    usage = ReportedUsage(FIGURES, changes_of(a_request_spec(flavor=FLAVOR)))
    usage.add(0)
    assert usage.attributes_at(0) == {
        "vcpus_used": 2,
        "free_ram_mb": 7680,
        "free_disk_mb": 7168,
        "disk_mb_used": 3072,
    }
    assert usage.attributes_at(1)["free_ram_mb"] == 100


def test_an_added_instance_can_be_subtracted_and_counts_in_one_usage_only() -> None:
    """The usage of some hosts leaves the figures that it was made from as they are."""
    usage = ReportedUsage(FIGURES, changes_of(a_request_spec(flavor=FLAVOR))).take(np.array([1]))
    candidate = usage.add(0)
    assert usage.attributes()["free_ram_mb"].tolist() == [-412]
    usage.subtract(0, candidate)
    assert usage.attributes()["free_ram_mb"].tolist() == [100]
    assert FIGURES["free_ram_mb"].tolist() == [8192, 100]
