"""Candidates as JSON: text written by columns says what the obvious tree of dicts would."""

import json
from typing import Any

import numpy as np
import pytest

from placement.candidates.result import Batch, Found
from placement.providers.provider_table import ProviderTable
from placement.rest import candidates_json
from placement.rest.candidates_json import Shape, collect
from tests.fixtures.placement.provider_tables import (
    TableBuilder,
    plain_hosts,
    rows_of_tree,
    traits_of,
)

VERSIONS = [(1, 10), (1, 12), (1, 17), (1, 27), (1, 29), (1, 34), (1, 39)]


def obvious(
    table: ProviderTable, found: Found, asked: set[str], version: tuple[int, int]
) -> dict[str, Any]:
    """Return the answer as the API documents it, item by item."""
    requests, mentioned = [], set()
    for batch in found.batches:
        for providers in batch.providers.tolist():
            mentioned.update(providers)
            requests.append(_request(table, batch, providers, version))
    if version >= (1, 29):
        roots = {int(table.root_rows[row]) for row in mentioned}
        mentioned = {row for root in roots for row in rows_of_tree(table, root)}
    return {
        "allocation_requests": requests,
        "provider_summaries": {
            table.uuids[row]: _summary(table, row, asked, version) for row in mentioned
        },
    }


def _request(
    table: ProviderTable, batch: Batch, providers: list[int], version: tuple[int, int]
) -> dict[str, Any]:
    uuids = [table.uuids[row] for row in providers]
    taken = [
        (uuid, dict(resources))
        for uuid, resources in zip(uuids, batch.resources, strict=True)
        if resources
    ]
    if version < (1, 12):
        return {
            "allocations": [
                {"resource_provider": {"uuid": uuid}, "resources": resources}
                for uuid, resources in taken
            ]
        }
    request: dict[str, Any] = {
        "allocations": {uuid: {"resources": resources} for uuid, resources in taken}
    }
    if version >= (1, 34):
        request["mappings"] = {
            suffix: [uuids[slot] for slot in slots] for suffix, slots in batch.mappings.items()
        }
    return request


def _summary(
    table: ProviderTable, row: int, asked: set[str], version: tuple[int, int]
) -> dict[str, Any]:
    names = set(table.resource_classes()) if version >= (1, 27) else asked
    columns = {name: table.columns_of(name) for name in names}
    summary: dict[str, Any] = {
        "resources": {
            name: {"capacity": int(item.capacity[row]), "used": int(item.used[row])}
            for name, item in columns.items()
            if item.total[row]
        }
    }
    if version >= (1, 17):
        custom = sorted(name for name in traits_of(table, row) if name.startswith("CUSTOM_"))
        summary["traits"] = [*sorted({*traits_of(table, row)} - {*custom}), *custom]
    if version >= (1, 29):
        parent = table.parent_rows[row]
        summary["parent_provider_uuid"] = None if parent < 0 else table.uuids[parent]
        summary["root_provider_uuid"] = table.uuids[table.root_rows[row]]
    return summary


def hosts_alone(table: ProviderTable, asked: dict[str, int]) -> Found:
    """Return every second host as a candidate of its own."""
    rows = np.arange(0, table.providers_total, 2)
    return Found([Batch(rows, rows[:, np.newaxis], (asked,), {"": (0,)})])


def trees_and_a_sharer() -> tuple[ProviderTable, Found]:
    """Return two hosts with children, one of them without an inventory, and lent disk."""
    builder = TableBuilder()
    for used in (0, 3):
        host = builder.add({"VCPU": 8}, used={"VCPU": used}, traits=("CUSTOM_GOLD",))
        numa = builder.add({}, parent=host)
        builder.add({"VGPU": 2, "SRIOV_NET_VF": 8}, parent=numa, traits=("CUSTOM_FAST",))
    disk = builder.add({"DISK_GB": 500}, used={"DISK_GB": 20})
    table = builder.table()
    both = Batch(
        np.array([0, 3]),
        np.array([[0, 2, disk], [3, 5, disk]]),
        ({"VCPU": 1}, {"VGPU": 1, "SRIOV_NET_VF": 2}, {"DISK_GB": 10}),
        {"": (0, 2), "_GPU": (1,)},
    )
    resourceless = Batch(
        np.array([3]), np.array([[5, 4]]), ({"VGPU": 1}, {}), {"_GPU": (0,), "_NUMA": (1,)}
    )
    return table, Found([both, resourceless])


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_answers_about_plain_hosts_are_what_they_should_be(version: tuple[int, int]) -> None:
    """In every shape that the API had."""
    table = plain_hosts(40)
    asked = {"VCPU": 2, "DISK_GB": 10}
    found = hosts_alone(table, asked)
    written = collect(table, found, asked, Shape.of(version)).to_json()
    assert json.loads(written) == obvious(table, found, set(asked), version)


@pytest.mark.parametrize("version", VERSIONS, ids=str)
def test_answers_about_trees_are_what_they_should_be(version: tuple[int, int]) -> None:
    """With several providers to a candidate, and one that gives nothing."""
    table, found = trees_and_a_sharer()
    asked = {"VCPU", "VGPU", "SRIOV_NET_VF", "DISK_GB"}
    written = collect(table, found, asked, Shape.of(version)).to_json()
    assert json.loads(written) == obvious(table, found, asked, version)


def test_an_answer_without_candidates_has_both_parts() -> None:
    """Both are empty."""
    written = collect(plain_hosts(2), Found(), {"VCPU"}, Shape.of((1, 39))).to_json()
    assert json.loads(written) == {"allocation_requests": [], "provider_summaries": {}}


def test_hosts_may_have_more_classes_than_a_number_has_bits() -> None:
    """Each provider still shows its own."""
    builder = TableBuilder()
    names = [f"CUSTOM_C{number}" for number in range(80)]
    for own in (names, [], names[:1], [], [], [], names[79:], [], names[::2]):
        builder.add({"VCPU": 4, **dict.fromkeys(own, 1)})
    table = builder.table()
    found = hosts_alone(table, {"VCPU": 1})
    written = collect(table, found, {"VCPU"}, Shape.of((1, 39))).to_json()
    assert json.loads(written) == obvious(table, found, {"VCPU"}, (1, 39))


@pytest.mark.parametrize("items", [1, 2, 3, 7, 8])
def test_a_long_answer_is_written_in_parts(items: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever one part ends, together they are the same answer."""
    monkeypatch.setattr(candidates_json, "PART_ITEMS", items)
    table = plain_hosts(7)
    found = hosts_alone(table, {"VCPU": 1})
    sheets = collect(table, found, {"VCPU"}, Shape.of((1, 39)))
    assert sheets.is_long() == (items < 7)
    assert json.loads(b"".join(sheets.parts())) == obvious(table, found, {"VCPU"}, (1, 39))


def test_hosts_whose_figures_mix_to_one_number_are_told_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Figures are compared, and not only what they are mixed to."""
    monkeypatch.setattr(candidates_json, "_MULTIPLIER", np.uint64(0))
    table = plain_hosts(40)
    found = hosts_alone(table, {"VCPU": 1})
    written = collect(table, found, {"VCPU"}, Shape.of((1, 26))).to_json()
    assert json.loads(written) == obvious(table, found, {"VCPU"}, (1, 26))
