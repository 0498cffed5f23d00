"""Reads of usage: of the whole fleet, of single providers, and of a project's consumers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from armillary import exception
from armillary.db import Database
from placement.columns import ClassColumns
from placement.db import consumers as queries
from placement.db import epochs, inventories
from placement.provider_table import ProviderTable
from placement.table_keeper import TableKeeper

Usage = dict[str, float]


@dataclass
class TypeUsage:
    """How many consumers of a type hold something, and how much of each class in all."""

    consumer_count: int = 0
    resources: dict[str, int] = field(default_factory=dict)


class UsageReader:
    """Reads usage from the provider table where that has it, else from the database."""

    def __init__(self, database: Database, keeper: TableKeeper) -> None:
        self._database = database
        self._keeper = keeper

    def get_totals(self) -> dict[str, Any]:
        """Return {"consumers", "providers", "resources": {class: {"used", "capacity"}}}."""
        with self._database.reader() as session:
            consumers = queries.count_consumers(session)
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

    def get_of_provider(self, provider: str) -> tuple[int, dict[str, int]]:
        """Return a provider's generation, and how much is used of each class that it has.

        Raises ``ResourceProviderNotFound``.
        """
        with self._database.reader() as session:
            found = inventories.get(session, [provider]).get(provider)
        if found is None:
            raise exception.ResourceProviderNotFound(provider=provider)
        return found.generation, {name: found.used.get(name, 0) for name in found.inventories}

    def get_of_project(
        self, project_id: str, *, user_id: str | None = None, consumer_type: str | None = None
    ) -> dict[str, TypeUsage]:
        """Return what a project's consumers hold by consumer type; of one user or type if given."""
        whose = queries.Whose(project_id, user_id, consumer_type)
        with self._database.reader() as session:
            epochs.begin_snapshot(session)
            counts = queries.count_by_type(session, whose)
            sums = queries.sum_amounts(session, whose)
        usages = {type_: TypeUsage(count) for type_, count in counts.items()}
        for type_, name, amount in sums:
            usages[type_].resources[name] = amount
        return usages


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
