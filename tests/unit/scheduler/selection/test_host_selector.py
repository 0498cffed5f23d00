"""Hosts are chosen one instance after another, claimed together, with alternates in their cells."""

import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from objects.request_spec import RequestSpec
from scheduler.filters import BaseHostFilter
from scheduler.filters.affinity.server_group_affinity_filter import ServerGroupAffinityFilter
from scheduler.filters.affinity.server_group_anti_affinity_filter import (
    ServerGroupAntiAffinityFilter,
)
from scheduler.filters.amounts.num_instances_filter import NumInstancesFilter
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.usage import Inventories, Usage
from scheduler.selection.group_view import view_of
from scheduler.selection.host_selector import HostSelector, pick_alternates, spread_of
from scheduler.selection.responses import no_request
from scheduler.weights import BaseHostWeigher
from scheduler.weights.build_failure_weigher import BuildFailureWeigher
from scheduler.weights.cpu_weigher import CPUWeigher
from scheduler.weights.io_ops_weigher import IoOpsWeigher
from scheduler.weights.ram_weigher import RAMWeigher
from tests.builders import a_uuid
from tests.fleets import (
    OTHER_CELL,
    Host,
    a_group,
    a_host,
    a_request_spec,
    a_table,
    scheduling_conf,
    some_hosts,
)

FILTERS = (NumInstancesFilter, ServerGroupAntiAffinityFilter, ServerGroupAffinityFilter)
WEIGHERS = (CPUWeigher, RAMWeigher, IoOpsWeigher, BuildFailureWeigher)


def a_chooser(
    hosts: HostTable | HostLedger,
    spec: RequestSpec | None = None,
    *,
    subset_size: int = 1,
    shuffle_ties: bool = False,
    weighers: Any = WEIGHERS,
    seed: int = 1,
    **options: Any,
) -> HostSelector:
    conf = scheduling_conf(**options)
    return HostSelector(
        hosts if isinstance(hosts, HostLedger) else HostLedger(hosts),
        spec := spec or a_request_spec(),
        view_of(spec),
        repeated=[each(conf) for each in FILTERS],
        weighers=[each(conf) for each in weighers],
        subset_size=subset_size,
        shuffle_ties=shuffle_ties,
        rng=random.Random(seed),
    )


def with_memory(free: list[int], *, asked: int = 1, hosts: list[Host] | None = None) -> HostLedger:
    count = len(free)
    return HostLedger(
        a_table(hosts or some_hosts(count)),
        Usage(
            ["MEMORY_MB"],
            np.array([asked]),
            np.arange(count),
            Inventories(
                total=np.array(free).reshape(count, 1),
                reserved=np.zeros((count, 1), dtype=np.int64),
                used=np.zeros((count, 1), dtype=np.int64),
                ratio=np.ones((count, 1)),
            ),
            no_request,
        ),
    )


def choose(selector: HostSelector, count: int) -> list[str | None]:
    names: list[str | None] = []
    for _ in range(count):
        choice = selector.choose(a_uuid())
        names.append(selector.hosts.host[choice[0].position] if choice else None)
    return names


# Choosing -----------------------------------------------------------------------------------------


def test_each_choice_shows_in_the_next() -> None:
    """The second instance goes where more is free after the first."""
    selector = a_chooser(with_memory([10, 9], asked=2), weighers=[RAMWeigher])
    assert choose(selector, 3) == ["host1", "host2", "host1"]


def test_a_host_takes_what_fits_and_no_more() -> None:
    """Though it weighs most: the claim would be refused."""
    selector = a_chooser(
        with_memory([5, 3], asked=2),
        weighers=[RAMWeigher],
        filter_scheduler__ram_weight_multiplier=-1.0,
    )
    assert choose(selector, 4) == ["host2", "host1", "host1", None]


def test_filters_that_look_at_instances_see_those_of_the_request() -> None:
    """One instance a host."""
    selector = a_chooser(with_memory([9, 9, 9]), filter_scheduler__max_instances_per_host=1)
    assert sorted(filter(None, choose(selector, 4))) == ["host1", "host2", "host3"]


