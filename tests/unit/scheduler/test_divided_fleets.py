"""X4: how a fleet is divided changes no decision: one cell or several, one zone or none."""

import dataclasses
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary import exception
from armillary.context import admin_context
from objects.request_spec import RequestSpec
from objects.selection import Selection
from scheduler.drivers.filter_scheduler import FilterScheduler
from scheduler.drivers.zone_scheduler import ZoneScheduler
from tests.builders import an_aggregate
from tests.fixtures.plugins.examples import examples
from tests.fixtures.zones.zone_trees import Zone, flat_weights
from tests.fleets import (
    CELL,
    OTHER_CELL,
    ArrayPlacement,
    Clock,
    Host,
    a_fleet,
    a_group,
    a_request_spec,
    scheduling_conf,
    some_cluster_metadata,
)

SEED = 7
"""Of ties, so that they fall by the names of hosts and not by their order."""
UUIDS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(4)]
CLUSTER_METADATA = some_cluster_metadata(
    [an_aggregate("east", metadata={"availability_zone": "east"}, hosts=["host0", "host2"])]
)

hosts_of_a_fleet = st.lists(
    st.fixed_dictionaries(
        {
            "vcpus_total": st.integers(1, 8),
            "free_ram_mb": st.sampled_from([1024, 2048, 8192]),
            "num_instances": st.integers(0, 3),
            "num_io_ops": st.integers(0, 2),
            "failed_builds": st.sampled_from([0, 0, 0, 2]),
            "service_up": st.sampled_from([True, True, True, False]),
            "service_disabled": st.sampled_from([False, False, False, True]),
        }
    ),
    min_size=1,
    max_size=7,
).map(
    lambda drawn: [
        Host(f"host{number}", values={"total_usable_ram_mb": values["free_ram_mb"], **values})
        for number, values in enumerate(drawn)
    ]
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "ignore_hosts": st.sampled_from([["host0"], ["host1", "host2"]]),
        "force_hosts": st.just(["host1"]),
        "availability_zone": st.sampled_from(["east", "nova"]),
        "instance_group": st.sampled_from(["affinity", "anti-affinity", "soft-anti-affinity"]),
    },
)
counts = st.integers(1, 4)


def spec_of(asked: dict[str, Any], count: int) -> RequestSpec:
    policy = asked.get("instance_group")
    group = {} if policy is None else {"instance_group": a_group(policy)}
    return a_request_spec(**{**asked, **group}, num_instances=count)


def decided(
    hosts: Sequence[Host],
    spec: RequestSpec,
    count: int,
    kind: type[FilterScheduler] = FilterScheduler,
    **options: Any,
) -> list[list[Selection]] | str:
    """Return host and alternates of each instance, or the reason why there is none."""
    conf = scheduling_conf(
        scheduler__random_seed=SEED, scheduler__max_attempts=len(hosts), **options
    )
    driver = kind(
        conf,
        host_store=a_fleet(hosts, cluster_metadata=CLUSTER_METADATA, conf=conf),
        placement=ArrayPlacement(hosts),  # type: ignore[arg-type]  # as far as asked
        rng=random.Random(SEED),
        clock=Clock(),
        now=lambda: datetime(2030, 1, 31, tzinfo=UTC),
    )
    try:
        return driver.select_destinations(
            admin_context("req-1"), spec.obj_clone(), UUIDS[:count], fences=[1000] * count,
            return_alternates=True, dry_run=False,
        ).selections()  # fmt: skip
    except exception.NoValidHost as error:
        return str(error.kwargs["reason"])


def names(offers: list[list[Selection]] | str) -> list[list[str]] | str:
    return offers if isinstance(offers, str) else [
        [one.service_host for one in offer] for offer in offers
    ]  # fmt: skip


def divided(hosts: Sequence[Host], cells: Sequence[bool]) -> list[Host]:
    return [
        dataclasses.replace(host, cell=OTHER_CELL if is_other else CELL)
        for host, is_other in zip(hosts, cells, strict=False)
    ]


@settings(max_examples=examples(40), deadline=None)
@given(hosts_of_a_fleet, st.lists(st.booleans(), min_size=7, max_size=7), requests, counts)
def test_cells_decide_where_alternates_are_and_nothing_else(
    hosts: list[Host], cells: list[bool], asked: dict[str, Any], count: int
) -> None:
    """The same hosts are chosen in one cell and in two; alternates are in the cell of theirs."""
    spec = spec_of(asked, count)
    flat, in_cells = decided(hosts, spec, count), decided(divided(hosts, cells), spec, count)
    if isinstance(flat, str) or isinstance(in_cells, str):
        assert flat == in_cells
        return
    assert [offer[0].service_host for offer in flat] == [
        offer[0].service_host for offer in in_cells
    ]
    for offer in in_cells:
        assert len({one.cell_uuid for one in offer}) == 1


@settings(max_examples=examples(40), deadline=None)
@given(hosts_of_a_fleet, st.lists(st.booleans(), min_size=7, max_size=7), requests)
def test_alternates_in_a_cell_are_those_of_the_fleet_that_it_has(
    hosts: list[Host], cells: list[bool], asked: dict[str, Any]
) -> None:
    """In the same order."""
    spec = spec_of(asked, 1)
    flat = names(decided(hosts, spec, 1))
    in_cells = decided(divided(hosts, cells), spec, 1)
    if isinstance(flat, str) or isinstance(in_cells, str):
        assert flat == names(in_cells)
        return
    cell_of = {host.name: host.cell for host in divided(hosts, cells)}
    own = cell_of[flat[0][0]]
    assert names(in_cells) == [[name for name in flat[0] if cell_of[name] == own]]


@settings(max_examples=examples(40), deadline=None)
@given(hosts_of_a_fleet, requests, counts)
def test_a_zone_without_children_decides_as_a_deployment_without_zones(
    hosts: list[Host], asked: dict[str, Any], count: int
) -> None:
    """Hosts, alternates and reasons are the same."""
    spec = spec_of(asked, count)
    alone = decided(hosts, spec, count)
    in_zone = decided(hosts, spec, count, ZoneScheduler, zones__name="only")
    assert names(alone) == names(in_zone)


@settings(max_examples=examples(40), deadline=None)
@given(hosts_of_a_fleet)
def test_a_fleet_below_one_zone_is_offered_in_the_order_of_its_weights(hosts: list[Host]) -> None:
    """The parent has no host of its own: it offers what a scheduler over all hosts would choose."""
    options: dict[str, Any] = {"zones__entries_max": 50, "scheduler__random_seed": SEED}
    child = Zone("child", hosts, **options)
    parent = Zone("parent", [], [child], **options).push_all()
    spec = a_request_spec()
    alone = decided(hosts, spec, 1)
    if isinstance(alone, str):
        with pytest.raises(exception.NoValidHost):
            parent.select(spec)
        return
    offered = [entry["host_id"] for entry in parent.select(spec).zone_entries]
    uuid_of = {host.name: host.uuid for host in hosts}
    able = {uuid_of[name] for name in names(alone)[0]}
    assert set(offered) == able
    weights = flat_weights([host for host in hosts if host.uuid in able], spec)
    order = [weights[uuid] for uuid in offered]
    assert order == pytest.approx(sorted(order, reverse=True), abs=1e-12)
    assert weights[offered[0]] == pytest.approx(weights[uuid_of[names(alone)[0][0]]])
