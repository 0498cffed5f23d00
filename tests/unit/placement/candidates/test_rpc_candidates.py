"""From the engine's rows to the object that travels."""

import numpy as np
import pytest

from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.candidates import rpc_candidates
from placement.candidates.result import Batch, Found
from placement.providers.provider_table import ProviderTable
from tests.fixtures.placement.provider_tables import TableBuilder


def a_table() -> ProviderTable:
    """Return two hosts with a child each, and a disk."""
    builder = TableBuilder()
    for used in (1, 2):
        host = builder.add({"VCPU": 8, "VGPU": 1}, used={"VCPU": used}, allocation_ratio=2.0)
        builder.add({"VGPU": 3}, parent=host)
    builder.add({"DISK_GB": 500})
    return builder.table()


def a_question(*resources: dict[str, int]) -> ResourceQuery:
    groups = [
        RequestGroup.from_values(suffix=str(number or ""), resources=each)
        for number, each in enumerate(resources)
    ]
    return ResourceQuery.from_values(groups=groups, group_policy="none")


def hosts_alone(*rows: int, **resources: int) -> Batch:
    anchors = np.array(rows)
    return Batch(anchors, anchors[:, np.newaxis], (resources,), {"": (0,)})


def test_hosts_alone_take_the_plain_form() -> None:
    """With the figures of each, and no template."""
    table = a_table()
    packed = rpc_candidates.pack(
        table, a_question({"VCPU": 2}), Found([hosts_alone(2, 0, VCPU=2)], 2, [])
    )
    assert packed.is_flat
    assert packed.provider_uuids == [table.uuids[2], table.uuids[0]]
    assert (packed.resource_classes, packed.amounts.tolist()) == (["VCPU"], [2])
    assert packed.used.tolist() == [[2], [1]]
    assert packed.ratio.tolist() == [[2.0], [2.0]]


def test_no_candidates_are_plain_and_have_columns_of_no_rows() -> None:
    """Their reader needs no special case."""
    packed = rpc_candidates.pack(a_table(), a_question({"VCPU": 99, "VGPU": 1}), Found([], 2, []))
    assert (packed.is_flat, packed.provider_uuids) == (True, [])
    assert (packed.total.shape, packed.ratio.shape) == ((0, 2), (0, 2))


def test_candidates_of_several_providers_name_their_host_and_what_each_gives() -> None:
    """In the order of the answer, whatever is alike."""
    table = a_table()
    with_child = Batch(
        np.array([0]), np.array([[0, 1, 4]]), ({"VCPU": 2}, {"VGPU": 1}, {"DISK_GB": 5}), {}
    )
    alone = Batch(np.array([2]), np.array([[2, 4]]), ({"VCPU": 2, "VGPU": 1}, {"DISK_GB": 5}), {})
    again = Batch(
        np.array([2]), np.array([[2, 3, 4]]), ({"VCPU": 2}, {"VGPU": 1}, {"DISK_GB": 5}), {}
    )
    query = a_question({"VCPU": 2, "DISK_GB": 5}, {"VGPU": 1})
    packed = rpc_candidates.pack(table, query, Found([with_child, alone, again], 3, []))
    uuids = table.uuids.tolist()
    assert packed.provider_uuids == [uuids[0], uuids[2], uuids[2]]
    assert len(packed.templates) == 2
    request = packed.request_builder()
    assert request(0) == {
        uuids[0]: {"resources": {"VCPU": 2}},
        uuids[1]: {"resources": {"VGPU": 1}},
        uuids[4]: {"resources": {"DISK_GB": 5}},
    }
    assert request(1)[uuids[2]] == {"resources": {"VCPU": 2, "VGPU": 1}}
    assert set(request(2)) == {uuids[2], uuids[3], uuids[4]}
    assert packed.resource_classes == ["VCPU", "DISK_GB", "VGPU"]
    assert packed.total.tolist() == [[8, 500, 3], [8, 500, 1], [8, 500, 3]]


def test_a_provider_that_serves_without_giving_is_not_claimed() -> None:
    """It only had to be there."""
    table = a_table()
    batch = Batch(np.array([0]), np.array([[1, 0]]), ({"VGPU": 1}, {}), {"1": (0,), "2": (1,)})
    packed = rpc_candidates.pack(table, a_question({"VGPU": 1}), Found([batch], 3, []))
    assert packed.request_builder()(0) == {table.uuids[1]: {"resources": {"VGPU": 1}}}


def test_figures_of_a_class_that_several_give_are_theirs_together() -> None:
    """The ratio is the one with which their capacities add up."""
    table = a_table()
    batch = Batch(np.array([0]), np.array([[0, 1]]), ({"VGPU": 1}, {"VGPU": 2}), {})
    packed = rpc_candidates.pack(table, a_question({"VGPU": 1}, {"VGPU": 2}), Found([batch], 3, []))
    assert packed.amounts.tolist() == [3]
    assert (packed.total.tolist(), packed.used.tolist()) == ([[4]], [[0]])
    assert packed.total[0, 0] * packed.ratio[0, 0] == pytest.approx(1 * 2.0 + 3 * 1.0)
