"""The key of one cell's conductor, used to take or hide the hosts of another, on running services.

The thief's cell is registered, so schedulers listen to it, and it answers them as its conductor.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import prometheus_client
import pytest

from armillary.context import admin_context
from conductor.cell_conductor.interface import HostStatesAPI
from conductor.super_conductor.db import cells
from objects.hosts.host_states import HostStateBatch
from programs.operator.databases import API
from scheduler.interface import SchedulerAPI
from tests.builders import a_uuid
from tests.fixtures.asking import wait_for
from tests.fixtures.messages.interfaces import Anything, an_rpc_server
from tests.fleets import Host, a_batch, a_host
from tests.functional.signed_system import (
    CELL,
    HOST,
    OTHER_CELL,
    OTHER_HOST,
    SignedSystem,
    running_program,
    signed_system,
)

pytestmark = pytest.mark.sampled_file(every=3)

SECONDS_MAX = 30.0


class Thief:
    """The other cell's conductor, as far as schedulers ask it: its hosts are what it likes."""

    def __init__(self, system: SignedSystem) -> None:
        self.hosts: list[Host] = []
        self.asked = 0
        self._seq = 0
        self._scheduler = Anything(system.bus(SchedulerAPI, "other-cell"), SchedulerAPI)

    def get_host_states(self, context: object, after_seq: int) -> HostStateBatch:
        self.asked += 1
        return a_batch(self.hosts, cell=OTHER_CELL, full=True, last_seq=max(1, self._seq))

    def push(self, *hosts: Host) -> None:
        """Name these hosts in a push in its turn."""
        self.hosts = list(hosts)
        self._seq += 1
        batch = a_batch(hosts, cell=OTHER_CELL, first_seq=self._seq - 1, last_seq=self._seq)
        self._scheduler.call("update_host_states", batch=batch)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedSystem]:
    with signed_system(tmp_path_factory.mktemp("signed")) as running:
        yield running


@pytest.fixture(scope="module")
def thief(system: SignedSystem) -> Iterator[Thief]:
    database = API.open(system.conf("super-conductor"))
    with database.writer() as session:
        cells.create_cell(
            session, name="thieves", transport_url=f"kombu+memory:////{a_uuid()}",
            chosen_uuid=OTHER_CELL, now=datetime.now(UTC),
        )  # fmt: skip
    database.dispose()
    made = Thief(system)
    bus = system.bus(HostStatesAPI, "other-cell")
    server = an_rpc_server(bus, HostStatesAPI, OTHER_CELL, made)
    server.start()
    wait_for(lambda: made.asked, "the scheduler knows the thief's cell", SECONDS_MAX)
    yield made
    server.stop()
    server.wait()


def shown(system: SignedSystem) -> dict[str, tuple[str, str, bool]]:
    """Return node -> host, cell and whether it can be chosen, as the scheduler has it."""
    scheduler = SchedulerAPI(system.bus(SchedulerAPI, "super-conductor"), timeout_seconds=10)
    found = scheduler.list_hosts(admin_context())
    usable = found.up & ~found.disabled
    rows = zip(found.node_uuids, found.hosts, found.cell, usable, strict=True)
    return {node: (host, found.cells[cell], bool(is_up)) for node, host, cell, is_up in rows}


def the_node(system: SignedSystem) -> str:
    """Return the one host's node."""
    (hypervisor,) = system.get("/os-hypervisors/detail")["hypervisors"]
    return str(hypervisor["id"])


def refused() -> float:
    name = "armillary_scheduler_hosts_refused_total"
    return prometheus_client.REGISTRY.get_sample_value(name) or 0.0


def named(host: str, uuid: str, **values: Any) -> Host:
    made = a_host(host, cell=OTHER_CELL, **values)
    made.uuid = uuid
    return made


BETTER = {"free_ram_mb": 2**20, "vcpus": 1024}
CLAIMS = {
    "same name and node": lambda node: named(HOST, node, **BETTER),
    "same node, its own name": lambda node: named(OTHER_HOST, node, **BETTER),
    "same name, a node of its own": lambda node: named(HOST, a_uuid(), **BETTER),
    "hidden": lambda node: named(HOST, node, service_disabled=True, free_ram_mb=0),
}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_stolen_cell_key_takes_no_host_of_another_cell_at_a_scheduler(
    system: SignedSystem, thief: Thief, claim: Any
) -> None:
    """Neither draws builds to itself nor hides a host; the metric counts it."""
    node, before = the_node(system), refused()
    thief.push(claim(node))
    wait_for(lambda: refused() > before, "it is refused", SECONDS_MAX)
    assert shown(system) == {node: (HOST, CELL, True)}
    (server,) = system.create_servers(system.create_flavor(a_uuid(), vcpus=1, ram=256), 1)
    assert system.settled([server])[server]["status"] == "ACTIVE"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_scheduler_that_starts_believes_the_owner_whichever_cell_it_hears_first(
    system: SignedSystem, thief: Thief, claim: Any
) -> None:
    """The thief answers and pushes immediately when the new scheduler listens."""
    node = the_node(system)
    thief.hosts, asked = [claim(node)], thief.asked
    with running_program(system, "scheduler"):
        wait_for(lambda: thief.asked > asked, "the new scheduler asked the thief", SECONDS_MAX)
        for _ in range(5):
            thief.push(claim(node))
        wait_for(
            lambda: shown(system) == {node: (HOST, CELL, True)}, "the owner has it", SECONDS_MAX
        )
        for _ in range(5):
            assert shown(system) == {node: (HOST, CELL, True)}
