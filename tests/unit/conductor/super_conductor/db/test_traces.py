"""Tests of storing decision traces, on every engine."""

from datetime import UTC, datetime, timedelta
from typing import Any

from armillary.db import Database
from conductor.super_conductor.db import instance_mappings, models, traces
from conductor.super_conductor.db.traces import MoveTrace, SplitTrace
from tests.fixtures.super_conductor.mappings import map_instances

ONE, TWO = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
NOW = datetime(2030, 1, 31, 12, tzinfo=UTC)


def a_choice(host: str) -> dict[str, Any]:
    shares = {"RAMWeigher": {"raw": 512.0, "normalised": 1.0, "weight": 2.0}}
    return {"host": host, "weight": 2.0, "shares": shares, "runners_up": [], "conflicts": []}


def test_the_last_decision_counts(any_api_database: Database) -> None:
    """Its shared part with the instance's own choice; a trace goes with its last instance."""
    with any_api_database.writer() as session:
        map_instances(session, ONE, TWO)
        traces.store_trace(
            session, "r-1", SplitTrace({"candidates": 1}, {TWO: a_choice("old")}), now=NOW
        )
        traces.store_trace(
            session, "r-1", SplitTrace({"candidates": 2}, {ONE: a_choice("h1")}), now=NOW
        )
        shared = {"candidates": 2}
        assert traces.find_trace(session, ONE) == {**shared, "choices": [a_choice("h1")]}
        assert traces.find_trace(session, TWO) == {**shared, "choices": []}
        traces.delete_choices(session, [ONE])
        traces.delete_unused_traces(session)
        assert traces.find_trace(session, ONE) == {**shared, "choices": []}
        instance_mappings.delete_mappings(session, [ONE, TWO])
        traces.delete_unused_traces(session)
        assert traces.find_trace(session, ONE) is None


def test_old_traces_are_forgotten_the_oldest_first(any_api_database: Database) -> None:
    """At most that number at a time, with the choices; the rest stays."""
    with any_api_database.writer() as session:
        map_instances(session, ONE)
        map_instances(session, TWO, reservation_id="r-2")
        traces.store_trace(session, "r-1", SplitTrace({}, {ONE: a_choice("h1")}), now=NOW)
        traces.store_trace(
            session, "r-2", SplitTrace({}, {TWO: a_choice("h2")}), now=NOW - timedelta(seconds=1)
        )
        assert traces.delete_old_traces(session, before=NOW, limit=1) == 1
        assert (traces.find_trace(session, TWO), session.get(models.InstanceChoice, TWO)) == (
            None,
            None,
        )
        assert traces.find_trace(session, ONE) is not None
        before = NOW - timedelta(seconds=1)
        assert traces.delete_old_traces(session, before=before, limit=1) == 0


# Moves


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
        traces.store_move_trace(session, first, {"hosts_total": 1}, keep_max=5)
        traces.store_move_trace(session, last, {"hosts_total": 2}, keep_max=5)
        assert traces.list_move_traces(session, ONE) == [last]
        assert traces.find_move_trace(session, last.migration_uuid) == {"hosts_total": 2}


def test_the_last_moves_of_each_server_are_kept(any_api_database: Database) -> None:
    """At most that number, the newest first."""
    with any_api_database.writer() as session:
        for number in (3, 1, 2):
            traces.store_move_trace(session, a_move(number), {}, keep_max=2)
        other = a_move(4, of=TWO)
        traces.store_move_trace(session, other, {}, keep_max=2)
        assert traces.list_move_traces(session, ONE) == [a_move(3), a_move(2)]
        assert traces.list_move_traces(session, TWO) == [other]
        assert traces.find_move_trace(session, a_move(1).migration_uuid) is None


def test_old_ones_are_forgotten_the_oldest_first(any_api_database: Database) -> None:
    """At most that number at a time."""
    with any_api_database.writer() as session:
        for number in (1, 2, 3):
            traces.store_move_trace(session, a_move(number), {}, keep_max=5)
        before = a_move(2).stored_at
        assert traces.delete_old_move_traces(session, before=before, limit=1) == 1
        assert traces.list_move_traces(session, ONE) == [a_move(3), a_move(2)]
        assert traces.delete_old_move_traces(session, before=before, limit=5) == 1
        assert traces.list_move_traces(session, ONE) == [a_move(3)]
        traces.delete_move_traces(session, [ONE])
        assert traces.list_move_traces(session, ONE) == []
