"""The filter scheduler decides, claims, explains, and leaves nothing behind when it cannot."""

import random
from collections.abc import Sequence
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import DecisionTrace
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.filters import BaseHostFilter
from scheduler.hosts.host_state import HostState
from scheduler.weights import BaseHostWeigher
from tests.builders import a_flavor, a_uuid, an_aggregate
from tests.fleets import (
    CELL,
    OTHER_CELL,
    ArrayPlacement,
    Host,
    a_driver,
    a_fleet,
    a_group,
    a_host,
    a_request_spec,
    scheduling_conf,
    some_cluster_metadata,
    some_hosts,
)

HERE = "tests.unit.scheduler.drivers.test_filter_scheduler"


class RaisingFilter(BaseHostFilter):
    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        raise KeyError("colour")


class OneByOneFilter(BaseHostFilter):
    """A filter as a beginner writes it."""

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return host_state.num_instances < 1


class NameWeigher(BaseHostWeigher):
    """A weigher as a beginner writes it."""

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return float(host_state.host[4:])


def select(
    driver: FilterScheduler,
    spec: RequestSpec | None = None,
    count: int = 1,
    *,
    uuids: Sequence[str] | None = None,
    return_alternates: bool = True,
    dry_run: bool = False,
) -> Destinations:
    uuids = uuids or [a_uuid() for _ in range(count)]
    return driver.select_destinations(
        admin_context("req-1"),
        spec or a_request_spec(),
        uuids,
        fences=list(range(1000, 1000 + len(uuids))),
        return_alternates=return_alternates,
        dry_run=dry_run,
    )


def chosen(destinations: Destinations) -> list[str]:
    return [row[0].service_host for row in destinations.selections()]


def names(destinations: Destinations) -> list[list[str]]:
    return [[each.service_host for each in row] for row in destinations.selections()]


def refused(driver: FilterScheduler, spec: RequestSpec | None = None, count: int = 1) -> Any:
    with pytest.raises(exception.NoValidHost) as caught:
        select(driver, spec, count)
    facts = caught.value.kwargs
    return {**facts, "trace": DecisionTrace.obj_from_primitive(facts["trace"])}


def of_sizes(*memory_gb: int) -> list[Host]:
    return [
        a_host(f"host{number}", total_usable_ram_mb=size * 1024)
        for number, size in enumerate(memory_gb, start=1)
    ]


# Ties ---------------------------------------------------------------------------------------------


def order_of_equal_hosts(seed: int, hosts: list[Host]) -> list[str]:
    """Return the hosts that requests for a whole host each get from one process, in their order."""
    driver = a_driver(hosts, placement=ArrayPlacement(hosts), seed=seed)
    whole = a_request_spec(flavor=a_flavor("whole", vcpus=16))
    return [name for _ in hosts for name in chosen(select(driver, whole))]


def test_each_process_takes_equal_hosts_in_an_order_of_its_own() -> None:
    """So that several of them don't all begin with the same ones. The order is random."""
    hosts = some_hosts(12)
    one, again, other = (order_of_equal_hosts(seed, hosts) for seed in (1, 1, 2))
    assert one == again
    assert sorted(one) == sorted(other) == sorted(host.name for host in hosts)
    assert len({tuple(one), tuple(other), tuple(host.name for host in hosts)}) == 3


@pytest.mark.parametrize("seed", range(4))
def test_a_better_host_comes_first_in_every_order(seed: int) -> None:
    """Only equal ones are taken in any order."""
    driver = a_driver(of_sizes(8, 64, 8, 16, 8, 32), seed=seed)
    assert names(select(driver)) == [["host2", "host6", "host4"]]


# One instance -------------------------------------------------------------------------------------


def test_the_best_host_is_claimed_and_the_next_best_are_alternates() -> None:
    """The claim carries the request's project and user, and the fence."""
    hosts = of_sizes(8, 32, 16, 4)
    placement = ArrayPlacement(hosts)
    uuid = a_uuid()
    found = select(a_driver(hosts, placement=placement), uuids=[uuid])
    assert names(found) == [["host2", "host3", "host1"]]
    ((claim,),) = placement.claim_calls
    assert (claim.consumer_uuid, claim.project_id, claim.user_id, claim.fence, claim.replace) == (
        uuid,
        "p1",
        "u1",
        1000,
        False,
    )
    assert claim.allocations == {
        hosts[1].uuid: {"resources": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}}
    }


