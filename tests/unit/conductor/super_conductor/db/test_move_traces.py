"""Tests of storing the decision traces of moves, on every engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from armillary.db import Database
from conductor.super_conductor.db import move_traces
from conductor.super_conductor.db.move_traces import MoveTrace

ONE, TWO = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


def a_move(number: int, *, of: str = ONE, host: str | None = "host2") -> MoveTrace:
    """Return what was decided about a server's move, so many seconds after now."""
    return MoveTrace(
        migration_uuid=f"00000000-0000-4000-9000-{number:012}",
        instance_uuid=of,
        operation="resize",
        request_id=f"req-{number}",
        host=host,
        sentence=None if host else "2 of 2 hosts lack VCPU",
        stored_at=NOW + timedelta(seconds=number),
    )


def test_a_move_has_one_trace_the_last_one(any_api_database: Database) -> None:
    """A decision that is made again takes the place of the one before."""
    first, last = a_move(1, host=None), a_move(1)
    with any_api_database.writer() as session:
        move_traces.store(session, first, {"hosts_total": 1}, keep_max=5)
        move_traces.store(session, last, {"hosts_total": 2}, keep_max=5)
        assert move_traces.list_of(session, ONE) == [last]
        assert move_traces.find_trace(session, last.migration_uuid) == {"hosts_total": 2}


def test_the_last_moves_of_each_server_are_kept(any_api_database: Database) -> None:
    """At most that number, the newest first."""
    with any_api_database.writer() as session:
        for number in (3, 1, 2):
            move_traces.store(session, a_move(number), {}, keep_max=2)
        other = a_move(4, of=TWO)
        move_traces.store(session, other, {}, keep_max=2)
        assert move_traces.list_of(session, ONE) == [a_move(3), a_move(2)]
        assert move_traces.list_of(session, TWO) == [other]
        assert move_traces.find_trace(session, a_move(1).migration_uuid) is None


def test_old_ones_are_forgotten_the_oldest_first(any_api_database: Database) -> None:
    """At most that number at a time."""
    with any_api_database.writer() as session:
        for number in (1, 2, 3):
            move_traces.store(session, a_move(number), {}, keep_max=5)
        before = a_move(2).stored_at
        assert move_traces.delete_old(session, stored_before=before, limit=1) == 1
        assert move_traces.list_of(session, ONE) == [a_move(3), a_move(2)]
        assert move_traces.delete_old(session, stored_before=before, limit=5) == 1
        assert move_traces.list_of(session, ONE) == [a_move(3)]
        move_traces.delete_of(session, [ONE])
        assert move_traces.list_of(session, ONE) == []
