"""A running agent's providers take another shape under its guests, any process killed meanwhile."""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
import sqlalchemy as sa

from armillary.db import Database
from compute_agent.host.child_providers import cell_uuid
from placement.engine import PlacementEngine
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.deployment import Deployment, deployed
from tests.fixtures.placement import engines
from tests.fixtures.placement.placement_examiner import Examiner

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

PATIENCE_SECONDS = 60.0
SLOT = "CUSTOM_SLOT"
NODE = "host-1"
SERVERS = 4
AGENT = "agent"
ON_THE_HOST = f"""
meta: {{schema_version: '1.0'}}
providers:
  - identification: {{name: {NODE}}}
    inventories: {{additional: [{{{SLOT}: {{total: {SERVERS}}}}}]}}
"""
IN_ITS_CELLS = f"""
meta: {{schema_version: '1.0'}}
providers:
  - identification: {{name: {NODE}_NUMA0}}
    inventories: {{additional: [{{{SLOT}: {{total: 1}}}}]}}
  - identification: {{name: {NODE}_NUMA1}}
    inventories: {{additional: [{{{SLOT}: {{total: {SERVERS - 1}}}}}]}}
"""
OPTIONS = """
[compute]
provider_config_location = {folder}
numa_nodes_in_placement = true
[simulated]
build_delay_seconds_min = 0
build_delay_seconds_max = 0.1
[cell]
provider_retry_seconds = 1
"""


class Machine(Deployment):
    providers: Path

    @property
    def url(self) -> str:
        """Placement's database."""
        return self._databases["placement"]

    def restart_agent(self, text: str) -> None:
        """Kill the agent, and start it with another description of its providers."""
        self.kill(AGENT)
        (self.providers / "slots.yaml").write_text(text, encoding="utf-8")
        self.start(AGENT)

    @cached_property
    def node(self) -> str:
        """The UUID of the host; to be asked for first while it is up."""
        (found,) = self.get("/os-hypervisors")["hypervisors"]
        return str(found["id"])

    @property
    def cells_of_host(self) -> list[str]:
        """The UUIDs of its NUMA cells."""
        return [cell_uuid(self.node, number) for number in (0, 1)]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """Lend a deployment whose host has slots of its own, not those of its cells."""
    folder: Path = tmp_path_factory.mktemp("reshape")
    providers = folder / "providers"
    providers.mkdir()
    (providers / "slots.yaml").write_text(ON_THE_HOST, encoding="utf-8")
    own = folder / "deployment"
    own.mkdir()
    cells = {"cell1": {AGENT: [f"name={NODE}:vcpus=16:memory_mb=32768:disk_gb=500:numa=2"]}}
    options = OPTIONS.format(folder=providers)
    with deployed(own, cells, kind=Machine, options=options, schedulers=1) as made:
        made.providers = providers
        yield made
        delete_everything(made)


@pytest.fixture(scope="module")
def database(machine: Machine) -> Iterator[Database]:
    opened = Database(machine.url, name="placement")
    yield opened
    opened.dispose()


@pytest.fixture(scope="module")
def engine(machine: Machine) -> Iterator[PlacementEngine]:
    """Lend a placement of the test's own on the same database."""
    with engines(machine.url) as make:
        yield make()


@pytest.fixture(scope="module")
def guests(machine: Machine) -> list[str]:
    """Return servers, each with a slot: none is left."""
    flavor = machine.create_flavor("slot", vcpus=1, ram=512, disk=1)
    extra_specs = {"extra_specs": {f"resources:{SLOT}": "1"}}
    machine.post(f"/flavors/{flavor}/os-extra_specs", extra_specs)
    uuids = machine.create_servers(flavor, SERVERS)
    assert {one["status"] for one in machine.settled(uuids).values()} == {"ACTIVE"}
    return uuids


def slots(machine: Machine) -> dict[str, int]:
    """Return provider -> slots that servers hold of it; each holds one, and its flavor."""
    held: dict[str, int] = {}
    for server, providers in machine.allocations().items():
        ((place, amount),) = [
            (provider, resources[SLOT])
            for provider, resources in providers.items()
            if SLOT in resources
        ]
        held[place] = held.get(place, 0) + amount
        rest = {name: amount for name, amount in providers[machine.node].items() if name != SLOT}
        assert (server, rest) == (server, {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1})
    return held


def counted(machine: Machine, engine: PlacementEngine) -> dict[str, float]:
    """Return provider -> slots that are used of it, of those that have any."""
    usages = engine.usages.get_provider_usages([machine.node, *machine.cells_of_host])
    return {uuid: of[SLOT]["used"] for uuid, of in usages.items() if SLOT in of}


def in_shape(machine: Machine, *, is_split: bool) -> dict[str, int]:
    """Return where the slots are in a shape."""
    if not is_split:
        return {machine.node: SERVERS}
    return dict(zip(machine.cells_of_host, (1, SERVERS - 1), strict=True))


def wait_for_shape(
    machine: Machine, engine: PlacementEngine, guests: list[str], *, is_split: bool
) -> None:
    """Wait until the slots are where they belong; then all has to agree, and the guests to run."""
    wanted = in_shape(machine, is_split=is_split)
    wait_for(
        lambda: counted(machine, engine) == wanted, f"the slots are in {wanted}", PATIENCE_SECONDS
    )
    assert slots(machine) == wanted
    assert {one["status"] for one in machine.settled(guests).values()} == {"ACTIVE"}
    assert set(machine.allocations()) == set(guests)
    examiner = Examiner(engine._database)
    examiner.check_rows()
    examiner.examine(engine)


def split(machine: Machine, *, is_split: bool) -> None:
    machine.restart_agent(IN_ITS_CELLS if is_split else ON_THE_HOST)


def test_slots_move_to_the_cells_and_back_with_the_guests_on_them(
    machine: Machine, engine: PlacementEngine, guests: list[str]
) -> None:
    """The agent is killed and started; the guests run on, and placement knows no third shape."""
    wait_for_shape(machine, engine, guests, is_split=False)
    for is_split in (True, False):
        split(machine, is_split=is_split)
        wait_for_shape(machine, engine, guests, is_split=is_split)


@pytest.mark.parametrize("killed", ["placement", "cell1-conductor", AGENT])
def test_nothing_is_lost_when_a_process_is_killed_in_the_middle_of_it(
    machine: Machine, engine: PlacementEngine, database: Database, guests: list[str], killed: str
) -> None:
    """Placement stands before the allocations' rows, with the inventories written, when it dies."""
    is_split = machine.node in slots(machine)  # now it is not
    with database.engine.connect() as other:
        other.execute(sa.text("SELECT consumer_uuid FROM allocations FOR UPDATE"))
        split(machine, is_split=is_split)
        wait_for(lambda: is_waiting(database), "placement waits", PATIENCE_SECONDS)
        former = in_shape(machine, is_split=not is_split)
        assert slots(machine) == counted(machine, engine) == former
        machine.kill(killed)
        other.rollback()
    machine.start(killed)
    wait_for_shape(machine, engine, guests, is_split=is_split)


def is_waiting(database: Database) -> bool:
    """Return whether a session waits for a lock in this database."""
    query = sa.text(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with database.engine.connect() as connection:
        return bool(connection.execute(query).scalar())
