"""Cells on real processes: disabled, dead, new, and nothing is restarted for any of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_all_active, delete_everything
from tests.fixtures.deployment import Cell, Deployment, deployed
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.services.brokers import fresh_vhost
from tests.fixtures.services.databases import fresh_database

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

PATIENCE_SECONDS = 60.0
SIZE = "vcpus=64:memory_mb=65536:disk_gb=500"
LIST_SECONDS = 8.0
OPTIONS = f"""
[simulated]
build_delay_seconds_min = 0
build_delay_seconds_max = 0.1
[conductor]
cell_timeout_seconds = {LIST_SECONDS}
"""
HOST = "OS-EXT-SRV-ATTR:host"


def agents_of(cell: str) -> dict[str, list[str]]:
    """Return the agent of a cell of two hosts."""
    return {f"{cell}-agent": [f"name={cell}-a{{1..2}}:{SIZE}"]}


@pytest.fixture(scope="module")
def third_cell() -> Iterator[Cell]:
    """Lend a cell without services, whose broker and database outlive the deployment."""
    with fresh_vhost() as broker, fresh_database(POSTGRESQL) as database:
        yield Cell("cell3", broker, database, agents_of("cell3"))


@pytest.fixture(scope="module")
def deployment(third_cell: Cell, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    cells = {name: agents_of(name) for name in ("cell1", "cell2")}
    folder: Path = tmp_path_factory.mktemp("cells")
    with deployed(folder, cells, kind=Deployment, options=OPTIONS, schedulers=1) as made:
        yield made


@pytest.fixture(autouse=True)
def clean(deployment: Deployment) -> Iterator[None]:
    """Leave nothing to the next test."""
    yield
    delete_everything(deployment)


@pytest.fixture(scope="module")
def small(deployment: Deployment) -> str:
    return str(deployment.create_flavor("small", vcpus=1, ram=512, disk=2))


def built_in(deployment: Deployment, flavor: str) -> set[str]:
    """Return the cells of four new servers, which are deleted again."""
    uuids = deployment.create_servers(flavor, 4)
    assert_all_active(deployment, uuids)
    servers = {server["id"]: server for server in deployment.servers()}
    cells = {servers[uuid][HOST].partition("-")[0] for uuid in uuids}
    delete_everything(deployment)
    return cells


def wait_until_built_in(deployment: Deployment, flavor: str, cells: set[str]) -> None:
    """Wait until schedulers have heard what changed."""
    wait_for(
        lambda: built_in(deployment, flavor) == cells, f"servers go to {cells}", PATIENCE_SECONDS
    )


def preferred_cells(deployment: Deployment, flavor: str) -> set[str]:
    """Return the cells where a dry run would place one server."""
    asked = {"server": {"flavorRef": flavor}}
    found = deployment.post("/armillary/dry-run", asked)["dry_run"]
    return {one["host"].partition("-")[0] for one in found["hosts"]}


def disable(deployment: Deployment, cell: str, *, is_disabled: bool = True) -> None:
    """Disable or enable a cell, as an operator does."""
    word = "--disable" if is_disabled else "--enable"
    deployment.manage([("super", "cell", "update", cell, word)])


def test_a_disabled_cell_takes_nothing_new(deployment: Deployment, small: str) -> None:
    """What is there goes on and can be changed; enabled, it takes servers again."""
    disable(deployment, "cell1")
    wait_until_built_in(deployment, small, {"cell2"})
    (uuid,) = deployment.create_servers(small, 1)
    assert_all_active(deployment, [uuid])
    disable(deployment, "cell1", is_disabled=False)  # first: one of them is enabled at any time
    disable(deployment, "cell2")
    deployment.act(uuid, "os-stop")
    deployment.wait_for_status(uuid, "SHUTOFF")
    wait_until_built_in(deployment, small, {"cell1"})
    disable(deployment, "cell2", is_disabled=False)


def test_a_dead_cell_is_named_and_lists_stay_quick(deployment: Deployment, small: str) -> None:
    """New servers go elsewhere; its own are UNKNOWN until it is back."""
    disable(deployment, "cell1")
    wait_until_built_in(deployment, small, {"cell2"})
    uuid, other = deployment.create_servers(small, 2)  # one on each host: others are emptier
    assert_all_active(deployment, [uuid, other])
    disable(deployment, "cell1", is_disabled=False)
    wait_for(
        lambda: preferred_cells(deployment, small) == {"cell1"},
        "a scheduler prefers the cell without servers", PATIENCE_SECONDS,
    )  # fmt: skip
    deployment.kill("cell2-conductor")
    try:
        first = deployment.get("/servers/detail")
        assert first["armillary:down_cells"] == ["cell2"]
        statuses = {server["id"]: server["status"] for server in first["servers"]}
        assert {uuid: "UNKNOWN", other: "UNKNOWN"}.items() <= statuses.items()
        shown = deployment.get(f"/servers/{uuid}")["server"]
        assert (shown["status"], shown["flavor"]["original_name"]) == ("UNKNOWN", "small")
        deadline = waiting.Deadline(LIST_SECONDS / 2)
        assert deployment.get("/servers/detail")["armillary:down_cells"] == ["cell2"]
        assert not deadline.has_passed
        (elsewhere,) = deployment.create_servers(small, 1)
        deployment.wait_for_status(elsewhere, "ACTIVE")
    finally:
        deployment.start("cell2-conductor")
    wait_for(
        lambda: (uuid, "ACTIVE") in {(one["id"], one["status"]) for one in deployment.servers()},
        "the cell answers again", PATIENCE_SECONDS,
    )  # fmt: skip


def test_a_new_cell_serves_without_a_restart(
    deployment: Deployment, third_cell: Cell, small: str
) -> None:
    """Registered, started, discovered: with the others disabled, all goes there."""
    before = {name: process.running for name, process in deployment.processes.items()}
    deployment.cells.append(third_cell)
    deployment.manage(deployment._add_cell(third_cell))
    deployment.start("cell3-conductor", "cell3-agent")
    deployment.wait_until_ready()
    for other in ("cell1", "cell2"):
        disable(deployment, other)
    wait_until_built_in(deployment, small, {"cell3"})
    assert all(deployment.processes[name].running is one for name, one in before.items())
    for other in ("cell1", "cell2"):
        disable(deployment, other, is_disabled=False)