def test_instances_of_a_group_stay_apart() -> None:
    """Each member of the request on a host of its own."""
    spec = a_request_spec(instance_group=a_group("anti-affinity"))
    selector = a_chooser(with_memory([9, 9, 9]), spec)
    uuids = [a_uuid() for _ in range(3)]
    assert spec.instance_group is not None
    spec.instance_group.members = uuids
    chosen = [selector.choose(uuid) for uuid in uuids]
    assert {each[0].position for each in chosen if each} == {0, 1, 2}
    assert not selector.choose(a_uuid())


def test_instances_of_a_group_stay_together() -> None:
    """Where the first one goes the others go."""
    spec = a_request_spec(instance_group=a_group("affinity"))
    selector = a_chooser(with_memory([9, 9, 9], asked=4), spec)
    assert choose(selector, 3) == ["host1", "host1", None]


def test_a_subset_is_drawn_from_evenly() -> None:
    """From the best three of five hosts, about as often from each."""
    drawn: Counter[Any] = Counter()
    for seed in range(100):
        selector = a_chooser(with_memory([9, 8, 7, 1, 1]), subset_size=3, seed=seed)
        drawn.update(choose(selector, 1))
    assert set(drawn) == {"host1", "host2", "host3"}
    assert min(drawn.values()) > 20


def test_a_subset_larger_than_the_fleet_is_the_fleet() -> None:
    """No host is missing, none is drawn that is not there."""
    assert set(choose(a_chooser(with_memory([9, 8]), subset_size=99), 6)) == {"host1", "host2"}


def test_shuffling_draws_from_the_ties_only() -> None:
    """Never from a worse host."""
    drawn: Counter[Any] = Counter()
    for seed in range(75):
        selector = a_chooser(with_memory([7, 9, 9, 8, 9]), shuffle_ties=True, seed=seed)
        drawn.update(choose(selector, 1))
    assert set(drawn) == {"host2", "host3", "host5"}
    assert min(drawn.values()) > 15


def test_without_shuffling_the_first_of_the_ties_is_taken() -> None:
    """In the order of the candidates."""
    assert choose(a_chooser(with_memory([7, 9, 9])), 1) == ["host2"]


def test_a_choice_names_the_runners_up() -> None:
    """In their order, with weights and shares, without the chosen one."""
    selector = a_chooser(with_memory([5, 10, 0]), weighers=[RAMWeigher])
    choice = selector.choose(a_uuid(), runners_up=2)
    assert choice[0].shares == {"RAMWeigher": {"raw": 10.0, "normalised": 1.0, "weight": 1.0}}
    assert [(each.position, each.weight) for each in choice[1:]] == [(0, 0.5), (2, 0.0)]


def test_a_refused_host_is_out_and_its_use_taken_back() -> None:
    """The next choice is another host."""
    selector = a_chooser(with_memory([10, 9]), weighers=[RAMWeigher])
    first = selector.choose("10000000-0000-0000-0000-00000000000a")
    selector.refuse(first[0].position, "10000000-0000-0000-0000-00000000000a")
    assert selector.hosts.free_ram_mb.tolist() == [10, 9]
    assert choose(selector, 2) == ["host2", "host2"]


def test_a_group_whose_first_host_refused_goes_elsewhere() -> None:
    """Other hosts had been ruled out by the choice that came to nothing."""
    spec = a_request_spec(instance_group=a_group("affinity"))
    selector = a_chooser(with_memory([10, 9, 8]), spec)
    uuids = [a_uuid(), a_uuid()]
    positions = [choice[0].position for uuid in uuids if (choice := selector.choose(uuid))]
    assert positions == [0, 0]
    for uuid in uuids:
        selector.refuse(0, uuid)
    assert choose(selector, 2) == ["host2", "host2"]


