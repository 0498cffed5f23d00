"""Server groups whose members are placed by several schedulers at the same time."""

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.allocations.allocation import AllocationClaim, ClaimResult
from objects.destinations import Destinations
from objects.instances.group_claim import GroupMember
from objects.instances.instance_group import InstanceGroup
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.request.scheduling_request import Outcome, SchedulingRequest
from tests.builders import a_uuid
from tests.fleets import (
    ArrayPlacement,
    Host,
    a_driver,
    a_group,
    a_request_spec,
    scheduling_conf,
    some_hosts,
)

SCHEDULERS = 8
SECONDS_MAX = 60.0


class SimultaneousPlacement(ArrayPlacement):
    """The first claims of all schedulers arrive when each has selected its host."""

    def __init__(self, hosts: Sequence[Host], schedulers: int) -> None:
        super().__init__(hosts)
        self._all_selected = threading.Barrier(schedulers)
        self._has_claimed = threading.local()
        self._one = threading.Lock()

    def claim(self, context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        if not getattr(self._has_claimed, "before", False):
            self._has_claimed.before = True
            self._all_selected.wait(SECONDS_MAX)
        with self._one:
            return super().claim(context, claims)

    def list_group_members(self, context: object, group_uuid: str) -> list[GroupMember]:
        with self._one:
            return super().list_group_members(context, group_uuid)


def placed(
    group: InstanceGroup, hosts: Sequence[Host], schedulers: int = SCHEDULERS, **spec: Any
) -> list[Outcome]:
    """Return the outcomes of requests for one member each, one by each scheduler at a time."""
    placement = SimultaneousPlacement(hosts, schedulers)
    # More than what building instances take away from a host's weight.
    conf = scheduling_conf(filter_scheduler__soft_affinity_weight_multiplier=10.0)
    drivers = [a_driver(hosts, placement=placement, conf=conf, seed=n) for n in range(schedulers)]

    def decide(driver: FilterScheduler) -> Outcome:
        request = SchedulingRequest(
            admin_context(None),
            a_request_spec(instance_group=group.obj_clone(), **spec),
            [a_uuid()],
            [1000],
        )
        return driver.select_many([request])[0]

    with ThreadPoolExecutor(schedulers) as pool:
        return list(pool.map(decide, drivers))


def members_of(outcomes: Sequence[Outcome]) -> Counter[str]:
    hosts = []
    for outcome in outcomes:
        assert isinstance(outcome, Destinations), outcome
        hosts += [row[0].service_host for row in outcome.selections()]
    return Counter(hosts)


@pytest.mark.parametrize("policy", ["anti-affinity", "soft-anti-affinity"])
def test_members_are_on_different_hosts_though_all_are_placed_together(policy: str) -> None:
    """As many hosts as members: each of them is used, hard policy or soft."""
    found = members_of(placed(a_group(policy), some_hosts(SCHEDULERS)))
    assert len(found) == SCHEDULERS


@pytest.mark.parametrize("policy", ["affinity", "soft-affinity"])
def test_members_are_on_one_host_though_all_are_placed_together(policy: str) -> None:
    """The first claim decides for all; the others follow it."""
    found = members_of(placed(a_group(policy), some_hosts(SCHEDULERS)))
    assert list(found.values()) == [SCHEDULERS]


def test_no_host_has_more_members_than_the_rule_allows() -> None:
    """Eight members on three hosts with at most three each."""
    group = a_group("anti-affinity", rules={"max_server_per_host": "3"})
    found = members_of(placed(group, some_hosts(3)))
    assert max(found.values()) == 3


def test_a_member_without_a_host_is_told_so() -> None:
    """One host fewer than members: one request fails, the others have a host each."""
    outcomes = placed(a_group("anti-affinity"), some_hosts(SCHEDULERS - 1))
    failed = [each for each in outcomes if isinstance(each, exception.NoValidHost)]
    assert len(failed) == 1
    found = members_of([each for each in outcomes if each not in failed])
    assert set(found.values()) == {1}


def test_a_forced_host_is_used_and_counted() -> None:
    """The policy does not hold for it, but others see the member there."""
    hosts = some_hosts(2)
    group = a_group("anti-affinity")
    forced = placed(group, hosts, schedulers=2, force_hosts=["host1"])
    assert members_of(forced) == {"host1": 2}


def test_members_of_other_schedulers_count_before_their_hosts_report_them() -> None:
    """Placement says where they are, so the second request does not even try their host."""
    hosts, group = some_hosts(2), a_group("anti-affinity")
    placement = ArrayPlacement(hosts)
    for number in range(2):
        driver = a_driver(hosts, placement=placement, seed=number)
        spec = a_request_spec(instance_group=group.obj_clone())
        driver.select_destinations(
            admin_context(None), spec, [a_uuid()],
            fences=[1000], return_alternates=True, dry_run=False,
        )  # fmt: skip
    assert len(placement.claim_calls) == 2
    assert len({provider for provider, _amounts in placement.consumers.values()}) == 2
