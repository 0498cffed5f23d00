"""Placement itself answers: with pinned CPUs in two ways, for one host by that host alone."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext, admin_context
from objects.allocations.allocation import AllocationClaim, ClaimResult
from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.request_spec import Destination, RequestLevelParams, RequestSpec
from objects.traces import explanation
from objects.traces.explanation import CandidatesExplanation, GroupExplanation, Lack, NamedProvider
from placement.engine import PlacementEngine
from scheduler.explain.trace import NearestMiss
from scheduler.hosts.candidate_hosts import hosts_and_offers
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.usage import TreeUsage
from scheduler.request import candidates
from scheduler.request.candidates import join
from tests.builders import a_flavor, a_uuid
from tests.fixtures.placement import engine, new_engine, placement_template, placement_url
from tests.fleets import (
    OTHER_CELL,
    Host,
    a_driver,
    a_fleet,
    a_host,
    a_request_spec,
    scheduling_conf,
)

__all__ = ["engine", "new_engine", "placement_template", "placement_url"]

PINNED = {"hw:cpu_policy": "dedicated"}


class Placement:
    """The engine, behind the one call that is made here."""

    def __init__(self, engine: PlacementEngine) -> None:
        self.engine = engine
        self.queries: list[ResourceQuery] = []

    def get_allocation_candidates(
        self, context: object, query: ResourceQuery
    ) -> AllocationCandidates:
        self.queries.append(query)
        return self.engine.get_candidates(query)

    def claim(self, context: object, claims: Sequence[AllocationClaim]) -> list[ClaimResult]:
        return self.engine.claims.claim(claims)

    def release(self, context: object, consumers: Mapping[str, int]) -> None:
        self.engine.claims.release(consumers)

    def add(self, host: Host, traits: Sequence[str] = (), /, **totals: int) -> str:
        """Store a host's provider."""
        inventories = {name: {"total": total} for name, total in totals.items()}
        report = {"uuid": host.uuid, "name": host.name, "inventories": inventories}
        self.engine.providers.set_providers([{**report, "traits": ["OWNER_NOVA", *traits]}])
        return host.uuid


@pytest.fixture
def placement(engine: PlacementEngine) -> Placement:
    return Placement(engine)


def ask(
    placement: Placement, fleet: HostStore, spec: RequestSpec, conf: cfg.ConfigOpts | None = None
) -> AllocationCandidates:
    return candidates.get_candidates(
        conf or scheduling_conf(),
        placement,  # type: ignore[arg-type]  # as far as it is asked
        admin_context(),
        spec,
        fleet,
    )


def a_pinned_spec(**values: Any) -> RequestSpec:
    return a_request_spec(flavor=a_flavor(vcpus=2, extra_specs=PINNED), **values)


@pytest.mark.parametrize("extra_specs", [{}, PINNED], ids=["one query", "two queries"])
def test_providers_that_are_not_hosts_are_not_counted(
    placement: Placement, extra_specs: dict[str, str]
) -> None:
    """A pool is not a host that lacks something, whichever trait it lacks first."""
    host = a_host("host0")
    placement.add(host, VCPU=1, MEMORY_MB=2048, DISK_GB=20)
    pool = {"uuid": a_uuid(), "name": "pool", "inventories": {"DISK_GB": {"total": 1000}}}
    placement.engine.providers.set_providers([pool])
    spec = a_request_spec(flavor=a_flavor(vcpus=2, extra_specs=extra_specs))
    required = ["OWNER_NOVA", "COMPUTE_NODE"]
    spec.request_level_params = RequestLevelParams.from_values(root_required=required)
    found = ask(placement, a_fleet([host]), spec)
    assert (found.provider_uuids, found.providers_total) == ([], 1)
    assert sum(rule["count"] for rule in found.ruled_out) == 1


# Pinned CPUs --------------------------------------------------------------------------------------