def test_a_selection_says_all_that_is_needed_to_build_there() -> None:
    """Also an alternate's allocation request, which is not claimed."""
    hosts = of_sizes(8, 4)
    zone = an_aggregate(hosts=["host1"], metadata={"availability_zone": "north"})
    driver = a_driver(hosts, fleet=a_fleet(hosts, cluster_metadata=some_cluster_metadata([zone])))
    ((selection, alternate),) = select(driver).selections()
    assert (selection.compute_node_uuid, selection.service_host, selection.nodename) == (
        hosts[0].uuid,
        "host1",
        "host1.example.org",
    )
    assert (selection.cell_uuid, selection.availability_zone) == (CELL, "north")
    assert alternate.availability_zone == "nova"
    assert list(alternate.allocation_request) == [hosts[1].uuid]


@pytest.mark.parametrize(("attempts", "alternates"), [(1, 0), (2, 1), (9, 3)])
def test_there_are_alternates_for_all_attempts_but_the_first(
    attempts: int, alternates: int
) -> None:
    """As far as there are hosts."""
    driver = a_driver(some_hosts(4), conf=scheduling_conf(scheduler__max_attempts=attempts))
    assert len(names(select(driver))[0]) == 1 + alternates


def test_alternates_are_left_out_when_not_asked_for() -> None:
    """The answer is one column wide."""
    found = select(a_driver(some_hosts(4)), return_alternates=False)
    assert found.choices.shape == (1, 1)


def test_alternates_are_in_the_cell_of_the_selected_host() -> None:
    """A build never leaves its cell."""
    hosts = [
        a_host("host1", total_usable_ram_mb=9000),
        a_host("host2", cell=OTHER_CELL, total_usable_ram_mb=8000),
        a_host("host3", total_usable_ram_mb=7000),
    ]
    assert names(select(a_driver(hosts))) == [["host1", "host3"]]


def test_figures_of_placement_count_not_those_reported() -> None:
    """What others claimed a moment ago is not in any report yet."""
    hosts = some_hosts(2)
    placement = ArrayPlacement(hosts)
    placement.fill(hosts[0], MEMORY_MB=30000)
    assert chosen(select(a_driver(hosts, placement=placement))) == ["host2"]


def test_the_claimed_instance_is_remembered() -> None:
    """The next request sees it, though no cell has reported it yet."""
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=["NumInstancesFilter"],
        filter_scheduler__max_instances_per_host=1,
    )
    hosts = some_hosts(1)
    driver = a_driver(hosts, conf=conf)
    select(driver)
    assert "NumInstancesFilter (its number of instances is 1" in refused(driver)["reason"]


def test_the_spec_of_the_caller_is_not_changed() -> None:
    """Filters edit a copy."""
    spec = a_request_spec(instance_group=a_group("affinity"), availability_zone="nova")
    before = spec.obj_to_primitive()
    select(a_driver(some_hosts(2)), spec)
    assert spec.obj_to_primitive() == before


def test_a_plugin_in_its_simplest_form_decides_like_any_other() -> None:
    """By its class path, with one method."""
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=["ComputeFilter", f"{HERE}.OneByOneFilter"],
        filter_scheduler__weight_classes=[f"{HERE}.NameWeigher"],
    )
    hosts = [*some_hosts(2), a_host("host3", num_instances=1)]
    assert chosen(select(a_driver(hosts, conf=conf), count=2)) == ["host2", "host1"]


# Several instances --------------------------------------------------------------------------------


def test_a_large_request_is_claimed_in_one_call() -> None:
    """And spread over the hosts."""
    hosts = some_hosts(4)
    placement = ArrayPlacement(hosts)
    found = select(a_driver(hosts, placement=placement), count=8)
    assert len(placement.claim_calls) == 1
    assert sorted(chosen(found)) == [f"host{n}" for n in (1, 1, 2, 2, 3, 3, 4, 4)]
    assert len(found.hosts) == 4


def test_no_host_selected_for_any_instance_is_an_alternate() -> None:
    """Three instances on three of five hosts."""
    found = names(select(a_driver(some_hosts(5)), count=3))
    selected = {row[0] for row in found}
    assert len(selected) == 3
    assert not selected & {name for row in found for name in row[1:]}


def test_one_instance_a_host_needs_as_many_hosts() -> None:
    """Three hosts for three; with two, all claims are gone again."""
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=["NumInstancesFilter"],
        filter_scheduler__max_instances_per_host=1,
    )
    hosts = some_hosts(3)
    assert len(set(chosen(select(a_driver(hosts, conf=conf), count=3)))) == 3
    placement = ArrayPlacement(hosts[:2])
    reason = refused(a_driver(hosts[:2], conf=conf, placement=placement), count=3)["reason"]
    assert reason == (
        "Only 2 of 3 instances could be placed: all 2 hosts are ruled out by NumInstancesFilter "
        "(its number of instances is 1, the limit is 1)."
    )
    assert placement.consumers == {}


