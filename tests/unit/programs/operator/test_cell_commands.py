"""Tests of ``armillary-manage cell``: which cells there are, what they have, exit codes."""

from pathlib import Path

import pytest

from armillary.db import Database
from conductor.super_conductor.db import cells, host_mappings
from objects.hosts.host_answers import HostRequest
from tests import builders
from tests.fixtures.super_conductor.mappings import map_instances
from tests.unit.programs.conftest import Ended
from tests.unit.programs.operator.conftest import CELL_UUID, CellConductor, Run, register

URL = "rabbit://user:geheim@broker:5672/cell1"
MASKED = "rabbit://user:***@broker:5672/cell1"


def create(run: Run, *more: str) -> Ended:
    words = ("cell", "create", "cell1", "--transport-url", URL, "--no-verify", "-f", "json")
    return run(*words, *more)


def map_host(database: Database) -> None:
    with database.writer() as session:
        host_mappings.map_hosts(session, CELL_UUID, {"host1": []})


def map_instance(database: Database, *, is_deleted: bool = False) -> None:
    with database.writer() as session:
        map_instances(session, builders.a_uuid(), cell_uuid=CELL_UUID, is_deleted=is_deleted)


# create, list, update


@pytest.mark.usefixtures("api_database")
def test_a_cell_is_created_with_its_password_masked(run_manage: Run) -> None:
    """An onlooker learns nothing."""
    ended = create(run_manage, "--uuid", CELL_UUID)
    expected = {"UUID": CELL_UUID, "Name": "cell1", "Disabled": False, "Transport URL": MASKED}
    assert (ended.code, ended.json) == (0, expected)


def test_the_password_itself_is_stored(run_manage: Run, api_database: Database) -> None:
    """The super conductor needs it."""
    create(run_manage)
    (cell,) = api_database.read(cells.list_cells)
    assert cell.transport_url == URL


def test_a_password_need_not_be_an_argument(
    run_manage: Run, api_database: Database, tmp_path: Path
) -> None:
    """Which all accounts of a machine see while the command runs."""
    (tmp_path / "url").write_text(f"{URL}\n")
    words = ("--transport-url-file", str(tmp_path / "url"), "--no-verify")
    assert run_manage("cell", "create", "cell1", *words).code == 0
    (tmp_path / "url").write_text(f"{URL}-new\n")
    assert run_manage("cell", "update", "cell1", *words).code == 0
    (cell,) = api_database.read(cells.list_cells)
    assert cell.transport_url == f"{URL}-new"
    assert run_manage("cell", "update", "cell1", *words, "--transport-url", URL).code == 2
    assert run_manage("cell", "create", "cell2", "--transport-url-file", "/nowhere").code == 2


@pytest.mark.usefixtures("api_database")
def test_a_name_is_taken_once(run_manage: Run) -> None:
    """One line says so."""
    create(run_manage)
    ended = create(run_manage)
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "cell1 exists already" in ended.err


@pytest.mark.usefixtures("api_database")
def test_if_missing_is_content_with_the_cell_that_is_there(run_manage: Run) -> None:
    """A script may run twice; nothing is changed."""
    first = create(run_manage, "--if-missing")
    again = create(run_manage, "--if-missing", "--disabled")
    assert (again.code, again.json) == (0, first.json)


def test_cells_are_listed_by_name_and_masked(run_manage: Run, api_database: Database) -> None:
    """Disabled ones, too."""
    register(api_database, "cell2", disabled=True)
    register(api_database, "cell1", URL)
    cell0, *listed = run_manage("cell", "list", "-f", "json").json
    assert cell0["Name"] == "cell0"
    assert [(cell["Name"], cell["Disabled"]) for cell in listed] == [
        ("cell1", False),
        ("cell2", True),
    ]
    assert listed[0]["Transport URL"] == MASKED