def test_pinned_cpus_are_found_on_hosts_of_both_kinds(placement: Placement) -> None:
    """Each is claimed as it offers them; a host that has both gives dedicated ones."""
    hosts = [a_host(f"host{number}") for number in range(4)]
    new = placement.add(hosts[0], PCPU=4, MEMORY_MB=2048, DISK_GB=20)
    old = placement.add(hosts[1], VCPU=4, MEMORY_MB=2048, DISK_GB=20)
    both = placement.add(hosts[2], VCPU=4, PCPU=4, MEMORY_MB=2048, DISK_GB=20)
    placement.add(hosts[3], VCPU=1, PCPU=1, MEMORY_MB=2048, DISK_GB=20)
    found = ask(placement, a_fleet(hosts), a_pinned_spec())
    request = found.request_builder()
    claims = {uuid: request(at)[uuid]["resources"] for at, uuid in enumerate(found.provider_uuids)}
    rest = {"MEMORY_MB": 512, "DISK_GB": 1}
    assert claims == {new: {"PCPU": 2, **rest}, both: {"PCPU": 2, **rest}, old: {"VCPU": 2, **rest}}
    assert found.provider_uuids[-1] == old


def test_instances_with_pinned_cpus_are_claimed_on_hosts_of_both_kinds(
    placement: Placement,
) -> None:
    """One request, room for one on each; a third one finds none."""
    hosts = [a_host("new"), a_host("old")]
    new = placement.add(hosts[0], PCPU=2, MEMORY_MB=2048, DISK_GB=20)
    old = placement.add(hosts[1], VCPU=2, MEMORY_MB=2048, DISK_GB=20)
    driver = a_driver(hosts, placement=placement)  # type: ignore[arg-type]  # as far as asked
    uuids = [a_uuid() for _ in range(3)]

    def select(count: int) -> list[str]:
        found = driver.select_destinations(
            admin_context(), a_pinned_spec(), uuids[:count], fences=[1] * count,
            return_alternates=True, dry_run=False,
        )  # fmt: skip
        return [row[0].compute_node_uuid for row in found.selections()]

    with pytest.raises(exception.NoValidHost, match="2 of 3 instances"):
        select(3)
    assert placement.engine.allocations.get(uuids) == {}
    assert set(select(2)) == {new, old}
    held = placement.engine.allocations.get(uuids)
    taken = {uuid: taken["resources"] for each in held.values() for uuid, taken in each.items()}
    rest = {"MEMORY_MB": 512, "DISK_GB": 1}
    assert taken == {new: {"PCPU": 2, **rest}, old: {"VCPU": 2, **rest}}


@pytest.mark.parametrize(
    ("policy", "pcpus"), [("isolate", 8), ("prefer", 1)], ids=["threads", "too few"]
)
def test_hosts_that_offer_dedicated_cpus_give_no_shared_ones_in_their_place(
    placement: Placement, policy: str, pcpus: int
) -> None:
    """Pinned guests would be counted as VCPU there, beside those counted as PCPU."""
    hosts = [a_host("new")]
    placement.add(
        hosts[0], ("HW_CPU_HYPERTHREADING",),
        VCPU=8, PCPU=pcpus, MEMORY_MB=2048, DISK_GB=20,
    )  # fmt: skip
    extra_specs = {**PINNED, "hw:cpu_thread_policy": policy}
    spec = a_request_spec(flavor=a_flavor(vcpus=2, extra_specs=extra_specs))
    found = ask(placement, a_fleet(hosts), spec)
    assert found.provider_uuids == []
    assert [entry["name"] for entry in found.ruled_out] == [
        "HW_CPU_HYPERTHREADING" if policy == "isolate" else "PCPU"
    ]


@pytest.mark.parametrize("shuffles", [False, True])
def test_hosts_without_dedicated_cpus_come_behind_those_with(
    placement: Placement, shuffles: bool
) -> None:
    """Although they have the most memory free; also as alternates, and in a random subset."""
    hosts = [a_host(name) for name in ("old1", "new1", "old2", "new2")]
    for host in hosts:
        cpus, memory_mb = ("PCPU", 2048) if host.name.startswith("new") else ("VCPU", 65536)
        placement.add(host, MEMORY_MB=memory_mb, DISK_GB=20, **{cpus: 2})
    conf = scheduling_conf(
        filter_scheduler__host_subset_size=3,
        filter_scheduler__shuffle_best_same_weighed_hosts=shuffles,
        scheduler__max_attempts=4,
    )
    driver = a_driver(hosts, placement=placement, conf=conf)  # type: ignore[arg-type]
    uuid = a_uuid()
    found = driver.select_destinations(
        admin_context(), a_pinned_spec(), [uuid], fences=[1],
        return_alternates=True, dry_run=False,
    )  # fmt: skip
    names = [each.service_host for each in found.selections()[0]]
    assert [name[:3] for name in names] == ["new", "new", "old", "old"]


