"""Looks at everything a deployment keeps, from outside: databases, journals, guests, queues."""

import contextlib
import dataclasses
import sqlite3
from collections.abc import Iterator

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from compute_agent.virt.process.process_guest import ProcessGuest
from compute_agent.virt.simulated.simulated_guest import Role
from tests.faults.world import CELLS, DATABASES, FaultyDeployment
from tests.fixtures.checks.record_checks import Row

MISCOUNTED = """
SELECT resource_provider_id, resource_class_id, u.used, coalesce(a.amount, 0) AS allocated
FROM usages u FULL JOIN (
    SELECT resource_provider_id, resource_class_id, sum(amount) AS amount FROM allocations
    GROUP BY resource_provider_id, resource_class_id
) a USING (resource_provider_id, resource_class_id)
WHERE coalesce(u.used, 0) <> coalesce(a.amount, 0)
"""


@dataclasses.dataclass(frozen=True)
class Guest:
    """What is on a host for an instance; it is off unless it ``is_running``."""

    agent: str
    host: str
    uuid: str
    is_running: bool
    is_moving: bool


class Records:
    """One look after the other; nothing is remembered."""

    def __init__(self, deployment: FaultyDeployment) -> None:
        self._deployment = deployment
        self._engines = {
            name: sa.create_engine(deployment.databases.url(name), poolclass=NullPool)
            for name in DATABASES
        }
        self.agents = list(deployment.agents)
        self.cells = [name for name in CELLS if name in deployment.size.cells]

    @property
    def cell_uuids(self) -> dict[str, str]:
        return {cell.name: cell.uuid for cell in self._deployment.cells}

    def rows(self, database: str, table: str) -> list[Row]:
        return self.query(database, f"SELECT * FROM {table}")

    def query(self, database: str, statement: str) -> list[Row]:
        with self._engines[database].connect() as connection:
            return [dict(row) for row in connection.execute(sa.text(statement)).mappings()]

    def journal(self, agent: str, table: str) -> list[Row]:
        """Return a table of an agent's journal."""
        return self._file(agent, "compute-journal.sqlite", f"SELECT * FROM {table}")

    def guests(self) -> list[Guest]:
        return [guest for agent in self._deployment.agents for guest in self.guests_of(agent)]

    def guests_of(self, agent: str) -> Iterator[Guest]:
        """Yield the guests of an agent's hosts."""
        if agent in self._deployment.workloads:
            yield from self._workloads(agent)
            return
        statement = "SELECT host, uuid, role, power_state FROM guests"
        for row in self._file(agent, "simulated-guests.sqlite", statement):
            is_here = row["role"] == Role.HERE
            yield Guest(
                agent,
                row["host"],
                row["uuid"],
                row["power_state"] == "running" and is_here,
                not is_here,
            )

    def litter(self) -> list[str]:
        """Return what agents left in the folders of their workloads beside these."""
        return [
            str(path.relative_to(self._deployment.folder))
            for agent in self._deployment.workloads
            for path in (self._deployment.state(agent) / "processes").glob(".*")
        ]

    def queues(self) -> dict[str, Row]:
        """Return the queues of all virtual hosts that are not streams, by host and name."""
        return {
            f"{vhost}/{row['name']}": row
            for vhost in self._deployment.broker.vhosts
            for row in self._deployment.broker.queues(vhost)
        }

    def _workloads(self, agent: str) -> Iterator[Guest]:
        folder = self._deployment.state(agent) / "processes"
        for path in sorted(folder.glob("[0-9a-f]*")):
            guest = ProcessGuest(path, agent)
            with contextlib.suppress(OSError, ValueError):  # it goes at this moment
                status = guest.status()
                is_running = status is not None and status.is_running
                yield Guest(agent, agent, path.name, is_running, (path / "detached.json").exists())

    def _file(self, agent: str, name: str, statement: str) -> list[Row]:
        path = self._deployment.state(agent) / name
        with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(statement)]
