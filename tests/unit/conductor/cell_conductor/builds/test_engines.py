"""A cell at work on each of the three engines, several conductors together."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary.context import admin_context
from conductor.common.cell_db import models
from tests.fixtures.cell import SCHEMA, Cell, a_build_request, node_uuid
from tests.fixtures.services.databases import NewTables

THREADS = 4


@pytest.fixture
def anywhere(tmp_path: Path, any_tables: NewTables) -> Iterator[Cell]:
    """Return a cell on a database of its own; the test runs once on each engine."""
    made = Cell(tmp_path, any_tables(SCHEMA))
    yield made
    made.database.dispose()


def test_builds_and_deletes_go_their_way_on_every_engine(anywhere: Cell) -> None:
    """A failed host, a refused alternate, a host that went down, and what is deleted is gone."""
    cell = anywhere
    for host in "abcd":
        cell.add_agent(host)
    cell.failing["a"] = True
    cell.placement.full.add(node_uuid("b"))
    first, second = a_build_request("a", "b", "c"), a_build_request("d", "c")
    cell.hand_over(first, second)
    cell.silence("d")
    cell.settle()
    cell.check(first.instance_uuid, "active", "c")
    cell.check(second.instance_uuid, "active", "c")
    cell.ask_delete(first.instance_uuid)
    cell.settle()
    cell.check(first.instance_uuid, "deleted")
    cell.purge()
    batch = cell.updates.get(0)
    counts = dict(zip(batch.hosts, batch.attributes["num_instances"], strict=True))
    assert counts == {"a": 0, "b": 0, "c": 1, "d": 0}


def test_conductors_that_work_together_do_everything_once(anywhere: Cell) -> None:
    """Heartbeats, builds handed over twice, reports and recovery in parallel, on the same rows."""
    cell = anywhere
    for host in "ab":
        cell.add_agent(host)
    requests = [a_build_request("a", "b") for _ in range(12)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for request in requests[number % 2 :: 2]:
                cell.hand_over(request)
                cell.services.report("a", ["a"], {request.instance_uuid: 1}, version=1)
                _fail(cell, request.instance_uuid)
                cell.recovery.run()
                cell.updates.get(0)
        except BaseException as error:  # shown by the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for agent in cell.agents.values():
        agent.commands = [command for command in agent.commands if command.attempt == 2]
    cell.settle()
    for request in requests:
        cell.check(request.instance_uuid, "active", "b")
    assert len(cell.rows(models.InstanceFault)) == len(requests)
    assert len(cell.placement.claims) >= len(requests)


def _fail(cell: Cell, uuid: str) -> None:
    fault = cell.agents["a"].fault_for(uuid)
    _answer, leases = cell.reports.take_build_failure("a", "a", uuid, 1, fault=fault, retry=True)
    cell.build.run(admin_context(), leases)
