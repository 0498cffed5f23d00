"""Service group driver ``db``: heartbeats are kept in the cell's database alone."""

from collections.abc import Collection

from conductor.cell_conductor.servicegroup import ServiceGroupDriver


class DatabaseDriver(ServiceGroupDriver):
    """Each heartbeat is a transaction in the cell's database. Needs nothing else."""

    is_outside_database = False

    def record(self, hosts: Collection[str], at_seconds: int) -> None:
        """Do nothing: the database has it."""

    def last_seen(self, hosts: Collection[str]) -> dict[str, int]:
        return {}