def test_what_took_the_hosts_away_adds_up() -> None:
    """Refused claims, hosts that are full, filters; each host once."""
    selector = a_chooser(
        with_memory([3, 9, 9], asked=2),
        weighers=[RAMWeigher],
        filter_scheduler__max_instances_per_host=1,
        filter_scheduler__ram_weight_multiplier=-1.0,
    )
    uuids = [a_uuid() for _ in range(3)]
    chosen = [choice[0].position for uuid in uuids if (choice := selector.choose(uuid))]
    assert chosen == [0, 1, 2]
    selector.refuse(2, uuids[2])
    assert not selector.choose(a_uuid())
    found = list(selector.why_none())
    assert [hosts for *_entry, hosts in found] == [["host3"], ["host1"], ["host2"]]
    assert [tuple(entry) for *entry, _hosts in found] == [
        ("claim", 3, 1, [("claimed by other requests in the meantime", 1)]),
        ("room", 2, 1, [("no room for another instance: MEMORY_MB: 2 asked, 1 free at most", 1)]),
        ("NumInstancesFilter", 1, 1, [("its number of instances is 1, the limit is 1", 1)]),
    ]


# The same as one host after another ---------------------------------------------------------------


def naively(
    ledger: HostLedger,
    spec: RequestSpec,
    repeated: Sequence[BaseHostFilter],
    weighers: Sequence[BaseHostWeigher],
    uuids: list[str],
) -> list[tuple[int, float] | None]:
    """Choose as the manual describes it: lists of hosts, one after another, each in full."""
    hosts = ledger.hosts
    left = list(range(len(hosts)))
    chosen: list[tuple[int, float] | None] = []
    for index, uuid in enumerate(uuids):
        spec.instance_uuid = uuid
        if index:
            left = [p for p in left if all(f.host_passes(hosts[p], spec) for f in repeated)]
            left = [p for p in left if ledger.fits(p)]
        if not left:
            chosen.append(None)
            continue
        totals = dict.fromkeys(left, 0.0)
        for weigher in weighers if len(left) > 1 else ():
            raw = {p: weigher.host_weight(hosts[p], spec) for p in left}
            if weigher.minval is not None:
                raw = {p: max(value, weigher.minval) for p, value in raw.items()}
            low = min(raw.values()) if weigher.minval is None else weigher.minval
            high = max(raw.values())
            multiplier = weigher.multiplier_sign * weigher.multiplier()
            for p, value in raw.items():
                norm = 0.0 if high == low else (value - low) / (high - low)
                totals[p] += multiplier * norm
        best = max(left, key=lambda p: totals[p])  # the first of the greatest
        chosen.append((best, totals[best]))
        ledger.consume(best, uuid)
        if spec.instance_group is not None:
            spec.instance_group.hosts.append(hosts[best].host)
    return chosen


@given(
    free=st.lists(st.integers(1, 8), min_size=1, max_size=8),
    used=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 2)), min_size=8, max_size=8),
    asked=st.integers(1, 3),
    limit=st.integers(1, 5),
    policy=st.sampled_from([None, "affinity", "anti-affinity", "soft-affinity"]),
    per_host=st.integers(1, 2),
    count=st.integers(1, 12),
    ram=st.sampled_from([1.0, -1.0, 0.0]),
)
def test_choices_are_the_same_as_one_host_after_another(
    free: list[int],
    used: list[tuple[int, int]],
    asked: int,
    limit: int,
    policy: str | None,
    per_host: int,
    count: int,
    ram: float,
) -> None:
    """Whatever is kept from one choice to the next."""
    conf = scheduling_conf(
        filter_scheduler__max_instances_per_host=limit, filter_scheduler__ram_weight_multiplier=ram
    )
    uuids = [f"00000000-0000-0000-0000-{number:012}" for number in range(count)]
    weighers = [each(conf) for each in WEIGHERS]
    repeated = [each(conf) for each in FILTERS]

    def fresh() -> tuple[HostLedger, RequestSpec]:
        hosts = [
            a_host(f"host{number}", num_io_ops=io_ops, failed_builds=failed)
            for number, (io_ops, failed) in enumerate(used[: len(free)])
        ]
        ledger = with_memory([max(each, asked) for each in free], asked=asked, hosts=hosts)
        rules = {"max_server_per_host": str(per_host)}
        group = a_group(policy, members=uuids, rules=rules) if policy else None
        return ledger, a_request_spec(instance_group=group)

    ledger, spec = fresh()
    selector = HostSelector(
        ledger,
        spec,
        view_of(spec),
        repeated=repeated,
        weighers=weighers,
        subset_size=1,
        shuffle_ties=False,
        rng=random.Random(1),
    )
    choices = [selector.choose(uuid) for uuid in uuids]
    found = [(each[0].position, each[0].weight) if each else None for each in choices]
    assert found == naively(*fresh(), repeated, weighers, uuids)


