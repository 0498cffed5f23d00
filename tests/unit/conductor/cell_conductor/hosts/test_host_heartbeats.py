"""Heartbeats kept outside of the database: fewer writes, and the same decisions."""

import dataclasses
import logging
from collections.abc import Callable, Collection

import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.service_history import CURRENT_VERSION
from conductor.cell_conductor.hosts import host_heartbeats
from conductor.cell_conductor.servicegroup import ServiceGroupDriver
from objects.hosts.agent_run import AgentRun
from objects.hosts.service import Service
from tests.fixtures.cell import Cell, counted_statements

AGENT, HOSTS = "agent-1", ["a", "b"]
RUN = AgentRun("run-1")
INTERVAL_SECONDS = 10
PAUSE_SECONDS = host_heartbeats.PAUSE_SECONDS


class MemoryDriver(ServiceGroupDriver):
    """Keeps heartbeats in this process, while it ``works``."""

    def __init__(self, cell: Cell) -> None:
        super().__init__(cell.conf)
        self.seen: dict[str, int] = {}
        self.works = True

    def record(self, hosts: Collection[str], at_seconds: int) -> None:
        if not self.works:
            raise ConnectionRefusedError("nothing listens")
        self.seen.update(dict.fromkeys(hosts, at_seconds))

    def last_seen(self, hosts: Collection[str]) -> dict[str, int]:
        if not self.works:
            raise ConnectionRefusedError("nothing listens")
        return {host: self.seen[host] for host in hosts if host in self.seen}


@pytest.fixture
def driver(cell: Cell) -> MemoryDriver:
    """The driver of a cell whose two hosts have just begun."""
    cell.heartbeats = made = MemoryDriver(cell)
    cell.restart()
    heartbeat(cell)
    return made


def heartbeat(cell: Cell, run: AgentRun = RUN, agent: str = AGENT, version: int = 0) -> None:
    cell.services.report(agent, HOSTS, {}, version=version or CURRENT_VERSION, run=run)


def services(cell: Cell) -> list[Service]:
    return cell.services.list_services(admin_context())