def test_the_fallback_can_be_turned_off(placement: Placement) -> None:
    hosts = [a_host()]
    placement.add(hosts[0], VCPU=4, MEMORY_MB=2048, DISK_GB=20)
    conf = scheduling_conf(workarounds__disable_fallback_pcpu_query=True)
    found = ask(placement, a_fleet(hosts), a_pinned_spec(), conf)
    assert found.provider_uuids == []
    assert found.ruled_out[0]["name"] == "PCPU"
    assert len(placement.queries) == 1


def test_other_requests_ask_once(placement: Placement) -> None:
    """They have no fallback to pay for."""
    hosts = [a_host()]
    uuid = placement.add(hosts[0], VCPU=4, MEMORY_MB=2048, DISK_GB=20)
    assert ask(placement, a_fleet(hosts), a_request_spec()).provider_uuids == [uuid]
    assert len(placement.queries) == 1


# One host -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"force_hosts": ["HOST1"]},
        {"force_nodes": ["host1.example.org"]},
        {"requested_destination": Destination.from_values(host="host1")},
        {"requested_destination": Destination.from_values(node="host1.example.org")},
    ],
    ids=str,
)
def test_a_request_for_one_host_asks_of_that_host_alone(
    placement: Placement, values: dict[str, Any]
) -> None:
    """However many others there are."""
    hosts = [a_host(f"host{number}") for number in range(3)]
    uuids = [placement.add(host, VCPU=4, MEMORY_MB=2048, DISK_GB=20) for host in hosts]
    found = ask(placement, a_fleet(hosts), a_request_spec(**values))
    assert found.provider_uuids == [uuids[1]]
    (query,) = placement.queries
    assert (query.groups[0].in_tree, query.limit) == (uuids[1], None)
    (rule,) = found.ruled_out
    assert (rule["kind"], rule["name"]) == ("in_tree", "the host that was asked for")
    assert rule["count"] == 2
    assert {*rule["providers"]} == {uuids[0], uuids[2]}


def test_a_host_of_several_nodes_is_asked_for_among_all(placement: Placement) -> None:
    """Without a limit, which they could be beyond."""
    hosts = [a_host("web"), a_host("WEB"), a_host("other")]
    uuids = [placement.add(host, VCPU=4, MEMORY_MB=2048, DISK_GB=20) for host in hosts[:1]]
    conf = scheduling_conf(scheduler__max_placement_results=1)
    found = ask(placement, a_fleet(hosts), a_request_spec(force_hosts=["web"]), conf)
    assert found.provider_uuids == uuids
    (query,) = placement.queries
    assert (query.groups[0].in_tree, query.limit) == (None, None)


def test_an_unknown_host_is_not_asked_for(placement: Placement) -> None:
    """The sentence says which and what may be the matter."""
    with pytest.raises(exception.RequestFilterFailed, match="Host web9 was requested"):
        ask(placement, a_fleet([a_host()]), a_request_spec(force_hosts=["web9"]))
    assert placement.queries == []


def test_a_host_on_shared_storage_is_found_all_the_same(placement: Placement) -> None:
    """The storage is not part of its tree; other hosts on it are left out later."""
    hosts, storage = [a_host("host1"), a_host("host2")], a_host("storage")
    uuids = [placement.add(host, VCPU=4, MEMORY_MB=2048) for host in hosts]
    placement.add(storage, DISK_GB=1000)
    engine = placement.engine
    engine.providers.set_trait(storage.uuid, "MISC_SHARES_VIA_AGGREGATE", present=True)
    engine.aggregates.set_members(a_uuid(), [*uuids, storage.uuid])
    found = ask(placement, a_fleet(hosts), a_request_spec(force_hosts=["host2"]))
    assert uuids[1] in found.provider_uuids
    assert len(placement.queries) == 2


def test_a_full_host_is_refused_by_its_own_figures(placement: Placement) -> None:
    """Not by those of all others."""
    hosts = [a_host("host1"), a_host("host2")]
    placement.add(hosts[0], VCPU=4, MEMORY_MB=100, DISK_GB=20)
    placement.add(hosts[1], VCPU=4, MEMORY_MB=2048, DISK_GB=20)
    found = ask(placement, a_fleet(hosts), a_request_spec(force_hosts=["host1"]))
    assert found.provider_uuids == []
    assert found.ruled_out[-1] == {
        "kind": "resource", "name": "MEMORY_MB", "asked": 512, "best": 100, "count": 1,
        "providers": [hosts[0].uuid],
    }  # fmt: skip
    assert len(placement.queries) == 1