def test_members_of_a_group_are_kept_apart_within_a_request() -> None:
    """And from members that run already."""
    member = a_uuid()
    hosts = [a_host("host1", instance_uuids=[member]), a_host("host2"), a_host("host3")]
    spec = a_request_spec(instance_group=a_group("anti-affinity", members=[member]))
    assert sorted(chosen(select(a_driver(hosts), spec, 2))) == ["host2", "host3"]


def test_members_of_a_group_are_kept_together() -> None:
    """Where one runs already."""
    spec = a_request_spec(instance_group=a_group("affinity", hosts=["host2"]))
    assert set(chosen(select(a_driver(some_hosts(3)), spec, 3))) == {"host2"}


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("affinity", "ServerGroupAffinityFilter is not enabled"),
        ("anti-affinity", "ServerGroupAntiAffinityFilter is not enabled"),
        ("soft-affinity", "ServerGroupSoftAffinityWeigher is not enabled .*weight_classes"),
        (
            "soft-anti-affinity",
            "ServerGroupSoftAntiAffinityWeigher is not enabled .*weight_classes",
        ),
        ("rivalry", "unknown policy"),
    ],
)
def test_a_policy_that_no_plugin_enforces_is_an_error(policy: str, message: str) -> None:
    """It is not ignored."""
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=["ComputeFilter"],
        filter_scheduler__weight_classes=["RAMWeigher"],
    )
    driver = a_driver(some_hosts(1), conf=conf)
    with pytest.raises(exception.UnsupportedPolicy, match=message):
        select(driver, a_request_spec(instance_group=a_group(policy)))


@pytest.mark.parametrize(
    ("policy", "hosts"), [("soft-affinity", {"host2"}), ("soft-anti-affinity", {"host1", "host3"})]
)
def test_a_soft_policy_is_kept_where_it_can_be(policy: str, hosts: set[str]) -> None:
    """It outweighs hosts of the same size, and rules none out."""
    member = a_uuid()
    fleet = some_hosts(3)
    fleet[1].values["instance_uuids"] = [member]
    group = a_group(policy, members=[member], hosts=["host2"])
    spec = a_request_spec(instance_group=group)
    ((chosen, *_alternates),) = select(a_driver(fleet), spec).selections()
    assert chosen.service_host in hosts


# Claims that are refused --------------------------------------------------------------------------


def test_a_refused_claim_goes_to_the_next_host() -> None:
    """The trace tells of the conflict."""
    hosts = of_sizes(32, 16, 8)
    placement = ArrayPlacement(hosts)
    placement.refusals[hosts[0].uuid] = 1
    found = select(a_driver(hosts, placement=placement))
    assert names(found) == [["host2", "host3"]]
    (choice,) = found.trace.choices
    assert (choice["host"], choice["conflicts"][0]["host"]) == ("host2", "host1")


def test_only_refused_claims_are_made_again() -> None:
    """The others stand."""
    hosts = of_sizes(32, 31, 30)
    placement = ArrayPlacement(hosts)
    placement.refusals[hosts[1].uuid] = 1
    found = select(a_driver(hosts, placement=placement), count=3)
    assert [len(call) for call in placement.claim_calls] == [3, 1]
    assert "host2" not in chosen(found)
    assert len(placement.consumers) == 3


def test_when_every_host_refuses_nothing_is_left_behind() -> None:
    """The request fails with what happened."""
    hosts = some_hosts(2)
    placement = ArrayPlacement(hosts)
    placement.refusals.update({hosts[0].uuid: 9, hosts[1].uuid: 9})
    facts = refused(a_driver(hosts, placement=placement))
    assert facts["reason"] == (
        "All 2 hosts are ruled out by claim (claimed by other requests in the meantime)."
    )


def test_claims_that_stand_are_released_when_the_request_fails() -> None:
    """One of two instances found a host, the other's was taken."""
    hosts = some_hosts(2)
    placement = ArrayPlacement(hosts)
    placement.refusals[hosts[1].uuid] = 9
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=["NumInstancesFilter"],
        filter_scheduler__max_instances_per_host=1,
    )
    facts = refused(a_driver(hosts, placement=placement, conf=conf), count=2)
    assert placement.consumers == {}
    assert len(placement.released) == 1
    assert facts["trace"].sentence.startswith("Only 1 of 2 instances could be placed: 1 of 2 hosts")