def test_a_cell_is_changed_by_name(run_manage: Run, api_database: Database) -> None:
    """All that may change, in one go."""
    register(api_database)
    ended = run_manage(
        "cell", "update", "cell1", "--name", "a", "--transport-url", URL, "--no-verify",
        "--disable", "-f", "json",
    )  # fmt: skip
    assert ended.json["Name"] == "a"
    assert ended.json["Transport URL"] == MASKED
    assert ended.json["Disabled"]


def test_a_cell_is_enabled_by_uuid(run_manage: Run, api_database: Database) -> None:
    """False is a change as well."""
    register(api_database, disabled=True, chosen_uuid=CELL_UUID)
    assert not run_manage("cell", "update", CELL_UUID, "--enable", "-f", "json").json["Disabled"]


def test_an_update_of_nothing_is_refused(run_manage: Run, api_database: Database) -> None:
    """It says what could be given."""
    register(api_database)
    ended = run_manage("cell", "update", "cell1")
    assert ended.code == 1
    assert "--disable" in ended.err


def test_tables_that_are_missing_are_said_in_one_line(run_manage: Run) -> None:
    """With what to do, and without a word of SQL."""
    ended = run_manage("cell", "list")
    assert (ended.code, ended.err.count("\n")) == (78, 1)
    assert "run armillary-manage db sync" in ended.err


# delete


def test_an_empty_cell_is_deleted(run_manage: Run, api_database: Database) -> None:
    """It is gone."""
    register(api_database)
    assert run_manage("cell", "delete", "cell1").code == 0
    assert [one["Name"] for one in run_manage("cell", "list", "-f", "json").json] == ["cell0"]


@pytest.mark.usefixtures("api_database")
def test_deleting_an_unknown_cell_ends_with_1(run_manage: Run) -> None:
    """It names what was asked for."""
    ended = run_manage("cell", "delete", "nix")
    assert (ended.code, ended.err) == (1, "armillary-manage: Cell nix could not be found.\n")


def test_deleting_a_cell_with_hosts_ends_with_2_unless_forced(
    run_manage: Run, api_database: Database
) -> None:
    """Force removes the mappings, too."""
    register(api_database, chosen_uuid=CELL_UUID)
    map_host(api_database)
    assert run_manage("cell", "delete", "cell1").code == 2
    assert run_manage("cell", "delete", "cell1", "--force").code == 0


@pytest.mark.parametrize("force", [(), ("--force",)], ids=["plain", "forced"])
def test_deleting_a_cell_with_servers_ends_with_3(
    force: tuple[str, ...], run_manage: Run, api_database: Database
) -> None:
    """Force does not help: the servers would be lost."""
    register(api_database, chosen_uuid=CELL_UUID)
    map_instance(api_database)
    assert run_manage("cell", "delete", "cell1", *force).code == 3


def test_deleting_a_cell_with_leftovers_ends_with_4_unless_forced(
    run_manage: Run, api_database: Database
) -> None:
    """Mappings of deleted servers."""
    register(api_database, chosen_uuid=CELL_UUID)
    map_instance(api_database, is_deleted=True)
    assert run_manage("cell", "delete", "cell1").code == 4
    assert run_manage("cell", "delete", "cell1", "--force").code == 0


# What the cell's conductor is asked


def test_hosts_are_discovered_once(run_manage: Run, cell_conductor: CellConductor) -> None:
    """The second look finds nothing new."""
    cell_conductor.add_host("host1")
    ended = run_manage("cell", "discover-hosts", "-f", "json")
    assert (ended.code, ended.json) == (0, [{"Host": "host1", "Cell": "cell1"}])
    assert run_manage("cell", "discover-hosts", "-f", "json").json == []


@pytest.mark.parametrize(
    ("words", "items"),
    [(["discover-hosts"], "new hosts"), (["host-requests", "cell1"], "refused hosts")],
    ids=["discover-hosts", "host-requests"],
)
def test_nothing_found_is_said_in_words(
    run_manage: Run, cell_conductor: CellConductor, words: list[str], items: str
) -> None:
    """Not in those of the command."""
    assert cell_conductor.host_requests == []
    assert run_manage("cell", *words).err == f"No {items} found.\n"


