"""All of Armillary as it is deployed, to be measured: two cells of simulated hosts, real processes.

Broker and databases are RabbitMQ and PostgreSQL; each cell has a virtual host and a database of its
own. Every service has one worker process, as two processors carry no more.
"""

import contextlib
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from tests.bench.measuring import cpu_seconds
from tests.bench.placement.placement_service import require_servers
from tests.fixtures.deployment import Deployment
from tests.fixtures.deployment import deployed as running_deployment

CELLS = 2
SERVICE_DOWN_SECONDS = 60
"""For so long after its start an agent asks its conductor before each build: see ``Contact``."""
SIZE = "vcpus=64:memory_mb=262144:disk_gb=2000"
# The defaults, in place of the short times with which tests notice a death; builds take no time.
_OPTIONS = f"""
[DEFAULT]
report_interval = 10
service_down_time = {SERVICE_DOWN_SECONDS}
[rpc]
response_timeout_seconds = 60
long_timeout_seconds = 1800
[conductor]
lease_seconds = 30
discover_hosts_interval_seconds = 10
recovery_interval_seconds = 5
retry_pause_seconds = 2
[simulated]
build_delay_seconds_min = 0
build_delay_seconds_max = 0
"""


class HostStore:
    """A deployment that runs, and what is looked up of it without asking its processes."""

    def __init__(self, deployment: Deployment, cell_databases: Sequence[Engine]) -> None:
        self.api = deployment
        self._processes = deployment.processes
        self._cell_databases = cell_databases

    def count_settled(self) -> tuple[int, int]:
        """Return how many instances are ACTIVE and how many in ERROR, as the cells have it."""
        query = sa.text(
            "SELECT count(*) FILTER (WHERE vm_state = 'active'),"
            " count(*) FILTER (WHERE vm_state = 'error') FROM instances"
        )
        active = failed = 0
        for database in self._cell_databases:
            with database.connect() as connection:
                row = connection.execute(query).one()
            active, failed = active + row[0], failed + row[1]
        return active, failed

    def cpu_seconds(self) -> dict[str, float]:
        """Return the processor time used so far by each kind of process, the caller's own too."""
        return cpu_seconds(
            (kind_of(name), process.running.pid)
            for name, process in self._processes.items()
            if process.running is not None
        )


@contextlib.contextmanager
def deployed(hosts: int, *, agents_per_cell: int) -> Iterator[HostStore]:
    """Run all on so many equal hosts, and return when each is known, and sure of its conductor."""
    require_servers()
    each = hosts // (CELLS * agents_per_cell)
    cells = {
        f"cell{cell}": {
            f"cell{cell}-agent-{agent}": [f"name=cell{cell}-{agent}-{{1..{each}}}:{SIZE}"]
            for agent in range(1, agents_per_cell + 1)
        }
        for cell in range(1, CELLS + 1)
    }
    with contextlib.ExitStack() as lent:
        folder = Path(lent.enter_context(tempfile.TemporaryDirectory()))
        made = lent.enter_context(
            running_deployment(folder, cells, kind=Deployment, options=_OPTIONS, schedulers=1)
        )
        engines = [sa.create_engine(cell.database_url) for cell in made.cells]
        for engine in engines:
            lent.callback(engine.dispose)
        time.sleep(SERVICE_DOWN_SECONDS + 2)
        yield HostStore(made, engines)


def kind_of(name: str) -> str:
    """Return what kind of process one of a deployment is, by its name."""
    if "-agent-" in name:
        return "agents"
    if name.endswith("-conductor"):
        return "cell conductors"
    return {"super": "super conductor", "api": "API"}.get(name, name.partition("-")[0])
