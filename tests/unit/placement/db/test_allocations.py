"""The ledger in the database: what is stored comes back, on three databases."""

import datetime as dt
from collections.abc import Iterator
from typing import Any

import pytest
from oslo_db.exception import DBError
from sqlalchemy import event, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from armillary.db import Database
from placement.db import allocations
from placement.db.models import Base
from placement.engine import PlacementEngine
from placement.ledger.allocation_transaction import AllocationTransaction, ConsumerWrite, Shape
from placement.ledger.ledger import Account, Holding, Ledger
from placement.ownership import ConsumerOwner
from placement.providers.inventory import RATIO_MAX, Inventory
from tests.builders import a_provider, a_uuid
from tests.fixtures.placement import SCHEMA, placement_conf
from tests.fixtures.services.databases import NewTables

NOW = dt.datetime(2030, 1, 31, 12, 0, 0)
ODD = "p'1; --\\%(x)s %s é"
BIG = Inventory(2**31 - 1, 5, 2, 2**31 - 1, 3, RATIO_MAX)


@pytest.fixture
def database(any_tables: NewTables) -> Iterator[Database]:
    made = Database(any_tables(SCHEMA), name="placement")
    yield made
    made.dispose()


@pytest.fixture
def pair(database: Database) -> tuple[str, str]:
    """Return the UUIDs of a provider of 8 vCPUs, and of one of nothing."""
    reports = [a_provider(), a_provider("bare", inventories={})]
    PlacementEngine(placement_conf(), database).providers.set_providers(reports)
    return reports[0]["uuid"], reports[1]["uuid"]


def opened(database: Database, consumers: list[str], providers: list[str]) -> tuple[int, Ledger]:
    with database.writer() as session:
        return allocations.open_ledger(session, consumers=consumers, providers=providers)


def stored(database: Database, ledger: Ledger, epoch: int) -> None:
    with database.writer() as session:
        allocations.store(session, ledger, epoch, NOW)


def all_rows(database: Database) -> dict[str, Any]:
    with database.reader() as session:
        return {
            table.name: sorted(map(tuple, session.execute(select(table))), key=str)
            for table in Base.metadata.sorted_tables
        }


def test_what_is_stored_comes_back(database: Database, pair: tuple[str, str]) -> None:
    """Whatever is in the texts, however large the figures; who holds something brings it along."""
    provider, bare = pair
    me, you = a_uuid(), a_uuid()
    epoch, ledger = opened(database, [me, you], [provider, bare, a_uuid()])
    assert ledger.holdings == {me: None, you: None}
    assert ledger.providers.keys() == {provider, bare}
    write = ConsumerWrite(me, {provider: {"VCPU": 3}, bare: {"DISK_GB": 9}}, ODD, ODD, "VM")
    shapes = {bare: Shape(ledger.providers[bare].generation, {"DISK_GB": BIG})}
    AllocationTransaction(ledger, [write], shapes).settle()
    ledger.release(you, 7)
    stored(database, ledger, epoch)
    later, again = opened(database, [me, you], [])
    assert later == epoch + 1
    assert again.holdings == {me: Holding("VM", ODD, ODD, write.allocations, 1), you: None}
    assert again.fences == {you: 7}
    disk = again.providers[bare].accounts["DISK_GB"]
    assert (disk.inventory, disk.used) == (BIG, 9)
    assert type(disk.inventory.allocation_ratio) is float
    assert again.providers[provider].accounts["VCPU"].used == 3
    assert [again.providers[uuid].generation for uuid in pair] == [2, 4]


def test_what_is_given_back_is_gone(database: Database, pair: tuple[str, str]) -> None:
    """One consumer moves, one leaves; a third had nothing."""
    provider, _ = pair
    me, you, her = (a_uuid() for _ in range(3))
    epoch, ledger = opened(database, [me, you, her], [provider])
    AllocationTransaction(ledger, [ConsumerWrite(me, {provider: {"VCPU": 3}}, ODD, "u1")]).settle()
    stored(database, ledger, epoch)
    epoch, ledger = opened(database, [me, you, her], [])
    ledger.move(me, you, 1)
    ledger.release(her, 1)
    stored(database, ledger, epoch)
    epoch, ledger = opened(database, [me, you], [])
    assert (ledger.holdings[me], ledger.providers[provider].generation) == (None, 3)
    ledger.release(you, 2)
    stored(database, ledger, epoch)
    _, ledger = opened(database, [you, her], [provider])
    assert ledger.holdings == {you: None, her: None}
    assert ledger.former_owners == {you: ConsumerOwner(ODD, "u1")}
    assert ledger.providers[provider].accounts["VCPU"] == Account(
        ledger.providers[provider].accounts["VCPU"].resource_class_id,
        Inventory(8, 0, 1, 8, 1, 1.0),
        0,
    )


def test_nothing_changed_is_nothing_written(database: Database, pair: tuple[str, str]) -> None:
    """Not a row, not an epoch."""
    before = all_rows(database)
    epoch, ledger = opened(database, [a_uuid()], list(pair))
    stored(database, ledger, epoch)
    assert all_rows(database) == before


def test_a_claim_is_few_messages(database: Database, pair: tuple[str, str]) -> None:
    """Two on PostgreSQL; a claim costs as much time there as its messages do."""
    provider, _ = pair
    engine = PlacementEngine(placement_conf(), database)
    seen: list[str] = []

    def put() -> None:
        engine.consumer_writes.put([ConsumerWrite(a_uuid(), {provider: {"VCPU": 1}}, "p", "u")])

    put()
    event.listen(database.engine, "before_cursor_execute", lambda *args: seen.append(args[2]))
    put()
    assert len(seen) == (2 if database.dialect == "postgresql" else len(seen)) <= 11


def test_a_table_may_be_missing_for_a_while(database: Database) -> None:
    """As in the middle of an upgrade: attempts fail, and later ones do not suffer from them."""
    with database.writer() as session:
        session.execute(text("ALTER TABLE consumer_fences RENAME TO away"))
    for _ in range(2):
        with pytest.raises((DBError, SQLAlchemyError), match="consumer_fences"):
            opened(database, [a_uuid()], [])
    with database.writer() as session:
        session.execute(text("ALTER TABLE away RENAME TO consumer_fences"))
    assert opened(database, [], [a_uuid()])[1].providers == {}


def test_a_connection_that_was_taken_back_knows_its_statements(
    database: Database, pair: tuple[str, str]
) -> None:
    """They are made in a transaction that may fail, and outlive it."""
    provider, _ = pair

    def fail(session: Session) -> None:
        allocations.open_ledger(session, consumers=[], providers=[provider])
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        database.run_in_writer(fail)
    _, ledger = opened(database, [], [provider])
    assert ledger.providers.keys() == {provider}
