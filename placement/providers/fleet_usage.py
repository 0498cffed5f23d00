"""Capacity and use of all trees of providers, as columns for the view of the fleet."""

import numpy as np
from numpy.typing import NDArray

from objects.hosts.fleet import RESOURCE_CLASSES_MAX, TRAIT_SETS_MAX, FleetUsage
from placement.providers.columns import Numbers, Rows
from placement.providers.provider_table import ProviderTable

NO_INVENTORY = -1


def summarize(table: ProviderTable, *, known_epoch: int | None = None) -> FleetUsage:
    """Return the columns; none of them if the caller knows the table's epoch."""
    if known_epoch == table.epoch:
        roots = np.empty(0, np.intp)
    else:
        roots = np.flatnonzero(table.is_there & (table.parent_rows < 0))
    names = _classes(table) if len(roots) else []
    capacity, used = _figures(table, roots, names)
    sets, numbers = _trait_sets(table, roots)
    traits = sorted({name for each in sets for name in each})
    place = {name: index for index, name in enumerate(traits)}
    return FleetUsage.from_values(
        epoch=table.epoch,
        provider_uuids=table.uuids[roots].tolist(),
        resource_classes=names,
        capacity=capacity,
        used=used,
        traits=traits,
        trait_sets=[[place[name] for name in each] for each in sets],
        trait_set=numbers,
    )


def _classes(table: ProviderTable) -> list[str]:
    """Return the classes that providers have inventories of."""
    found = (name for name in table.resource_classes() if table.columns_of(name).max_unit.any())
    return sorted(found)[:RESOURCE_CLASSES_MAX]


def _figures(table: ProviderTable, roots: Rows, names: list[str]) -> tuple[Numbers, Numbers]:
    """Return capacity and use of each tree, one column for each class."""
    capacity = np.full((len(roots), len(names)), NO_INVENTORY, np.int64)
    used = np.zeros((len(roots), len(names)), np.int64)
    for index, name in enumerate(names):
        columns = table.columns_of(name)
        rows = np.flatnonzero((columns.max_unit > 0) & table.is_there)
        has_any = np.zeros(table.size, np.bool_)
        has_any[table.root_rows[rows]] = True
        total = _sum_by_root(table, columns.capacity, rows)
        capacity[:, index] = np.where(has_any, total, NO_INVENTORY)[roots]
        used[:, index] = _sum_by_root(table, columns.used, rows)[roots]
    return capacity, used


def _sum_by_root(table: ProviderTable, column: Numbers, rows: Rows) -> NDArray[np.int64]:
    """Return for each row the sum over its tree, which is at its root."""
    # In floats: capacities may be so large that integers overflow.
    sums = np.bincount(table.root_rows[rows], weights=column[rows], minlength=table.size)
    return np.minimum(sums, 2.0**62).astype(np.int64)


def _trait_sets(table: ProviderTable, roots: Rows) -> tuple[list[tuple[str, ...]], Numbers]:
    """Return the different sets of traits, and the index of each root's."""
    if not len(roots):
        return [], np.empty(0, np.int64)
    distinct, numbers = np.unique(table.trait_sets_of(roots), return_inverse=True)
    kept = [table.trait_set(number) for number in distinct.tolist()[: TRAIT_SETS_MAX - 1]]
    if len(distinct) > len(kept):
        kept.append(())  # those beyond the maximum are shown without traits
    return kept, np.minimum(numbers, len(kept) - 1).astype(np.int64)