def test_a_cell_that_does_not_answer_is_named(
    run_manage: Run, cell_conductor: CellConductor, api_database: Database
) -> None:
    """The others' hosts are discovered all the same."""
    cell_conductor.add_host("host1")
    register(api_database, "silent")
    ended = run_manage("cell", "discover-hosts", "-f", "json")
    assert [row["Host"] for row in ended.json] == ["host1"]
    assert "cell silent does not answer; its hosts are skipped" in ended.err


@pytest.mark.parametrize(("options", "logged"), [([], 0), (["-v"], 1)], ids=["plain", "-v"])
def test_that_a_cell_does_not_answer_is_said_once(
    run_manage: Run,
    cell_conductor: CellConductor,
    api_database: Database,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    logged: int,
) -> None:
    """By the command; the log has it with -v only."""
    register(api_database, "silent")
    ended = run_manage(*options, "cell", "discover-hosts")
    assert ended.err.count("cell silent does not answer") == 1
    assert capsys.readouterr().err.count("Cell silent is unavailable") == logged


def test_one_cell_is_asked_when_it_is_named(
    run_manage: Run, cell_conductor: CellConductor, api_database: Database
) -> None:
    """By its name; no command waits for the others."""
    cell_conductor.add_host("host1")
    register(api_database, "silent")
    ended = run_manage("cell", "discover-hosts", "--cell", "cell1", "-f", "json")
    assert (len(ended.json), ended.err) == (1, "")


@pytest.mark.usefixtures("api_database")
def test_hosts_of_an_unknown_cell_are_not_looked_for(run_manage: Run) -> None:
    """One line, whose exit code is that of a failure."""
    ended = run_manage("cell", "discover-hosts", "--cell", "nix")
    assert (ended.code, ended.err.count("\n")) == (1, 1)


def test_servers_are_mapped_once(run_manage: Run, cell_conductor: CellConductor) -> None:
    """Those of a cell that was moved here."""
    cell_conductor.instances.append(builders.an_instance())
    assert run_manage("cell", "map-instances", "cell1").out == "Servers mapped: 1\n"
    assert run_manage("cell", "map-instances", "cell1").out == "Servers mapped: 0\n"


def test_hosts_that_wait_for_approval_are_listed(
    run_manage: Run, cell_conductor: CellConductor
) -> None:
    """Who asked, and who has it."""
    cell_conductor.host_requests = [
        HostRequest("new", "rack1", None, builders.A_TIME),
        HostRequest("old", "rack1", "rack2", builders.A_TIME),
    ]
    listed = run_manage("cell", "host-requests", "cell1", "-f", "json").json
    assert [list(row.values())[:3] for row in listed] == [
        ["new", "rack1", "-"],
        ["old", "rack1", "rack2"],
    ]


def test_a_host_is_approved_and_released(run_manage: Run, cell_conductor: CellConductor) -> None:
    """For the agent of its name unless another one is named."""
    assert run_manage("cell", "approve-host", "cell1", "a").out == "Host a belongs to agent a\n"
    assert run_manage("cell", "approve-host", "cell1", "b", "--agent", "rack1").code == 0
    assert cell_conductor.owners == {"a": "a", "b": "rack1"}
    assert run_manage("cell", "release-host", "cell1", "a").code == 0
    assert cell_conductor.owners["a"] is None
    hosts = run_manage("cell", "list-hosts", "--cell", "cell1", "-f", "json").json
    assert [row["Host"] for row in hosts] == ["a", "b"]  # the cell may have them from now on
    ended = run_manage("cell", "release-host", "cell1", "nowhere")
    assert (ended.code, ended.err.count("\n")) == (1, 1)


def test_a_host_of_another_cell_is_not_approved(
    run_manage: Run, cell_conductor: CellConductor, api_database: Database
) -> None:
    """It has to be forgotten there first."""
    register(api_database, "cell2")
    map_host(api_database)
    ended = run_manage("cell", "approve-host", "cell2", "host1")
    assert (ended.code, "delete-host" in ended.err) == (1, True)
    assert cell_conductor.owners == {}
