"""Reads of usage: of the whole fleet, of single providers, and of a project's consumers."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np

from armillary import exception
from armillary.db import Database
from objects.allocations.allocation import ClassUsage, UsageTotals
from objects.request_spec import CLAIM
from placement.db import consumers as queries
from placement.db import epochs, inventories
from placement.providers.columns import ClassColumns
from placement.providers.provider_table import ProviderTable
from placement.providers.table_cache import TableCache

Usage = dict[str, float]


@dataclass
class TypeUsage:
    """Number of consumers of a type, and their total usage of each class."""

    consumer_count: int = 0
    resources: dict[str, int] = field(default_factory=dict)


class UsageReader:
    """Read usage from the provider table if possible, else from the database."""

    def __init__(self, database: Database, table_cache: TableCache) -> None:
        self._database = database
        self._table_cache = table_cache

    def get_totals(self) -> UsageTotals:
        """Return the totals of all classes that any provider has."""
        consumers = self._database.read(queries.count_consumers)
        with self._table_cache.table() as table:
            resources = {
                name: ClassUsage(_sum(columns.used), _sum(columns.capacity))
                for name, columns in _classes(table)
            }
            return UsageTotals(consumers, table.providers_total, resources)

    def get_provider_usages(self, providers: Sequence[str]) -> dict[str, dict[str, Usage]]:
        """Return provider -> class -> figures, for existing providers."""
        with self._table_cache.table() as table:
            rows = {provider: table.row_of(provider) for provider in providers}
            return {
                provider: _usages(table, row) for provider, row in rows.items() if row is not None
            }

    def get_of_provider(self, provider: str) -> tuple[int, dict[str, int]]:
        """Return a provider's generation, and its usage of each class.

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
        """Return the usage of a project by consumer type, optionally of one user or type."""
        whose = queries.Whose(project_id, user_id, consumer_type)
        with self._database.reader() as session:
            epochs.begin_snapshot(session)
            counts = queries.count_by_type(session, whose)
            sums = queries.sum_amounts(session, whose)
        usages = {type_: TypeUsage(count) for type_, count in counts.items()}
        for type_, name, amount in sums:
            usages[type_].resources[name] = amount
        return usages

    def get_of_servers(self, project_id: str, *, without: Collection[str]) -> dict[str, int]:
        """Return the amounts held by a project's servers and migrations, but not by all of them.

        Claims on pools are not counted.
        """
        used, whose = Counter[str](), queries.Whose(project_id)
        with self._database.reader() as session:
            epochs.begin_snapshot(session)
            for consumer_type, name, amount in queries.sum_amounts(session, whose):
                if consumer_type != CLAIM:
                    used[name] += amount
            for row in queries.get_allocations(session, set(without)):
                if row.project_id == project_id:
                    used[row.resource_class] -= row.amount
        return {name: amount for name, amount in used.items() if amount}


def _classes(table: ProviderTable) -> list[tuple[str, ClassColumns]]:
    """Return the classes that any provider has."""
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