@pytest.mark.parametrize("refusals", [0, 9], ids=["finds room", "finds none"])
def test_of_several_none_is_placed_by_what_the_same_request_claimed_before(refusals: int) -> None:
    """It came twice: the first may be heard, or may fail for another one and release the claim."""
    hosts = some_hosts(1)
    placement = ArrayPlacement(hosts)
    first = a_uuid()
    select(a_driver(hosts, placement=placement), uuids=[first])
    placement.refusals[hosts[0].uuid] = refusals
    with pytest.raises(
        exception.Conflict, match=f"instance {first} is being processed by another request"
    ):
        select(a_driver(hosts, placement=placement), uuids=[first, a_uuid()])
    assert first in placement.consumers
    assert placement.released == []


def test_an_instance_in_other_hands_ends_the_request_and_releases_nothing() -> None:
    """The new worker releases by a higher fence; these claims may be its own by now."""
    hosts = some_hosts(2)
    placement = ArrayPlacement(hosts)
    uuids = [a_uuid(), a_uuid()]
    placement.fenced.add(uuids[1])
    with pytest.raises(
        exception.Conflict, match=f"instance {uuids[1]} is being processed by another request"
    ):
        select(a_driver(hosts, placement=placement), uuids=uuids)
    assert placement.released == []


def test_a_dry_run_claims_and_remembers_nothing() -> None:
    """It answers like a real one."""
    hosts = some_hosts(3)
    placement, fleet = ArrayPlacement(hosts), a_fleet(hosts)
    found = select(a_driver(hosts, placement=placement, fleet=fleet), count=2, dry_run=True)
    assert len(names(found)) == 2
    assert placement.claim_calls == []
    table, _known = fleet.view([host.uuid for host in hosts])
    assert table.num_instances.tolist() == [0, 0, 0]


# No valid host ------------------------------------------------------------------------------------


def test_the_sentence_says_what_is_missing() -> None:
    """Of all hosts, in numbers that add up."""
    hosts = of_sizes(8, 16, 64)
    hosts[2].values["service_up"] = False
    spec = a_request_spec(flavor=a_flavor(memory_mb=32768))
    facts = refused(a_driver(hosts), spec)
    assert facts["reason"] == (
        "2 of 3 hosts lack MEMORY_MB: 32,768 asked, 16,384 free at most; the other one is ruled "
        "out by ComputeFilter (its service is down)."
    )
    assert facts["trace"].sentence == facts["reason"]
    assert facts["trace"].hosts_total == 3
    assert facts["trace"].request_id == "req-1"


def test_candidates_that_are_not_known_hosts_are_counted() -> None:
    """Placement may know providers that no cell has reported."""
    hosts = some_hosts(3)
    driver = a_driver(hosts, fleet=a_fleet(hosts[:1]), placement=ArrayPlacement(hosts[1:]))
    assert refused(driver)["reason"] == "All 2 hosts are not known to this scheduler (yet)."


def test_a_forced_host_skips_filters_but_not_placement() -> None:
    """A disabled one is ruled out by its trait, a full one by its inventory."""
    hosts = some_hosts(2)
    hosts[0].values["service_up"] = False
    placement = ArrayPlacement(hosts)
    driver = a_driver(hosts, placement=placement)
    spec = a_request_spec(force_hosts=["host1"])
    assert names(select(driver, spec)) == [["host1"]]
    placement.traits[hosts[0].uuid] = {"COMPUTE_STATUS_DISABLED"}
    assert refused(driver, spec)["reason"] == (
        "1 of 2 hosts is disabled; the other one is ruled out by force_hosts (another host is "
        "forced)."
    )


def test_a_zone_is_asked_of_placement() -> None:
    """The sentence names the aggregate."""
    hosts = some_hosts(2)
    zone = an_aggregate("n1", hosts=["host2"], metadata={"availability_zone": "north"})
    placement = ArrayPlacement(hosts)
    placement.aggregates[zone.uuid] = {hosts[1].uuid}
    driver = a_driver(
        hosts,
        placement=placement,
        fleet=a_fleet(hosts, cluster_metadata=some_cluster_metadata([zone])),
    )
    spec = a_request_spec(availability_zone="north")
    assert chosen(select(driver, spec)) == ["host2"]
    placement.fill(hosts[1], MEMORY_MB=32768)
    assert refused(driver, spec)["reason"] == (
        "1 of 2 hosts lacks MEMORY_MB: 512 asked, 0 free at most; the other one is not in "
        "aggregate n1."
    )


