"""Reads of usage: of the whole fleet, and of single providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from armillary.db import Database
from placement.db import allocations
from placement.provider_table import ClassColumns, ProviderTable
from placement.table_keeper import TableKeeper

Usage = dict[str, float]


class UsageReader:
    """Reads usage from the provider table."""

    def __init__(self, database: Database, keeper: TableKeeper) -> None:
        self._database = database
        self._keeper = keeper

    def get_totals(self) -> dict[str, Any]:
        """Return {"consumers", "providers", "resources": {class: {"used", "capacity"}}}."""
        with self._database.reader() as session:
            consumers = allocations.count_consumers(session)
        with self._keeper.table() as table:
            return {
                "consumers": consumers,
                "providers": table.providers_total,
                "resources": {
                    name: {"used": _sum(columns.used), "capacity": _sum(columns.capacity)}
                    for name, columns in _classes(table)
                },
            }

    def get_provider_usages(self, providers: Sequence[str]) -> dict[str, dict[str, Usage]]:
        """Return provider -> class -> figures, for those that are there."""
        with self._keeper.table() as table:
            rows = {provider: table.row_of(provider) for provider in providers}
            return {
                provider: _usages(table, row) for provider, row in rows.items() if row is not None
            }


def _classes(table: ProviderTable) -> list[tuple[str, ClassColumns]]:
    """Return the classes that some provider has now."""
    columns = [(name, table.columns_of(name)) for name in sorted(table.resource_classes())]
    return [(name, item) for name, item in columns if item.total.any()]


def _sum(column: np.ndarray) -> int:
    return int(column.sum(dtype=np.float64))  # capacities may be so large that integers overflow


def _usages(table: ProviderTable, row: int) -> dict[str, Usage]:
    return {
        name: {
            "total": int(columns.total[row]),
            "reserved": int(columns.reserved[row]),
            "allocation_ratio": float(columns.allocation_ratio[row]),
            "used": int(columns.used[row]),
            "capacity": int(columns.capacity[row]),
        }
        for name, columns in _classes(table)
        if columns.total[row]
    }