# Rounds -------------------------------------------------------------------------------------------


def test_choices_spread_out_from_the_second_refusal_on() -> None:
    """The faster request reads the same ranking; a first refusal may be bad luck."""
    assert [spread_of(claim_round) for claim_round in (0, 1, 2, 3, 29)] == [1, 1, 2, 4, 1024]


# Alternates ---------------------------------------------------------------------------------------


def in_two_cells() -> HostTable:
    here = [a_host(f"here{n}", free_ram_mb=100 - n) for n in range(5)]
    there = [a_host(f"there{n}", cell=OTHER_CELL, free_ram_mb=90 - n) for n in range(3)]
    return a_table([*here, *there])


def alternates(chosen: list[str], count: int) -> list[list[str]]:
    hosts = in_two_cells()
    selector = a_chooser(hosts, weighers=[RAMWeigher])
    positions = [hosts.host.index(name) for name in chosen]
    found = pick_alternates(selector, positions, count, is_one_request=True)
    return [[hosts.host[position] for position in row] for row in found]


@pytest.mark.parametrize(
    ("chosen", "count", "expected"),
    [
        (["here0"], 2, [["here1", "here2"]]),
        (["there0"], 2, [["there1", "there2"]]),
        (["there0"], 5, [["there1", "there2"]]),
        (["here0"], 0, [[]]),
        (["here0", "here1"], 2, [["here2", "here3"], ["here4", "here2"]]),
        (["here0", "there0"], 1, [["here1"], ["there1"]]),
        (["there0", "there1", "there2"], 2, [[], [], []]),
    ],
)
def test_alternates_are_the_next_best_in_the_cell(
    chosen: list[str], count: int, expected: list[list[str]]
) -> None:
    """Never a chosen host; several instances take turns; fewer are fine."""
    assert alternates(chosen, count) == expected


def test_alternates_of_a_large_request_are_few() -> None:
    """Hundreds of instances share a few dozen."""
    hosts = a_table(some_hosts(400))
    selector = a_chooser(hosts, weighers=[RAMWeigher])
    found = pick_alternates(selector, range(200), 2, is_one_request=True)
    assert all(len(row) == 2 for row in found)
    assert len({position for row in found for position in row}) == 50


def test_alternates_of_a_single_instance_may_be_hosts_without_its_group() -> None:
    """The first of an affinity group is alone: when its host fails it may go elsewhere."""
    spec = a_request_spec(instance_group=a_group("affinity"))
    selector = a_chooser(with_memory([9, 8, 7]), spec)
    choice = selector.choose(a_uuid())
    assert pick_alternates(selector, [choice[0].position], 2, is_one_request=False) == [[1, 2]]


def test_alternates_of_several_requests_take_turns_and_may_be_what_others_got() -> None:
    """With few hosts each still has those that it was not given itself."""
    selector = a_chooser(a_table([a_host(f"host{n}", free_ram_mb=100 - n) for n in range(3)]))
    assert sorted(map(sorted, pick_alternates(selector, [0, 1, 2], 2, is_one_request=False))) == [
        [0, 1],
        [0, 2],
        [1, 2],
    ]


def test_alternates_of_several_requests_are_in_their_cells() -> None:
    """And spread over the next best."""
    selector = a_chooser(in_two_cells())
    found = pick_alternates(selector, [0, 1, 5], 1, is_one_request=False)
    assert found[0] != found[1]
    assert found[2] in ([6], [7])


def test_without_alternates_nothing_is_looked_for() -> None:
    """As when no request asks for them."""
    assert pick_alternates(a_chooser(in_two_cells()), [0, 5], 0, is_one_request=False) == [[], []]
