"""The chance scheduler takes any host that is up and allowed."""

from typing import Any

import pytest

from armillary import exception
from objects.request_spec import Destination
from scheduler.drivers.chance_scheduler import ChanceScheduler
from tests.builders import a_flavor
from tests.fleets import OTHER_CELL, a_group, a_host, a_request_spec, scheduling_conf, some_hosts
from tests.unit.scheduler.drivers.drivers import a_driver_of, rows, select


def firsts(driver: ChanceScheduler, *, count: int = 100, **spec: Any) -> set[str]:
    return {row[0] for row in rows(select(driver, a_request_spec(**spec), count))}


def test_hosts_are_spread_over_all_that_are_up() -> None:
    """No capacity counts: the flavor fits nowhere."""
    hosts = [*some_hosts(3), a_host("down", service_up=False), a_host("off", service_disabled=True)]
    driver = a_driver_of(ChanceScheduler, hosts)
    assert firsts(driver, flavor=a_flavor(memory_mb=10**7)) == {"host1", "host2", "host3"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ignore_hosts": ["host1"]}, {"host2", "off"}),
        ({"force_hosts": ["host2"]}, {"host2"}),
        ({"force_hosts": ["off"]}, {"off"}),
        ({"requested_destination": Destination.from_values(host="host1")}, {"host1"}),
    ],
    ids=["ignored", "forced", "forced and disabled", "requested"],
)
def test_the_request_s_own_hosts_count(spec: dict[str, Any], expected: set[str]) -> None:
    """Ignored, forced and requested ones; a forced one may be disabled."""
    hosts = [*some_hosts(2), a_host("off", service_disabled="force_hosts" in spec)]
    assert firsts(a_driver_of(ChanceScheduler, hosts), **spec) == expected


def test_alternates_are_others_of_the_same_cell() -> None:
    """As many as builds may be tried, less one; none twice."""
    hosts = [*some_hosts(4), *(a_host(f"far{n}", cell=OTHER_CELL) for n in range(2))]
    driver = a_driver_of(ChanceScheduler, hosts, conf=scheduling_conf(scheduler__max_attempts=3))
    for row in rows(select(driver, count=50)):
        assert len(set(row)) == len(row) == (2 if row[0].startswith("far") else 3)
        assert len({name.startswith("far") for name in row}) == 1
    assert {len(row) for row in rows(select(driver, count=9, return_alternates=False))} == {1}


def test_nothing_is_to_be_claimed() -> None:
    """Nor limited."""
    ((chosen,),) = select(a_driver_of(ChanceScheduler, some_hosts(1))).selections()
    assert (chosen.allocation_request, chosen.limits) == ({}, None)


def test_no_host_is_explained() -> None:
    """With the numbers of those that are not to be had."""
    hosts = [*some_hosts(2, service_up=False), a_host("c", service_disabled=True), a_host("d")]
    spec = a_request_spec(ignore_hosts=["d"])
    with pytest.raises(exception.NoValidHost) as error:
        select(a_driver_of(ChanceScheduler, hosts), spec)
    sentence = error.value.kwargs["reason"]
    assert "2" in sentence
    assert "its service is down" in sentence
    assert "its service is disabled" in sentence


@pytest.mark.parametrize("policy", ["affinity", "anti-affinity"])
def test_a_policy_that_it_cannot_keep_is_refused(policy: str) -> None:
    """The others are wishes."""
    driver = a_driver_of(ChanceScheduler, some_hosts(1))
    with pytest.raises(exception.UnsupportedPolicy, match="ignores policies"):
        select(driver, a_request_spec(instance_group=a_group(policy)))
    select(driver, a_request_spec(instance_group=a_group(f"soft-{policy}")))
