"""Idempotency records: one process handles a request, all others know its answer, for a day."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy.orm import DeclarativeBase

from armillary import exception
from armillary.db import Database, idempotency
from armillary.db.database import DatabaseOptions
from armillary.db.idempotency import (
    KEPT_SECONDS,
    IdempotencyRecordMixin,
    IdempotencyRecords,
    delete_old,
)
from armillary.idempotency import HANDLED_SECONDS_MAX, RENEWED_SECONDS_MAX
from tests.fixtures.stand_ins.clock import Clock


class Base(DeclarativeBase):
    pass


class Row(IdempotencyRecordMixin, Base):
    pass


@pytest.fixture
def database(any_database_url: str) -> Iterator[Database]:
    database = Database(any_database_url, name="test", options=DatabaseOptions(max_pool_size=10))
    Base.metadata.create_all(database.engine)
    yield database
    database.dispose()


def test_one_of_many_repeats_handles_a_request(database: Database) -> None:
    """All others are told that it is being handled."""
    records = IdempotencyRecords(database, Row, Clock(1_000_000.0))
    with ThreadPoolExecutor(8) as pool:
        begun = list(pool.map(lambda number: records.begin("k", request_id=str(number)), range(8)))
    assert [one.is_new for one in begun].count(True) == 1
    assert len({one.request_id for one in begun}) == 1
    assert {one.answer for one in begun} == {None}


def test_answers_are_kept_for_a_day(database: Database) -> None:
    """Then the same key is that of a new request."""
    clock = Clock(1_000_000.0)
    records = IdempotencyRecords(database, Row, clock)
    for key in ("old", "new"):
        records.begin(key, fingerprint="f", request_id="req-1")
        records.keep(key, "done")
        clock.now += KEPT_SECONDS - 1
    assert records.begin("old", request_id="req-2").answer == "done"
    delete_old(database, Row, now=clock.now)
    assert records.begin("new", request_id="req-2").answer == "done"
    assert records.begin("old", request_id="req-2").is_new


@pytest.mark.parametrize("how", ["its process died", "it said so"])
def test_an_abandoned_request_is_handled_again_once(database: Database, how: str) -> None:
    """Under its first request ID, by which others know what was done of it."""
    clock = Clock(1_000_000.0)
    records = IdempotencyRecords(database, Row, clock)
    records.begin("k", fingerprint="f", request_id="req-1")
    assert not records.begin("k", fingerprint="f", request_id="req-2").is_new
    if how == "it said so":
        records.abandon("k", "req-1")
    else:
        clock.now += HANDLED_SECONDS_MAX
    again = records.begin("k", fingerprint="f", request_id="req-3")
    assert (again.is_new, again.request_id) == (True, "req-1")
    assert not records.begin("k", fingerprint="f", request_id="req-4").is_new


def test_a_request_that_is_not_renewed_is_soon_handled_again(database: Database) -> None:
    """Its process died; while it is renewed it is not, and by its handler alone."""
    clock = Clock(1_000_000.0)
    records = IdempotencyRecords(database, Row, clock)
    records.begin("k", fingerprint="f", request_id="req-1", is_renewed=True)
    for handler, is_dead in (("req-1", False), ("req-0", True)):
        clock.now += RENEWED_SECONDS_MAX - 1
        records.renew("k", handler)
        clock.now += 1
        again = records.begin("k", fingerprint="f", request_id="req-2", is_renewed=True)
        assert (again.is_new, again.request_id) == (is_dead, "req-1")


@pytest.mark.parametrize("ends", ["answered", "refused", "not known"])
def test_a_first_time_that_ends_late_loses_no_record(database: Database, ends: str) -> None:
    """A repeat was refused meanwhile, for what the first time had done by then."""
    clock = Clock(1_000_000.0)
    records = IdempotencyRecords(database, Row, clock)
    records.begin("k", fingerprint="f", request_id="req-1")
    clock.now += HANDLED_SECONDS_MAX
    assert records.begin("k", fingerprint="f", request_id="req-2").is_new
    records.forget("k", "req-2")
    if ends == "answered":
        records.keep("k", "done")
    elif ends == "refused":
        records.forget("k", "req-1")
    else:
        records.abandon("k", "req-1")
    again = records.begin("k", fingerprint="f", request_id="req-3")
    assert (again.request_id, again.answer) == ("req-1", "done" if ends == "answered" else None)


def test_the_first_answer_stays(database: Database) -> None:
    """A client that repeats its request again gets what it got before."""
    records = IdempotencyRecords(database, Row, Clock(1_000_000.0))
    records.begin("k", request_id="req-1")
    records.keep("k", "done")
    records.keep("k", "done again")
    records.abandon("k", "req-1")
    again = records.begin("k", request_id="req-2")
    assert (again.is_new, again.answer) == (False, "done")


@pytest.mark.parametrize("ends", ["forget", "abandon"])
@pytest.mark.parametrize("ended", ["forget", "abandon"])
def test_the_end_of_a_time_that_arrives_again_ends_no_later_time(
    database: Database, ended: str, ends: str
) -> None:
    """A third time would be carried out beside the second one."""
    records = IdempotencyRecords(database, Row, Clock(1_000_000.0))
    records.begin("k", request_id="req-1")
    getattr(records, ended)("k", "req-1")
    assert records.begin("k", request_id="req-2").is_new
    getattr(records, ends)("k", "req-1")
    assert not records.begin("k", request_id="req-3").is_new


def test_a_begin_that_arrives_again_is_answered_as_before(database: Database) -> None:
    """Its handler may get the answer to either one; what has its answer is not handled again."""
    records = IdempotencyRecords(database, Row, Clock(1_000_000.0))
    begun = [records.begin("k", request_id="req-1") for _time in range(2)]
    assert [each.is_new for each in begun] == [True, True]
    records.keep("k", "done")
    again = records.begin("k", request_id="req-1")
    assert (again.is_new, again.answer) == (False, "done")


def test_a_project_fills_no_database(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither by keys nor by answers; others go on, and services, which have no project."""
    monkeypatch.setattr(idempotency, "RECORDS_PER_OWNER_MAX", 5)
    monkeypatch.setattr(idempotency, "ANSWER_BYTES_PER_OWNER_MAX", 1000)
    monkeypatch.setattr(idempotency, "_COUNTED_EVERY", 1)
    records = IdempotencyRecords(database, Row, Clock(1_000_000.0))
    for number in range(5):
        records.begin(f"a{number}", owner="p1")
    with pytest.raises(exception.QuotaExceeded, match="idempotency_keys"):
        records.begin("a5", owner="p1")
    records.begin("b", owner="p2")
    records.keep("b", "x" * 1000)
    with pytest.raises(exception.QuotaExceeded, match="answer_bytes"):
        records.begin("b2", owner="p2")
    assert records.begin("c", owner="p3").is_new
    assert records.begin("d").is_new
    records.forget("a0", "")
    assert records.begin("a6", owner="p1").is_new
    records.forget("b", "")  # it has an answer
    assert records.begin("b").answer is not None