HOSTS = [a_host("web1"), a_host("Web2", cell=OTHER_CELL), a_host("web2")]
WEB1, WEB2, WEB2_LOWER = range(3)


def nodes(**values: Any) -> set[int] | None:
    """Return which of the hosts are named, by position."""
    named = candidates.nodes_named(a_request_spec(**values), a_fleet(HOSTS))
    uuids = [host.uuid for host in HOSTS]
    return None if named is None else {uuids.index(uuid) for uuid in named}


def destination(**values: Any) -> dict[str, Destination]:
    return {"requested_destination": Destination.from_values(**values)}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, None),
        (destination(host=None), None),
        ({"ignore_hosts": ["web1"]}, None),
        ({"force_hosts": ["web1"]}, {WEB1}),
        ({"force_hosts": ["WEB2"]}, {WEB2, WEB2_LOWER}),
        ({"force_nodes": ["web2.example.org"]}, {WEB2_LOWER}),
        ({"force_hosts": ["web2"], "force_nodes": ["Web2.example.org"]}, {WEB2}),
        (destination(host="web2"), {WEB2_LOWER}),
        (destination(node="web1.example.org"), {WEB1}),
        ({"force_hosts": ["web2", "web1"], **destination(host="web1")}, {WEB1}),
    ],
    ids=str,
)
def test_names_are_compared_as_preselection_does(
    values: dict[str, Any], found: set[int] | None
) -> None:
    """Forced hosts without regard to case, all others exactly."""
    assert nodes(**values) == found


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"force_hosts": ["web9"]}, "Host web9 was requested, but the scheduler knows no such"),
        (destination(host="WEB1"), "Host WEB1 was requested"),
        (
            {"force_hosts": ["web1"], "force_nodes": ["web2.example.org"]},
            "Host web1 and node web2.example.org was requested",
        ),
    ],
    ids=str,
)
def test_an_unknown_name_fails_the_request(values: dict[str, Any], sentence: str) -> None:
    """Before anything is asked."""
    with pytest.raises(exception.RequestFilterFailed, match=sentence):
        nodes(**values)


def test_a_removed_node_is_not_found() -> None:
    fleet = a_fleet([a_host("web1")])
    fleet.set_cluster_metadata(
        fleet.cluster_metadata.from_plain({"seq": 2, "cells": [], "aggregates": []})
    )
    with pytest.raises(exception.RequestFilterFailed):
        candidates.nodes_named(a_request_spec(force_hosts=["web1"]), fleet)


def plain(classes: dict[str, int], uuids: Sequence[str], total: int = 8) -> AllocationCandidates:
    shape = (len(uuids), len(classes))
    return AllocationCandidates.from_values(
        provider_uuids=list(uuids),
        resource_classes=list(classes),
        amounts=np.array(list(classes.values())),
        total=np.full(shape, total),
        reserved=np.zeros(shape, np.int64),
        used=np.arange(shape[0] * shape[1]).reshape(shape),
        ratio=np.ones(shape),
        providers_total=9,
        ruled_out=[{"kind": "trait", "name": "|".join(classes), "count": 1}],
    )


def with_device(classes: dict[str, int], uuids: Sequence[str]) -> AllocationCandidates:
    """The same on hosts that each have a device."""
    made = plain({**classes, "VGPU": 1}, uuids)
    pairs = [(at, len(uuids) + at) for at in range(len(uuids))]
    return made.with_values(
        templates=[[classes, {"VGPU": 1}]],
        template_of=np.zeros(len(uuids), np.int64),
        slots=np.array(pairs, np.int64).ravel(),
        slot_uuids=[*uuids, *(f"{uuid}-gpu" for uuid in uuids)],
    )


PINNED_VALUES = {"PCPU": 2, "MEMORY_MB": 64}
SHARED = {"VCPU": 2, "MEMORY_MB": 64}


def test_each_candidate_claims_what_it_was_asked_for() -> None:
    found = join(plain(PINNED_VALUES, ["a", "b"]), plain(SHARED, ["c", "b", "d"]))
    assert found.provider_uuids == ["a", "b", "c", "d"]
    request = found.request_builder()
    assert [request(at) for at in range(4)] == [
        {"a": {"resources": PINNED_VALUES}},
        {"b": {"resources": PINNED_VALUES}},
        {"c": {"resources": SHARED}},
        {"d": {"resources": SHARED}},
    ]
    assert found.resource_classes == ["PCPU", "MEMORY_MB", "VCPU"]
    assert found.amounts.tolist() == [[2, 64, 0], [2, 64, 0], [0, 64, 2], [0, 64, 2]]
    assert found.used.tolist() == [[0, 1, 0], [2, 3, 0], [0, 1, 0], [0, 5, 4]]


