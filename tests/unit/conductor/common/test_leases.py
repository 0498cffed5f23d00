"""Tests of leases: one holder at a time, on every engine, and a keeper while work waits."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from armillary.db import Database
from conductor.common.leases import Lease, LeaseKeeper, LeaseMixin, Leases
from tests.fixtures.cell import Clock

SECONDS = 30.0


class Base(DeclarativeBase):
    """Registry of the one table."""


class Job(LeaseMixin, Base):
    """Something to work on."""

    __tablename__ = "jobs"

    key: Mapped[str] = mapped_column(sa.String(36), primary_key=True)
    fence: Mapped[int]


def free_keys(its: Leases, session: Session, *also: Any, limit: int) -> list[str]:
    return [key for key, _holder in its.list_free(session, *also, limit=limit)]


@pytest.fixture
def database(any_database_url: str) -> Iterator[Database]:
    """Lend a database with three free jobs, on each engine."""
    database = Database(any_database_url, name="jobs")
    Base.metadata.create_all(database.engine)
    with database.writer() as session:
        for index, key in enumerate(("a", "b", "c")):
            session.add(Job(key=key, fence=0, lease_owner=None, lease_expires_at=10.0 - index))
    yield database
    database.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def leases(clock: Clock, owner: str = "one") -> Leases:
    return Leases(Job, Job.key, owner=owner, lease_seconds=SECONDS, now=clock)


def take(database: Database, its: Leases, key: str = "a") -> Lease | None:
    return database.run_in_writer(its.take, key)


def test_a_free_row_is_taken_once(database: Database, clock: Clock) -> None:
    """By the first conductor that tries, be it the same one."""
    its = leases(clock)
    assert take(database, its) is not None
    assert take(database, its) is None
    assert take(database, leases(clock, "two")) is None


def test_a_row_is_free_again_when_its_lease_ran_out(database: Database, clock: Clock) -> None:
    """And belongs to the new holder then."""
    its = leases(clock)
    first = take(database, its)
    clock.advance(SECONDS)
    second = take(database, leases(clock, "two"))
    assert first is not None
    assert second is not None
    with database.writer() as session:
        assert not its.renew(session, first)
        assert not its.release(session, first)
        assert its.renew(session, second)


def test_of_many_together_one_gets_it(database: Database, clock: Clock) -> None:
    """Whatever the engine does about two updates of one row."""
    taken: list[Lease | None] = []
    start = threading.Barrier(8)

    def race(number: int) -> None:
        start.wait(60)
        taken.append(take(database, leases(clock, f"racer{number}")))

    threads = [threading.Thread(target=race, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len([lease for lease in taken if lease is not None]) == 1
    assert len(taken) == 8


def test_a_renewed_lease_lasts(database: Database, clock: Clock) -> None:
    """A whole term from then on."""
    its = leases(clock)
    lease = take(database, its)
    assert lease is not None
    clock.advance(SECONDS - 1)
    with database.writer() as session:
        assert its.renew(session, lease)
    clock.advance(SECONDS - 1)
    assert take(database, its) is None


def test_values_are_written_with_the_lease(database: Database, clock: Clock) -> None:
    """Such as a fence that a take-over raises."""
    its = leases(clock)
    with database.writer() as session:
        lease = its.take(session, "a", fence=Job.fence + 1000)
        assert lease is not None
        assert its.renew(session, lease, fence=Job.fence + 1)
    with database.reader() as session:
        job = session.get(Job, "a")
        assert job is not None
        assert job.fence == 1001


def test_of_many_leases_those_that_are_still_ours_are_renewed(
    database: Database, clock: Clock
) -> None:
    """With their values; the row that another conductor took meanwhile is left alone."""
    its, others = leases(clock), leases(clock, "two")
    held = [lease for key in "abc" if (lease := take(database, its, key))]
    clock.advance(SECONDS)
    assert take(database, others, "b") is not None
    renew = database.run_in_writer(its.renew_each, held, fence=7)
    with database.reader() as session:
        fences = dict(session.execute(sa.select(Job.key, Job.fence)).all())
        assert its.held_by(session, held) == renew == {"a", "c"}
    assert fences == {"a": 7, "b": 0, "c": 7}


def test_of_no_leases_none_is_ours(database: Database, clock: Clock) -> None:
    """Nothing is asked or written."""
    with database.writer() as session:
        assert leases(clock).renew_each(session, []) == set()


def test_a_row_that_was_let_go_is_free_after_its_pause(database: Database, clock: Clock) -> None:
    """Immediately without one."""
    its = leases(clock)
    lease = take(database, its)
    assert lease is not None
    with database.writer() as session:
        assert its.release(session, lease, retry_in_seconds=5)
    assert take(database, its) is None
    clock.advance(5)
    assert take(database, its) is not None


def test_free_rows_are_listed_oldest_first(database: Database, clock: Clock) -> None:
    """No more than asked for, none that is held, none that a condition leaves out."""
    its = leases(clock)
    take(database, its, "b")
    with database.reader() as session:
        assert free_keys(its, session, limit=10) == ["c", "a"]
        assert free_keys(its, session, limit=1) == ["c"]
        assert free_keys(its, session, Job.key != "c", limit=10) == ["a"]


def test_a_new_row_can_be_held_from_the_start(database: Database, clock: Clock) -> None:
    """No other conductor finds it before its maker is done or dead."""
    its = leases(clock)
    lease = its.held("new")
    with database.writer() as session:
        session.add(Job(key="new", fence=0, **lease.columns))
    assert take(database, its, "new") is None
    with database.writer() as session:
        assert its.renew(session, lease)


def test_many_rows_are_extended_for_any_owner(database: Database, clock: Clock) -> None:
    """Where the condition is true; none named is none extended."""
    its = leases(clock)
    with database.writer() as session:
        assert its.extend(session, ["a", "b"], Job.key != "b") == 1
        assert its.extend(session, []) == 0
        assert free_keys(its, session, limit=10) == ["c", "b"]


def test_a_keeper_renews_what_it_keeps(database: Database, clock: Clock) -> None:
    """And nothing that it dropped, or lost."""
    its = leases(clock)
    keeper = LeaseKeeper(database, its)
    kept, dropped = take(database, its, "a"), take(database, its, "b")
    assert kept is not None
    assert dropped is not None
    for lease in (kept, dropped):
        keeper.keep(lease)
    keeper.drop(dropped)
    clock.advance(SECONDS - 1)
    keeper.renew_all()
    clock.advance(2)
    with database.reader() as session:
        assert free_keys(its, session, limit=10) == ["c", "b"]


def test_a_keeper_gives_back_what_is_left(database: Database, clock: Clock) -> None:
    """At the end of a process: others need not wait."""
    its = leases(clock)
    keeper = LeaseKeeper(database, its)
    kept = take(database, its, "a")
    assert kept is not None
    keeper.keep(kept)
    keeper.release_all()
    assert take(database, leases(clock, "two"), "a") is not None
    keeper.release_all()
    assert take(database, leases(clock, "three"), "a") is None


def test_a_keeper_leaves_the_lease_of_another_holder_alone(
    database: Database, clock: Clock
) -> None:
    """A process that slept for too long must not prolong what is no longer its own."""
    its = leases(clock)
    keeper = LeaseKeeper(database, its)
    slow = take(database, its)
    assert slow is not None
    keeper.keep(slow)
    clock.advance(SECONDS)
    assert take(database, leases(clock, "two")) is not None
    clock.advance(SECONDS)
    keeper.renew_all()
    with database.reader() as session:
        assert "a" in free_keys(its, session, limit=10)


def test_an_owner_of_any_length_fits(database: Database, clock: Clock) -> None:
    """Host names may be long."""
    assert take(database, leases(clock, "h" * 300)) is not None