def live(cell: Cell, minutes: int) -> list[str]:
    """Let an agent live, watched between its heartbeats; return the statements that wrote."""
    with counted_statements(cell.database) as statements:
        for _ in range(minutes * 60 // INTERVAL_SECONDS):
            heartbeat(cell)
            for seconds in (INTERVAL_SECONDS - 4, 4):
                cell.clock.advance(seconds)
                assert cell.services.watch() == 0
    return [each for each in statements if not each.startswith("SELECT")]


def test_heartbeats_do_not_write_the_database(cell: Cell, driver: MemoryDriver) -> None:
    """Only the copies do, one statement for all hosts of a cell in a third of the down time."""
    written = live(cell, minutes=4)
    assert len(written) <= 4 * 60 / (cell.conf.service_down_time / 3)
    assert driver.seen.keys() == set(HOSTS)


def test_a_store_that_loses_everything_has_no_host_marked_as_down(
    cell: Cell, driver: MemoryDriver
) -> None:
    """Emptied again and again, at another moment between two copies."""
    for _ in range(5):
        live(cell, minutes=1)
        driver.seen.clear()
        cell.clock.advance(2)
    assert all(service.up for service in services(cell))


def test_a_store_that_is_down_has_no_host_marked_as_down_and_is_named_once(
    cell: Cell, driver: MemoryDriver, caplog: pytest.LogCaptureFixture
) -> None:
    """Heartbeats go to the database meanwhile; a host that is silent is found all the same."""
    caplog.set_level(logging.INFO, logger=host_heartbeats.__name__)
    live(cell, minutes=1)
    driver.works = False
    live(cell, minutes=3)
    assert len(caplog.records) == 1
    assert "servicegroup_driver) is unavailable" in caplog.text
    cell.clock.advance(cell.conf.service_down_time + 1)
    assert cell.services.watch() == len(HOSTS)


def test_a_silent_host_goes_down_and_comes_back(cell: Cell, driver: MemoryDriver) -> None:
    """After the down time, and with the first heartbeat."""
    live(cell, minutes=2)
    cell.clock.advance(cell.conf.service_down_time - INTERVAL_SECONDS)
    assert cell.services.watch() == 0
    cell.clock.advance(INTERVAL_SECONDS + 1)
    assert cell.services.watch() == len(HOSTS)
    assert cell.services.watch() == 0
    heartbeat(cell)
    assert all(service.up for service in services(cell))


def test_no_time_of_the_future_is_copied(cell: Cell, driver: MemoryDriver) -> None:
    """Else one entry would have a dead host alive for years."""
    driver.seen = dict.fromkeys(HOSTS, int(cell.clock()) + 10**6)
    cell.clock.advance(cell.conf.service_down_time + 1)
    assert cell.services.watch() == len(HOSTS)


@pytest.mark.parametrize(
    "change",
    [
        lambda cell: heartbeat(cell, version=CURRENT_VERSION + 1),
        lambda cell: heartbeat(cell, run=AgentRun("run-2", follows=[RUN.id])),
        lambda cell: cell.services.report(
            AGENT, [*HOSTS, "c"], {}, version=CURRENT_VERSION, run=RUN
        ),
        lambda cell: heartbeat(cell, run=dataclasses.replace(RUN, is_over=True)),
    ],
    ids=["version", "next-run", "new-host", "good-bye"],
)
def test_what_changes_a_record_is_written_immediately(
    cell: Cell, driver: MemoryDriver, change: Callable[[Cell], None]
) -> None:
    """It is news to schedulers, or to the next agent."""
    with counted_statements(cell.database) as statements:
        change(cell)
    assert any(not each.startswith("SELECT") for each in statements)


def test_a_second_agent_of_a_name_is_refused_while_the_first_lives(
    cell: Cell, driver: MemoryDriver
) -> None:
    """Its life is in the store for most of the time; also when the store lost it."""
    other = AgentRun("run-2")
    live(cell, minutes=3)
    for _ in range(2):
        with pytest.raises(exception.AgentNotAdmitted, match="another agent of this name"):
            heartbeat(cell, run=other)
        driver.seen.clear()
    cell.clock.advance(cell.conf.service_down_time + 1)
    heartbeat(cell, run=other)
    with pytest.raises(exception.AgentNotAdmitted):
        heartbeat(cell)


def test_a_host_of_an_agent_that_lives_is_not_given_to_another(
    cell: Cell, driver: MemoryDriver
) -> None:
    """Nor while the store is down."""
    live(cell, minutes=3)
    for works in (True, False):
        driver.works = works
        with pytest.raises(exception.Conflict, match="managed by agent agent-1"):
            heartbeat(cell, agent="agent-2", run=AgentRun("run-2"))


def test_a_late_heartbeat_is_refused_whether_the_store_has_its_host_or_not(
    cell: Cell, driver: MemoryDriver
) -> None:
    """Also while the record is fresh enough that the store alone would take it."""
    live(cell, minutes=1)
    heartbeat(cell)
    late = dataclasses.replace(RUN, answered_seconds_ago=INTERVAL_SECONDS)
    cell.clock.advance(2 * INTERVAL_SECONDS + 1)
    for _ in range(2):
        with pytest.raises(exception.HeartbeatTooLate):
            heartbeat(cell, run=late)
        driver.seen.clear()


def test_a_heartbeat_in_time_counts_while_its_host_is_in_the_store_alone(
    cell: Cell, driver: MemoryDriver
) -> None:
    """The record is older than the last heartbeat; the store knows better."""
    in_time = dataclasses.replace(RUN, answered_seconds_ago=INTERVAL_SECONDS)
    for _ in range(2):
        cell.clock.advance(INTERVAL_SECONDS)
        heartbeat(cell, run=in_time)
    cell.clock.advance(INTERVAL_SECONDS)
    with counted_statements(cell.database) as statements:
        heartbeat(cell, run=in_time)
    assert all(each.startswith("SELECT") for each in statements)