def test_a_default_zone_without_aggregates_is_any_host() -> None:
    """Documented: it restricts nothing."""
    assert chosen(select(a_driver(some_hosts(1)), a_request_spec(availability_zone="nova")))


def test_a_request_filter_that_refuses_is_the_reason() -> None:
    """Placement is not asked."""
    placement = ArrayPlacement(hosts := some_hosts(1))
    driver = a_driver(hosts, placement=placement)
    facts = refused(driver, a_request_spec(availability_zone="west"))
    assert "no aggregate belongs to availability zone west" in facts["reason"]
    assert facts["trace"].ruled_out[0]["kind"] == "request_filter"
    assert placement.queries == []


def test_a_question_that_placement_does_not_take_is_the_reason() -> None:
    """It would not take it later, either."""
    placement = ArrayPlacement(hosts := some_hosts(1))

    def refuse(*_: object) -> None:
        raise exception.InvalidResourceQuery(reason="a trait is required and forbidden")

    placement.get_allocation_candidates = refuse  # type: ignore[assignment,method-assign]
    facts = refused(a_driver(hosts, placement=placement))
    assert "a trait is required and forbidden" in facts["reason"]


def test_a_broken_plugin_costs_one_request_its_explained_failure() -> None:
    """The scheduler goes on, and so does the log."""
    conf = scheduling_conf(filter_scheduler__enabled_filters=[f"{HERE}.RaisingFilter"])
    facts = refused(a_driver(some_hosts(1), conf=conf))
    assert facts["reason"] == "RaisingFilter failed; the scheduler's log says why."


# The trace ----------------------------------------------------------------------------------------


def test_the_trace_adds_up_to_the_fleet() -> None:
    """What placement, the table and the filters took away, and what was chosen from."""
    hosts = [a_host("small", total_usable_ram_mb=100), *some_hosts(4)]
    hosts[1].values["service_disabled"] = True
    driver = a_driver(hosts, fleet=a_fleet(hosts[:4]), placement=ArrayPlacement(hosts))
    trace = select(driver).trace
    assert trace.hosts_total == 5
    shown = [(rule["name"], rule["count"], rule["hosts"]) for rule in trace.ruled_out]
    assert shown == [("MEMORY_MB", 1, ["small"])]
    assert (trace.candidates, trace.unknown) == (4, 1)
    assert trace.filters[0] == {
        "name": "ComputeFilter",
        "before": 3,
        "removed": 1,
        "reasons": [{"reason": "its service is disabled", "count": 1}],
        "hosts": ["host1"],
    }
    assert [entry["before"] for entry in trace.filters] == [3, *[2] * 7]


def test_the_trace_has_the_weights_of_the_winner_and_of_those_behind() -> None:
    """As many as configured, each with its shares: of weighers that weigh something."""
    conf = scheduling_conf(scheduler__trace_runners_up_max=1)
    (choice,) = select(a_driver(of_sizes(32, 16, 8), conf=conf)).trace.choices
    assert choice["host"] == "host1"
    assert sum(share["weight"] for share in choice["shares"].values()) == choice["weight"]
    assert set(choice["shares"]) == {
        "CPUWeigher",
        "RAMWeigher",
        "DiskWeigher",
        "IoOpsWeigher",
        "PCIWeigher",
        "HypervisorVersionWeigher",
        "BuildFailureWeigher",
    }
    assert [each["host"] for each in choice["runners_up"]] == ["host2"]


def test_the_trace_has_the_time_of_each_stage() -> None:
    """And of all of them."""
    timings = select(a_driver(some_hosts(2))).trace.timings_ms
    assert set(timings) == {
        "request_filters",
        "candidates",
        "hosts",
        "filters",
        "weigh",
        "choose",
        "claim",
        "alternates",
        "total",
    }
    assert timings["total"] >= max(timings.values())


def test_the_random_source_is_the_injected_one() -> None:
    """The same seed decides the same."""
    conf = scheduling_conf(filter_scheduler__host_subset_size=5)
    hosts = some_hosts(5)
    runs = [chosen(select(a_driver(hosts, conf=conf, seed=7), count=20)) for _ in range(2)]
    assert runs[0] == runs[1]
    random.seed(1)
    assert chosen(select(a_driver(hosts, conf=conf, seed=7), count=20)) == runs[0]
