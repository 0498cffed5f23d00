"""Faults in the database: one an attempt, cut to fit, the last one found quickly."""

from datetime import timedelta

from armillary.db import Database
from conductor.common.cell_db import faults
from objects.instances.instance_fault import InstanceFault
from tests.builders import A_TIME, a_fault, a_uuid

NOW = A_TIME + timedelta(hours=1)


def record(database: Database, fault: InstanceFault) -> bool:
    return database.run_in_writer(faults.record, fault, now=NOW)


def test_an_attempt_has_one_fault(database: Database) -> None:
    """The first that was told stays."""
    uuid = a_uuid()
    assert record(database, a_fault(uuid, message="first"))
    assert not record(database, a_fault(uuid, message="second"))
    assert record(database, a_fault(uuid, attempt=2))
    found = database.read(faults.list_of, uuid)
    assert [(fault.attempt, fault.created_at) for fault in found] == [(1, NOW), (2, NOW)]
    assert found[0].message == "first"


def test_texts_that_are_too_long_are_cut(database: Database) -> None:
    """Also where each character takes four bytes."""
    uuid = a_uuid()
    record(database, a_fault(uuid, message="🜨" * 300, details="🜨" * 20_000))
    [fault] = database.read(faults.list_of, uuid)
    assert (len(fault.message), len(fault.details or "")) == (255, 15_000)


def test_a_fault_is_found_by_attempt_and_host(database: Database) -> None:
    """What tells a repeated report from a late one."""
    uuid = a_uuid()
    record(database, a_fault(uuid, attempt=1, host="a"))
    with database.reader() as session:
        assert faults.exists(session, uuid, 1)
        assert faults.exists(session, uuid, 1, host="a")
        assert not faults.exists(session, uuid, 1, host="b")
        assert not faults.exists(session, uuid, 2)


def test_the_latest_fault_is_the_one_stored_last(database: Database) -> None:
    """Not the one with the highest attempt: attempt 0 is the request as a whole."""
    one, two = a_uuid(), a_uuid()
    for attempt in (1, 2, 0):
        record(database, a_fault(one, attempt=attempt))
    record(database, a_fault(two, attempt=1))
    with database.reader() as session:
        latest = faults.latest(session, [one, two, a_uuid()])
        assert faults.latest(session, []) == {}
    assert {uuid: fault.attempt for uuid, fault in latest.items()} == {one: 0, two: 1}
