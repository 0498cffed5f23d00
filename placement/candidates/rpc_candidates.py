"""Candidates in RPC form: columns of inventories, and templates of allocations."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from objects.allocations.allocation_candidates import AllocationCandidates
from objects.allocations.resource_query import ResourceQuery
from objects.packed.provider_uuids import check_of_shares
from placement.candidates.result import Batch, Found
from placement.providers.columns import Numbers, Ratios, Rows, only_one
from placement.providers.provider_table import ProviderTable

Figures = dict[str, Numbers | Ratios]


def pack(
    table: ProviderTable, query: ResourceQuery, found: Found, *, by_id: bool = False
) -> AllocationCandidates:
    """Return the candidates in plain form if each is a single host, else with templates.

    Providers are named by UUID, or by database id for a client that supports this.
    """
    amounts: dict[str, int] = {}
    for group in query.groups:
        for name, amount in group.resources.items():
            amounts[name] = amounts.get(name, 0) + amount
    batches = [batch for batch in found.batches if len(batch)]
    candidates = AllocationCandidates.from_values(
        _figures(table, batches, list(amounts)),
        resource_classes=list(amounts),
        amounts=np.array(list(amounts.values()), np.int64),
        providers_total=found.providers_total,
        ruled_out=[each.to_plain() for each in found.ruled_out],
        lacks=[each.to_plain() for each in found.lacks],
    )
    named = {"provider": _joined([batch.anchors for batch in batches])}
    if not _are_hosts_alone(batches):
        named["slot"] = _fill_templates(candidates, batches)
    for role, rows in named.items():
        if by_id:
            setattr(candidates, f"{role}_ids", table.ids[rows])
        else:
            setattr(candidates, f"{role}_uuids", table.uuids[rows].tolist())
    if by_id:
        shares = table.check_shares[_joined(list(named.values()))]
        candidates.provider_check = check_of_shares(shares)
    candidates.obj_reset_changes(recursive=False)
    return candidates


def _are_hosts_alone(batches: Sequence[Batch]) -> bool:
    return all(
        len(batch.resources) == 1 and np.array_equal(batch.providers[:, 0], batch.anchors)
        for batch in batches
    )


def _joined(rows: Sequence[Rows]) -> Rows:
    if len(rows) == 1:
        return rows[0]
    return np.concatenate([np.empty(0, np.intp), *rows])


def _figures(table: ProviderTable, batches: Sequence[Batch], names: Sequence[str]) -> Figures:
    """Return total, reserved, used and ratio, (candidates, classes) each."""
    if len(batches) == 1 and len(batches[0].resources) == 1:
        return _figures_of_providers(table, batches[0].providers[:, 0], names)
    columns = [[_figures_of(table, batch, name) for batch in batches] for name in names]
    joined: Figures = {}
    for index, (field, dtype) in enumerate(_FIELDS):
        parts = [[batch[index] for batch in column] for column in columns]
        joined[field] = np.stack(
            [part[0] if len(part) == 1 else _concatenated(part, dtype) for part in parts]
        ).T
    return joined


def _figures_of_providers(table: ProviderTable, rows: Rows, names: Sequence[str]) -> Figures:
    """Return the figures if each candidate is one provider.

    Values and usage that are the same for all take a single row.
    """
    columns = [table.columns_of(name) for name in names]
    used = [each.used[rows] for each in columns]
    figures: Figures = {"used": _joined_columns(used, [only_one(each) for each in used])}
    for field, source in _FACTS:
        common = [getattr(each.alike, source) for each in columns]
        if None in common:
            figures[field] = np.stack([getattr(each, source)[rows] for each in columns]).T
        else:
            figures[field] = _one_for_all(common, len(rows))
    return figures


def _joined_columns(columns: Sequence[Numbers], common: Sequence[int | None]) -> Numbers:
    if None in common:
        return np.stack(columns).T
    return _one_for_all(common, len(columns[0]))


def _one_for_all(row: Sequence[Any], count: int) -> NDArray[Any]:
    return np.broadcast_to(np.array(row), (count, len(row)))


_FACTS = (("total", "total"), ("reserved", "reserved"), ("ratio", "allocation_ratio"))
_FIELDS: tuple[tuple[str, type], ...] = (
    ("total", np.int64),
    ("reserved", np.int64),
    ("used", np.int64),
    ("ratio", np.float64),
)


def _concatenated(parts: Sequence[Any], dtype: type) -> Any:
    return np.concatenate(parts) if parts else np.empty(0, dtype)


def _figures_of(
    table: ProviderTable, batch: Batch, name: str
) -> tuple[Numbers, Numbers, Numbers, Ratios]:
    """Return the four figures of one class: the sums over the providers that serve it."""
    columns = table.columns_of(name)
    givers = [rows for rows, giving in zip(batch.providers.T, batch.resources, strict=True)
              if name in giving]  # fmt: skip
    if len(givers) == 1:
        (rows,) = givers
        return (
            columns.total[rows],
            columns.reserved[rows],
            columns.used[rows],
            columns.allocation_ratio[rows],
        )
    rows = np.stack(givers)
    total, reserved, used, ratio = (
        columns.total[rows],
        columns.reserved[rows],
        columns.used[rows],
        columns.allocation_ratio[rows],
    )
    own, whole = total - reserved, (total - reserved).sum(axis=0)
    together = (own * ratio).sum(axis=0) / np.maximum(whole, 1)
    return total.sum(axis=0), reserved.sum(axis=0), used.sum(axis=0), together


def _fill_templates(candidates: AllocationCandidates, batches: Sequence[Batch]) -> Rows:
    """Set the distinct templates of the allocations; return the providers that fill them."""
    templates: dict[str, int] = {}
    template_of, slots = [], []
    for batch in batches:
        giving = [slot for slot, resources in enumerate(batch.resources) if resources]
        text = _template_text([batch.resources[slot] for slot in giving])
        number = templates.setdefault(text, len(templates))
        template_of.append(np.full(len(batch), number, np.int64))
        slots.append(batch.providers[:, giving].ravel())
    providers, filled = np.unique(np.concatenate(slots), return_inverse=True)
    candidates.templates = [json.loads(text) for text in templates]
    candidates.template_of = np.concatenate(template_of)
    candidates.slots = filled.astype(np.int64)
    return providers


def _template_text(resources: Sequence[Mapping[str, int]]) -> str:
    return json.dumps([dict(giving) for giving in resources])