def test_a_host_that_fits_both_ways_is_offered_the_first_way_alone() -> None:
    """The answer is the first one itself when the second adds no host."""
    first = plain(PINNED_VALUES, ["a", "b"])
    assert join(first, plain(SHARED, ["b", "a"])) is first
    assert join(first, plain(SHARED, [])) is first


def test_without_a_host_the_first_way_the_second_answer_stands() -> None:
    """With its own reasons."""
    second = plain(SHARED, ["a"])
    assert join(plain(PINNED_VALUES, []), second) is second


def test_when_neither_has_a_host_the_reasons_are_those_of_the_first() -> None:
    first = plain(PINNED_VALUES, [])
    assert join(first, plain(SHARED, [])) is first


def test_candidates_with_devices_keep_them() -> None:
    """On either side."""
    found = join(with_device(PINNED_VALUES, ["a", "b"]), with_device(SHARED, ["b", "c"]))
    request = found.request_builder()
    assert [request(at) for at in range(3)] == [
        {"a": {"resources": PINNED_VALUES}, "a-gpu": {"resources": {"VGPU": 1}}},
        {"b": {"resources": PINNED_VALUES}, "b-gpu": {"resources": {"VGPU": 1}}},
        {"c": {"resources": SHARED}, "c-gpu": {"resources": {"VGPU": 1}}},
    ]
    mixed = join(plain(PINNED_VALUES, ["a"]), with_device(SHARED, ["b"])).request_builder()
    assert [list(mixed(at)) for at in range(2)] == [["a"], ["b", "b-gpu"]]


def test_room_is_reckoned_by_what_is_asked_of_each_host() -> None:
    """A host is not held to a class that it was not asked for."""
    found = join(plain(PINNED_VALUES, ["a"], total=70), plain(SHARED, ["b"], total=70))
    usage = TreeUsage(found, list(hosts_and_offers(found).values()), found.request_builder())
    assert [usage.fits(0), usage.fits(1)] == [True, True]
    usage.add(0)
    assert [usage.fits(0), usage.fits(1)] == [False, True]
    assert usage.fit_mask().tolist() == [False, True]
    usage.subtract(0, 0)
    assert usage.fits(0)


def test_attributes_follow_only_from_what_all_were_asked_for() -> None:
    """What hosts report of the others stays as it is."""
    found = join(plain(PINNED_VALUES, ["a"]), plain(SHARED, ["b"]))
    usage = TreeUsage(found, list(hosts_and_offers(found).values()), found.request_builder())
    assert "free_ram_mb" in usage.attributes()
    assert "vcpus_used" not in usage.attributes()
    assert "vcpus_used" not in usage.attributes_at(0)


LACKS = [{"kind": "resource", "name": "VCPU", "asked": 8, "free": 6, "short": 2}]


class ExplainingPlacement:
    def explain_candidates(
        self, context: RequestContext, query: ResourceQuery
    ) -> CandidatesExplanation:
        lack = Lack("resource", "VCPU", asked=8, free=6, short=2)
        miss = explanation.NearestMiss(NamedProvider("u", "host1", "u"), [lack])
        groups = [GroupExplanation("", [], [miss]), GroupExplanation("_A", [], [])]
        return CandidatesExplanation("", False, 1, 1, [], [], groups)


class OldPlacement:
    def explain_candidates(self, context: RequestContext, query: ResourceQuery) -> Any:
        raise exception.RpcVersionTooOld(
            topic="placement", method="explain_candidates", needed="1.1", cap="1.0"
        )


def find(placement: Any) -> list[NearestMiss]:
    return candidates.nearest_misses(
        scheduling_conf(), placement, admin_context(), a_request_spec(), a_fleet([])
    )


def test_each_has_its_part_of_the_request() -> None:
    """With what it lacks, and by how much."""
    assert find(ExplainingPlacement()) == [NearestMiss("", "host1", LACKS)]


def test_a_placement_that_cannot_say_does_no_harm() -> None:
    """The rest of the trace is there."""
    assert find(OldPlacement()) == []
