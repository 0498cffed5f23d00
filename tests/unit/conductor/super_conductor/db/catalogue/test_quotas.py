"""Tests of limits and of counting what a project uses, also by two together."""

import threading

from armillary.db import Database
from conductor.super_conductor.db.catalogue import quotas
from tests.fixtures.control_plane import ControlPlane, a_user


def test_limits_that_were_set_are_returned(api_database: Database) -> None:
    """Those alone, the last value of each."""
    for limits in ({"cores": 5, "ram": 6}, {"cores": -1}):
        with api_database.writer() as session:
            quotas.set_limits(session, "p1", limits)
    with api_database.reader() as session:
        assert quotas.get_limits(session, "p1") == {"cores": -1, "ram": 6}
        assert quotas.get_limits(session, "p2") == {}
    with api_database.writer() as session:
        quotas.set_limits(session, quotas.OF_ALL_PROJECTS, {"cores": 8, "instances": 9})
        assert quotas.get_limits(session, "p1") == {"cores": -1, "ram": 6, "instances": 9}
        quotas.delete_limits(session, "p1")
        assert quotas.get_limits(session, "p1") == {"cores": 8, "instances": 9}


def test_usage_is_what_lives_wherever_it_is(plane: ControlPlane) -> None:
    """On its way, in a cell; not what was deleted, nor what is another project's."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    (gone,) = plane.build()
    plane.build(flavor="large")
    plane.create()
    plane.create(context=a_user("p2"))
    plane.delete(gone)
    with plane.database.reader() as session:
        assert quotas.count_usage(session, "p1") == {
            "instances": 2, "cores": 5, "ram": 2560, "server_groups": 0,
        }  # fmt: skip


def test_one_at_a_time_counts_for_a_project(any_api_database: Database) -> None:
    """Who comes second waits until the first one's transaction has ended."""
    order: list[str] = []
    first_has_it = threading.Event()

    def second() -> None:
        first_has_it.wait(60)
        with any_api_database.writer() as session:
            quotas.lock_owner(session, "p1")
            order.append("second")

    thread = threading.Thread(target=second)
    thread.start()
    with any_api_database.writer() as session:
        quotas.lock_owner(session, "p1")
        first_has_it.set()
        thread.join(0.3)
        order.append("first")
    thread.join(60)
    assert order == ["first", "second"]


def test_two_together_set_the_first_limits_of_a_project(any_api_database: Database) -> None:
    """The second waits for the first, and the last value of each limit holds."""
    first_has_set = threading.Event()

    def second() -> None:
        first_has_set.wait(60)
        any_api_database.run_in_writer(quotas.set_limits, "p1", {"cores": 7, "instances": 8})

    thread = threading.Thread(target=second)
    thread.start()
    with any_api_database.writer() as session:
        quotas.set_limits(session, "p1", {"cores": 5, "ram": 6})
        first_has_set.set()
        thread.join(0.3)
    thread.join(60)
    with any_api_database.reader() as session:
        assert quotas.get_limits(session, "p1") == {"cores": 7, "ram": 6, "instances": 8}
