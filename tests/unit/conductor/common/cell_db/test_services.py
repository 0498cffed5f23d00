"""Services in the database: signs of life in one statement, and from whom they may come."""

from datetime import datetime, timedelta

import pytest

from armillary import exception
from armillary.db import Database
from conductor.common.cell_db import services
from objects.hosts.service import Service
from tests.builders import A_TIME

NOW = A_TIME
DOWN = 60.0


def later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def add(database: Database, *hosts: str, agent: str = "agent", disabled: bool = False) -> None:
    database.run_in_writer(services.add, hosts, agent=agent, version=1, disabled=disabled, now=NOW)


def see(database: Database, *hosts: str, agent: str = "agent", at: datetime = NOW) -> int:
    return database.run_in_writer(
        services.record_host_heartbeats,
        hosts,
        agent=agent,
        version=2,
        now=at,
        down_time_seconds=DOWN,
    )


def listed(database: Database, at: datetime = NOW) -> dict[str, Service]:
    found = database.read(services.list_all, services.AsOf(at, DOWN, None))
    return {service.host: service for service in found}


def turned(database: Database, *, up: bool, at: datetime, limit: int = 10) -> list[str]:
    return database.read(
        services.list_state_changes, up=up, now=at, down_time_seconds=DOWN, limit=limit
    )


def test_new_services_are_up_and_listed_by_host(database: Database) -> None:
    """Each with a UUID of its own."""
    add(database, "b", "a")
    found = listed(database)
    assert list(found) == ["a", "b"]
    assert found["a"].uuid != found["b"].uuid
    assert (found["a"].up, found["a"].disabled_reason) == (True, None)


def test_a_sign_of_life_from_its_own_agent_is_taken(database: Database) -> None:
    """Counted, with moment and version."""
    add(database, "a", "b")
    assert see(database, "a", at=later(10)) == 1
    found = listed(database)
    assert (found["a"].report_count, found["a"].version) == (2, 2)
    assert (found["a"].last_seen_up, found["b"].last_seen_up) == (later(10), NOW)


@pytest.mark.parametrize(
    ("seconds", "taken"), [(60, 0), (61, 1), (-61, 1)], ids=["alive", "silent", "clock-ahead"]
)
def test_another_agent_s_sign_of_life_is_taken_from_silent_ones_only(
    database: Database, seconds: float, taken: int
) -> None:
    """In the statement itself: two that try together cannot both win."""
    add(database, "a")
    assert see(database, "a", agent="other", at=later(seconds)) == taken
    assert listed(database)["a"].agent == ("other" if taken else "agent")


def test_services_that_turned_are_found(database: Database) -> None:
    """Those whose last word to the schedulers is not true any more, both ways."""
    add(database, "a", "b", "c")
    see(database, "a", at=later(100))
    assert turned(database, up=False, at=later(100)) == ["b", "c"]
    assert turned(database, up=False, at=later(100), limit=1) == ["b"]
    database.run_in_writer(services.mark_up, ["a", "b"], up=False)
    assert turned(database, up=False, at=later(100)) == ["c"]
    assert turned(database, up=True, at=later(100)) == ["a"]


def test_a_service_forced_down_turns_down_and_not_up(database: Database) -> None:
    """Whatever its agent says."""
    add(database, "a")
    uuid = listed(database)["a"].uuid

    def force(session: object) -> None:
        services.get(session, uuid).forced_down = True  # type: ignore[arg-type]

    database.run_in_writer(force)
    assert turned(database, up=False, at=NOW) == ["a"]
    database.run_in_writer(services.mark_up, ["a"], up=False)
    assert turned(database, up=True, at=NOW) == []


def test_who_carries_a_host_is_known(database: Database) -> None:
    """By host and by agent; names are compared exactly."""
    add(database, "a")
    with database.reader() as session:
        assert services.belongs_to_agent(session, "a", "agent")
        assert not services.belongs_to_agent(session, "a", "AGENT")
        assert not services.belongs_to_agent(session, "b", "agent")
        assert services.hosts_of_agent(session, "agent")
        assert not services.hosts_of_agent(session, "other")


def test_an_unknown_service_is_an_error(database: Database) -> None:
    """To look at and to change; removing it is none."""
    with database.writer() as session:
        for ask in (services.get, services.find):
            with pytest.raises(exception.ServiceNotFound):
                ask(session, "no-such")
        services.remove(session, "no-such")


def test_no_hosts_need_no_statement(database: Database) -> None:
    """Empty lists change nothing."""
    add(database)
    assert see(database) == 0
    assert listed(database) == {}
