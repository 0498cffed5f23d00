"""Tests of storing decision traces, on every engine."""

from __future__ import annotations

from armillary.db import Database
from conductor.api_db import instance_mappings, traces

ONE, TWO = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))


def test_the_last_decision_counts(any_api_database: Database) -> None:
    """Its shared part with the instance's own choice; a trace goes when nobody is left."""
    with any_api_database.writer() as session:
        instance_mappings.add_mappings(
            session,
            [
                {"instance_uuid": uuid, "cell_uuid": None, "reservation_id": "r-1",
                 "project_id": "p1", "user_id": "u1", "vcpus": 1, "memory_mb": 1,
                 "queued_for_delete": False, "deleted_at": None}
                for uuid in (ONE, TWO)
            ],
        )  # fmt: skip
        traces.store_trace(session, "r-1", {"candidates": 1}, {TWO: {"host": "old"}})
        traces.store_trace(session, "r-1", {"candidates": 2}, {ONE: {"host": "h1"}})
        assert traces.find_trace(session, ONE) == {"candidates": 2, "choices": [{"host": "h1"}]}
        assert traces.find_trace(session, TWO) == {"candidates": 2, "choices": []}
        traces.delete_choices(session, [ONE])
        traces.delete_unused_traces(session)
        assert traces.find_trace(session, ONE) == {"candidates": 2, "choices": []}
        instance_mappings.delete_mappings(session, [ONE, TWO])
        traces.delete_unused_traces(session)
        assert traces.find_trace(session, ONE) is None
