"""Requests that are decided together: each gets a valid answer of its own, nothing twice."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary import exception
from armillary.context import admin_context
from objects.allocations.allocation import AllocationClaim, ClaimResult
from objects.allocations.resource_query import ResourceQuery
from objects.destinations import Destinations
from objects.instances.instance_group import InstanceGroup
from objects.packed.scheduling_batch import SchedulingAnswers
from objects.request_spec import RequestSpec
from objects.traces.decision_trace import DecisionTrace
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.request.scheduling_request import Outcome, SchedulingRequest
from tests.builders import a_flavor, a_uuid
from tests.fixtures.plugins.examples import examples
from tests.fleets import (
    ArrayPlacement,
    Host,
    a_driver,
    a_group,
    a_host,
    a_request_spec,
    scheduling_conf,
    some_hosts,
)

SECONDS_MAX = 60.0


def a_request(spec: RequestSpec | None = None, count: int = 1, **values: Any) -> SchedulingRequest:
    return SchedulingRequest(
        admin_context(values.pop("request_id", None)),
        spec or a_request_spec(),
        values.pop("uuids", None) or [a_uuid() for _ in range(count)],
        [1000] * count,
        **values,
    )


def a_spec_of(vcpus: int) -> RequestSpec:
    return a_request_spec(flavor=a_flavor(flavorid=f"f{vcpus}", name=f"f{vcpus}", vcpus=vcpus))


def hosts_of(outcome: Outcome) -> list[str]:
    assert isinstance(outcome, Destinations), outcome
    return [row[0].service_host for row in outcome.selections()]


def sentence(outcome: Outcome) -> str:
    assert isinstance(outcome, exception.NoValidHost), outcome
    return str(outcome.kwargs["reason"])


def with_cpus(*vcpus: int) -> list[Host]:
    return [a_host(f"host{n}", vcpus_total=count) for n, count in enumerate(vcpus, start=1)]


# One message -------------------------------------------------------------------------------------


def test_equal_requests_take_one_question_and_one_message_of_claims() -> None:
    """Each has its own host: all see what the ones before were given."""
    hosts = some_hosts(4)
    placement = ArrayPlacement(hosts)
    found = a_driver(hosts, placement=placement).select_many([a_request() for _ in range(4)])
    assert len({name for outcome in found for name in hosts_of(outcome)}) == 4
    assert len(placement.queries) == 1
    assert [len(call) for call in placement.claim_calls] == [4]


def test_what_placement_and_filters_said_about_equal_requests_is_sent_once() -> None:
    """Otherwise the answer grows with each request, and with each filter."""
    hosts = some_hosts(4)
    found = a_driver(hosts, placement=ArrayPlacement(hosts)).select_many(
        [a_request() for _ in range(3)]
    )
    answers = SchedulingAnswers.of(found)
    assert len(answers.traces["found"]) == 1
    traces = [each.trace for each in answers.unpacked() if isinstance(each, Destinations)]
    assert [len(trace.filters) for trace in traces] == [len(traces[0].filters)] * 3
    assert traces[0].filters


def test_different_requests_share_the_message_of_claims_and_see_each_other() -> None:
    """No host is given to both, whichever is decided first."""
    hosts = with_cpus(4, 4)
    placement = ArrayPlacement(hosts)
    driver = a_driver(hosts, placement=placement)
    found = driver.select_many([a_request(a_spec_of(4)), a_request(a_spec_of(3))])
    assert {name for outcome in found for name in hosts_of(outcome)} == {"host1", "host2"}
    assert [len(call) for call in placement.claim_calls] == [2]


@pytest.mark.parametrize("count", [1, 2])
def test_a_request_that_came_twice_has_what_each_of_its_answers_says(count: int) -> None:
    """The broker may deliver it again: the answers name what is claimed, or one is refused."""
    hosts = some_hosts(4)
    placement = ArrayPlacement(hosts)
    uuids = [a_uuid() for _ in range(count)]
    twice = [a_request(uuids=uuids, count=count) for _ in range(2)]
    found = a_driver(hosts, placement=placement).select_many([*twice, a_request()])
    answered = [outcome for outcome in found[:2] if isinstance(outcome, Destinations)]
    assert answered
    assert all(isinstance(each, Destinations | exception.Conflict) for each in found)
    for outcome in answered:
        for uuid, (selection, *_) in zip(uuids, outcome.selections(), strict=True):
            claimed, _amounts = placement.consumers[uuid]
            assert selection.compute_node_uuid == claimed
            assert list(selection.allocation_request) == [claimed]


def test_a_no_touches_no_other_request() -> None:
    """It has its own sentence and its own trace."""
    hosts = with_cpus(4, 4)
    requests = [a_request(a_spec_of(2)), a_request(a_spec_of(9), request_id="req-9"), a_request()]
    found = a_driver(hosts).select_many(requests)
    assert len({*hosts_of(found[0]), *hosts_of(found[2])}) == 2
    assert sentence(found[1]).startswith("All 2 hosts lack VCPU: 9 asked")
    assert isinstance(found[1], exception.NoValidHost)
    trace = DecisionTrace.obj_from_primitive(found[1].kwargs["trace"])
    assert trace.request_id == "req-9"


def test_those_for_whom_no_room_is_left_are_told_so_in_their_order() -> None:
    """The first ones got it; nothing of a failed one stays claimed."""
    hosts = with_cpus(2)
    placement = ArrayPlacement(hosts)
    driver = a_driver(hosts, placement=placement)
    found = driver.select_many([a_request(count=count) for count in (1, 2, 1, 1)])
    kinds = ["placed" if isinstance(each, Destinations) else "refused" for each in found]
    assert kinds == ["placed", "refused", "placed", "refused"]
    assert len(placement.consumers) == 2


def test_a_request_of_several_gets_all_or_nothing() -> None:
    """What it gave back goes to the next one."""
    hosts = with_cpus(2, 1)
    found = a_driver(hosts).select_many([a_request(count=4), a_request(count=3)])
    assert isinstance(found[0], exception.NoValidHost)
    assert Counter(hosts_of(found[1])) == {"host1": 2, "host2": 1}


def test_room_that_was_only_promised_is_found_in_a_second_look() -> None:
    """The claim that it was promised to fails: another caller acts for the instance."""
    hosts = with_cpus(1)
    placement = ArrayPlacement(hosts)
    gone, other = a_uuid(), a_uuid()
    placement.fenced.add(gone)
    driver = a_driver(hosts, placement=placement)
    found = driver.select_many([a_request(uuids=[gone]), a_request(uuids=[other])])
    assert isinstance(found[0], exception.Conflict)
    assert hosts_of(found[1]) == ["host1"]


def test_refused_claims_go_round_again_while_others_stand() -> None:
    """The refused one has the next best host, and its trace says why."""
    hosts = some_hosts(3)
    placement = ArrayPlacement(hosts)
    placement.refusals[hosts[0].uuid] = 1
    found = a_driver(hosts, placement=placement).select_many([a_request(), a_request()])
    assert {name for each in found for name in hosts_of(each)} == {"host2", "host3"}
    assert [len(call) for call in placement.claim_calls] == [2, 1]
    assert isinstance(found[0], Destinations)
    assert [each["host"] for each in found[0].trace.choices[0]["conflicts"]] == ["host1"]


def test_members_of_one_group_stay_apart_though_none_knows_of_the_other() -> None:
    """Equal requests of a group are decided on what any of them knows of it."""
    hosts = some_hosts(3)
    group = a_group("anti-affinity")
    knowing = group.with_values(hosts=["host1"])
    specs = [a_request_spec(instance_group=each) for each in (group, knowing, group.obj_clone())]
    found = a_driver(hosts).select_many([a_request(spec) for spec in specs])
    assert sorted(hosts_of(found[0]) + hosts_of(found[1])) == ["host2", "host3"]
    assert isinstance(found[2], exception.NoValidHost)


def test_specs_are_not_changed() -> None:
    """They are the callers'."""
    spec = a_request_spec(instance_group=a_group("anti-affinity"))
    before = spec.obj_to_primitive()
    a_driver(some_hosts(3)).select_many([a_request(spec), a_request(spec)])
    assert spec.obj_to_primitive() == before


