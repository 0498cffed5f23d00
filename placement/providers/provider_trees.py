"""Trees of single hosts: providers with names, inventories, traits and aggregates."""

from collections.abc import Sequence

from armillary.db import Database
from objects.hosts.host_details import PROVIDERS_MAX, ProviderDetails
from placement.db import provider_tree as tree
from placement.providers.provider_record import ProviderFilters, ProviderRecord
from placement.providers.provider_table import ProviderTable
from placement.providers.table_cache import TableCache


class ProviderTrees:
    """Read trees from the provider table, their names from the database."""

    def __init__(self, database: Database, table_cache: TableCache) -> None:
        self._database = database
        self._table_cache = table_cache

    def list(self, roots: Sequence[str]) -> list[ProviderDetails]:
        """Return the trees of these providers, at most ``PROVIDERS_MAX``, from one snapshot."""
        found: list[ProviderDetails] = []
        with self._database.reader() as session, self._table_cache.table_as_of(session) as table:
            for root in roots:
                records = tree.list_records(session, ProviderFilters(in_tree=root))
                found += [_details(table, record) for record in records]
                if len(found) >= PROVIDERS_MAX:
                    break
        return _parents_first(found)[:PROVIDERS_MAX]


def _details(table: ProviderTable, record: ProviderRecord) -> ProviderDetails:
    row = table.row_of(record.uuid)
    assert row is not None, "the table is of the same snapshot"
    return ProviderDetails(
        uuid=record.uuid,
        name=record.name,
        parent_uuid=record.parent_provider_uuid,
        inventories=_inventories(table, row),
        traits=[name for name in sorted(table.trait_names()) if table.has_trait(name)[row]],
        aggregates=table.aggregates_of(row),
    )


def _inventories(table: ProviderTable, row: int) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for name in sorted(table.resource_classes()):
        columns = table.columns_of(name)
        if columns.max_unit[row]:  # blank rows have 0
            found[name] = {
                "total": int(columns.total[row]),
                "reserved": int(columns.reserved[row]),
                "allocation_ratio": float(columns.allocation_ratio[row]),
                "max_unit": int(columns.max_unit[row]),
                "capacity": int(columns.capacity[row]),
                "used": int(columns.used[row]),
            }
    return found


def _parents_first(found: list[ProviderDetails]) -> list[ProviderDetails]:
    """Return providers so that each comes after its parent, siblings by name."""
    below: dict[str | None, list[ProviderDetails]] = {}
    for one in sorted(found, key=lambda one: one.name):
        below.setdefault(one.parent_uuid, []).append(one)
    ordered: list[ProviderDetails] = []
    waiting = list(reversed(below.get(None, [])))
    while waiting:
        one = waiting.pop()
        ordered.append(one)
        waiting += reversed(below.get(one.uuid, []))
    return ordered
