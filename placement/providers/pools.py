"""Pools: the providers with a trait, with all that a scheduler of claims shows of them."""

from sqlalchemy.orm import Session

from armillary.db import Database
from objects.claims.pool import Pool, PoolInventory
from placement.db import consumers
from placement.db import provider_tree as tree
from placement.providers.provider_record import ProviderFilters, ProviderRecord
from placement.providers.provider_table import ProviderTable
from placement.providers.resource_providers import ids_that_match
from placement.providers.table_cache import TableCache


class PoolReader:
    """Read pools from the provider table, their names and claims from the database."""

    def __init__(self, database: Database, table_cache: TableCache) -> None:
        self._database = database
        self._table_cache = table_cache

    def list(self, trait: str) -> list[Pool]:
        """Return the providers with a trait, oldest first, from one snapshot."""
        wanted = ProviderFilters(required_traits=((trait,),))
        with self._database.reader() as session, self._table_cache.table_as_of(session) as table:
            records = tree.list_records_by_id(session, ids_that_match(table, wanted))
            return [_pool(session, table, record) for record in records]


def _pool(session: Session, table: ProviderTable, record: ProviderRecord) -> Pool:
    row = table.row_of(record.uuid)
    assert row is not None, "the table is of the same snapshot"
    inventories = {}
    for name in table.resource_classes():
        columns = table.columns_of(name)
        if columns.max_unit[row]:  # blank rows have 0
            inventories[name] = PoolInventory(
                total=int(columns.total[row]),
                reserved=int(columns.reserved[row]),
                used=int(columns.used[row]),
                allocation_ratio=float(columns.allocation_ratio[row]),
            )
    return Pool(
        uuid=record.uuid,
        name=record.name,
        traits=[name for name in sorted(table.trait_names()) if table.has_trait(name)[row]],
        aggregates=table.aggregates_of(row),
        claims=consumers.count_of_provider(session, record.id),
        inventories=inventories,
    )