def test_a_dry_run_among_them_takes_nothing() -> None:
    """And is decided apart."""
    hosts = with_cpus(3)
    placement = ArrayPlacement(hosts)
    driver = a_driver(hosts, placement=placement)
    found = driver.select_many([a_request(dry_run=True), a_request(count=2)])
    assert [hosts_of(each) for each in found] == [["host1"], ["host1", "host1"]]
    assert len(placement.consumers) == 2
    assert hosts_of(driver.select_many([a_request()])[0]) == ["host1"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (exception.RpcTimeout(method="claim", topic="placement", timeout_seconds=1), "RpcTimeout"),
        (exception.Unavailable(reason="busy"), "Unavailable"),
    ],
    ids=["outcome unknown", "busy"],
)
def test_an_error_of_the_claims_is_that_of_all_in_the_message(
    error: exception.ArmillaryError, kind: str
) -> None:
    """And what was promised to them is free for the next one."""
    hosts = with_cpus(2)
    placement = ArrayPlacement(hosts)
    driver = a_driver(hosts, placement=placement)
    real = placement.claim

    def fail(context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        placement.claim = real  # type: ignore[method-assign]
        raise error

    placement.claim = fail  # type: ignore[method-assign]
    found = driver.select_many([a_request(), a_request()])
    assert [type(each).__name__ for each in found] == [kind, kind]
    assert hosts_of(driver.select_many([a_request(count=2)])[0]) == ["host1", "host1"]


def test_a_claim_that_makes_no_sense_harms_no_other() -> None:
    """Placement refuses the message with it; then each goes alone."""
    hosts = some_hosts(3)
    placement = ArrayPlacement(hosts)
    real = placement.claim
    bad = a_uuid()

    def check(context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        if any(claim.consumer_uuid == bad for claim in claims):
            raise exception.Invalid(reason="no such consumer")
        return real(context, claims)

    placement.claim = check  # type: ignore[method-assign]
    driver = a_driver(hosts, placement=placement)
    with Held(driver, placement) as held:
        first = held.send(a_request())
        others = [held.send(a_request()), held.send(a_request(uuids=[bad]))]
        held.let_go()
        found = [each.result(SECONDS_MAX)[0] for each in (first, *others)]
    assert [isinstance(each, Destinations) for each in found] == [True, True, False]


# Threads ------------------------------------------------------------------------------------------


class Held:
    """Sends requests from threads, and holds placement's first answer until told to let go."""

    def __init__(self, driver: FilterScheduler, placement: ArrayPlacement) -> None:
        self._driver = driver
        self._go_on, self._asked = threading.Event(), threading.Event()
        self._callers = ThreadPoolExecutor(16)
        real = placement.get_allocation_candidates

        def ask(context: object, query: ResourceQuery) -> Any:
            found = real(context, query)
            if not self._asked.is_set():
                self._asked.set()
                assert self._go_on.wait(SECONDS_MAX)
            return found

        placement.get_allocation_candidates = ask  # type: ignore[method-assign]

    def __enter__(self) -> Held:
        return self

    def __exit__(self, *_: object) -> None:
        self._go_on.set()
        self._callers.shutdown()

    def send(self, *requests: SchedulingRequest) -> Any:
        sent = self._callers.submit(self._driver.select_many, requests)
        assert self._asked.wait(SECONDS_MAX)
        return sent

    def let_go(self) -> None:
        self._go_on.set()


def test_a_request_that_depends_on_no_other_is_not_kept_waiting() -> None:
    """Another kind of request is decided while placement's answer for the first one is held."""
    hosts = some_hosts(3)
    placement = ArrayPlacement(hosts)
    driver = a_driver(hosts, placement=placement)
    with Held(driver, placement) as held:
        first = held.send(a_request())
        assert hosts_of(driver.select_many([a_request(a_spec_of(2))])[0])
        assert not first.done()
        held.let_go()
        assert hosts_of(first.result(SECONDS_MAX)[0])


def test_what_was_chosen_meanwhile_is_seen() -> None:
    """Placement's answer for the first one is older than the claim of the second one."""
    hosts = with_cpus(2, 1)
    placement = ArrayPlacement(hosts)
    driver = a_driver(hosts, placement=placement)
    with Held(driver, placement) as held:
        first = held.send(a_request())
        assert hosts_of(driver.select_many([a_request(a_spec_of(2))])[0]) == ["host1"]
        held.let_go()
        (found,) = first.result(SECONDS_MAX)
    assert hosts_of(found) == ["host2"]
    assert [each["name"] for each in found.trace.filters if each["removed"]] == ["promised"]
    assert all(len(call) == 1 for call in placement.claim_calls)
    assert len(placement.claim_calls) == 2  # none was refused


# Any batch ----------------------------------------------------------------------------------------

A_REQUEST = st.tuples(st.sampled_from([1, 2, 3]), st.integers(1, 3))


@settings(max_examples=examples(60), deadline=None)
@given(
    cpus=st.lists(st.integers(1, 6), min_size=1, max_size=6),
    asked=st.lists(A_REQUEST, min_size=1, max_size=8),
    refusals=st.dictionaries(st.integers(0, 5), st.integers(0, 2), max_size=3),
    max_instances=st.integers(1, 4),
    together=st.sampled_from(["one message", "threads", "one by one"]),
)
def test_every_request_gets_a_valid_answer(
    cpus: list[int],
    asked: list[tuple[int, int]],
    refusals: dict[int, int],
    max_instances: int,
    together: str,
) -> None:
    """Capacity and filters hold, claims stand for what was answered, alternates are sane."""
    hosts = with_cpus(*cpus)
    placement = ArrayPlacement(hosts)
    placement.refusals.update({hosts[n].uuid: c for n, c in refusals.items() if n < len(hosts)})
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=["NumInstancesFilter"],
        filter_scheduler__max_instances_per_host=max_instances,
    )
    driver = a_driver(hosts, placement=placement, conf=conf)
    requests = [a_request(a_spec_of(vcpus), count) for vcpus, count in asked]
    outcomes = WAYS[together](driver, requests)
    assert all(isinstance(each, Destinations | exception.NoValidHost) for each in outcomes)
    _check_claims(placement, requests, outcomes, max_instances)
    for outcome in outcomes:
        if isinstance(outcome, Destinations):
            _check_alternates(outcome)


@settings(max_examples=examples(40), deadline=None)
@given(
    cpus=st.lists(st.integers(1, 6), min_size=1, max_size=5),
    counts=st.lists(st.integers(1, 3), min_size=1, max_size=6),
    policy=st.sampled_from([None, "anti-affinity", "affinity", "soft-anti-affinity"]),
)
def test_equal_requests_get_the_same_hosts_as_one_by_one(
    cpus: list[int], counts: list[int], policy: str | None
) -> None:
    """Without other requests a batch is as good as a queue, whatever the group's policy."""
    conf = scheduling_conf()
    uuids = [[a_uuid() for _ in range(count)] for count in counts]
    group = a_group(policy, members=[uuid for some in uuids for uuid in some]) if policy else None
    hosts = with_cpus(*cpus)
    driver = a_driver(hosts, conf=conf)
    together = driver.select_many(
        [a_request(_in_group(group), len(some), uuids=some) for some in uuids]
    )
    driver = a_driver(hosts, conf=conf)
    known: list[str] = []  # as a super conductor knows them
    for some, outcome in zip(uuids, together, strict=True):
        request = a_request(_in_group(group, known), len(some), uuids=some)
        alone = driver.select_many([request])[0]
        assert _in_short(outcome) == _in_short(alone)
        known += hosts_of(alone) if isinstance(alone, Destinations) else []


def _in_group(group: InstanceGroup | None, hosts: Sequence[str] = ()) -> RequestSpec:
    return a_request_spec(instance_group=group and group.with_values(hosts=list(hosts)))


def _in_short(outcome: Outcome) -> object:
    return hosts_of(outcome) if isinstance(outcome, Destinations) else type(outcome)


def _one_by_one(driver: FilterScheduler, requests: Sequence[SchedulingRequest]) -> list[Outcome]:
    return [driver.select_many([each])[0] for each in requests]


def _in_threads(driver: FilterScheduler, requests: Sequence[SchedulingRequest]) -> list[Outcome]:
    with ThreadPoolExecutor(8) as callers:
        sent = [callers.submit(driver.select_many, [each]) for each in requests]
        return [each.result(SECONDS_MAX)[0] for each in sent]


WAYS: dict[str, Callable[[FilterScheduler, Sequence[SchedulingRequest]], list[Outcome]]] = {
    "one message": lambda driver, requests: driver.select_many(requests),
    "one by one": _one_by_one,
    "threads": _in_threads,
}


def _check_claims(
    placement: ArrayPlacement,
    requests: Sequence[SchedulingRequest],
    outcomes: Sequence[Outcome],
    max_instances: int,
) -> None:
    answered = {
        uuid: row[0].compute_node_uuid
        for request, outcome in zip(requests, outcomes, strict=True)
        if isinstance(outcome, Destinations)
        for uuid, row in zip(request.instance_uuids, outcome.selections(), strict=True)
    }
    assert {uuid: node for uuid, (node, _) in placement.consumers.items()} == answered
    assert (placement.used <= placement.total * placement.ratio).all()
    assert all(count <= max_instances for count in Counter(answered.values()).values())


def _check_alternates(outcome: Destinations) -> None:
    chosen = {row[0].service_host for row in outcome.selections()}
    for row in outcome.selections():
        names = [each.service_host for each in row]
        assert len(set(names)) == len(names)
        assert chosen.isdisjoint(names[1:])
