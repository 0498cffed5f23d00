"""``armillary-manage cell``: the first cell, hosts, and where an instance is."""

from collections.abc import Callable
from typing import Any

import pytest

from armillary.db import Database
from conductor.super_conductor.db import cells, host_mappings
from tests import builders
from tests.fixtures.super_conductor.mappings import map_instances
from tests.unit.programs.operator.conftest import CELL_UUID, CellConductor, Run, register

URL = "kombu+memory:////first"
OTHER_UUID = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def add_instance(api_database: Database) -> Callable[..., str]:
    """Return a function that maps an instance, and returns its UUID."""

    def add(**values: Any) -> str:
        uuid = builders.a_uuid()
        with api_database.writer() as session:
            map_instances(session, uuid, **values)
        return uuid

    return add


def test_the_first_cell_is_made_with_its_tables(run_manage: Run) -> None:
    """And again without another; its conductor is not there yet."""
    for _ in range(2):
        ended = run_manage("cell", "simple-setup", "--transport-url", URL)
        assert ended.code == 0
        assert "Cell cell1: uuid = " in ended.out
        assert "New hosts: none" in ended.out
        assert "start armillary-conductor with this uuid" in ended.err
    assert len(run_manage("cell", "list", "-f", "json").json) == 2


@pytest.mark.usefixtures("api_database")
def test_a_cell_without_a_url_is_refused(run_manage: Run) -> None:
    """The message names the option."""
    ended = run_manage("cell", "simple-setup")
    assert (ended.code, "transport_url is not set" in ended.err) == (78, True)


@pytest.mark.usefixtures("cell_conductor")
def test_a_second_cell_is_not_simple(run_manage: Run, api_database: Database) -> None:
    """The command would not know which is meant."""
    register(api_database, "cell2")
    assert run_manage("cell", "simple-setup").code == 1


def test_a_host_is_forgotten_unless_it_has_servers(
    run_manage: Run, cell_conductor: CellConductor, api_database: Database
) -> None:
    """Each reason has an exit code that scripts know."""
    with api_database.writer() as session:
        host_mappings.map_hosts(session, CELL_UUID, {"host1": [], "host2": []})
    register(api_database, "cell2")
    cell_conductor.instances = [builders.an_instance("web", host="host1")]
    assert run_manage("cell", "delete-host", "host1").code == 3
    cell_conductor.instances = []
    assert run_manage("cell", "delete-host", "host1", "--cell", "cell3").code == 1
    assert run_manage("cell", "delete-host", "host1", "--cell", "cell2").code == 2
    assert run_manage("cell", "delete-host", "host3").code == 2
    assert run_manage("cell", "delete-host", "host1", "--cell", "cell1").code == 0
    (row,) = run_manage("cell", "list-hosts", "--cell", "cell1", "-f", "json").json
    assert row["Host"] == "host2"


@pytest.mark.usefixtures("cell_conductor")
def test_it_is_said_where_an_instance_is(run_manage: Run, add_instance: Callable[..., str]) -> None:
    """Exit codes are those of Nova's command."""
    cases = {
        add_instance(cell_uuid=CELL_UUID): (0, f"is mapped to cell cell1 ({CELL_UUID})"),
        add_instance(): (1, "is not mapped to a cell"),
        builders.a_uuid(): (1, "is not mapped to a cell"),
        add_instance(cell_uuid=OTHER_UUID): (2, "which does not exist"),
        add_instance(cell_uuid=CELL_UUID, is_deleted=True): (3, "is deleted"),
    }
    for uuid, (code, text) in cases.items():
        ended = run_manage("cell", "verify-instance", uuid)
        assert (ended.code, text in ended.out) == (code, True), ended.out
    assert run_manage("--quiet", "cell_v2", "verify_instance", "--uuid", uuid).out == ""


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("not a url", "No scheme"),
        ("", "it is empty"),
        ("http://u:p@h/", "the scheme 'http' is not supported"),
        ("rabbit:///cell1", "it names no host"),
        ("rabbit://u:p@h:port/c", "it cannot be read"),
        ("rabbit://u:p@h:99999/c", "99999 is not a port"),
        ("rabbit://h:5672/c", "there is no user"),
        ("rabbit://u:p@my host/c", "it has a blank"),
        (f"rabbit://u:p@{'a' * 300}/c", "it cannot be read"),
        ("rabbit://u:p@h/c?nonsense=1", "its options cannot be used"),
        ("rabbit://u:p@h/c?ssl=maybe", "its options cannot be used"),
    ],
)
@pytest.mark.usefixtures("api_database")
def test_a_url_that_no_broker_has_is_refused(url: str, reason: str, run_manage: Run) -> None:
    """With --no-verify, too; in all commands that store one."""
    for words in (("cell", "create", "x"), ("zone", "add", "x")):
        ended = run_manage(*words, "--transport-url", url, "--no-verify")
        assert (ended.code, reason in ended.err) == (1, True), ended.err


def test_a_broker_that_is_not_there_is_refused(run_manage: Run, api_database: Database) -> None:
    """Unless the operator knows better; the password is not shown."""
    url = "rabbit://u:geheim@127.0.0.1:1/c"
    ended = run_manage("cell", "create", "x", "--transport-url", url)
    assert (ended.code, "No connection to rabbit://u:***@127.0.0.1:1/c" in ended.err) == (1, True)
    assert ended.err.endswith("start the broker; --no-verify stores the URL anyway\n")
    register(api_database, "x")
    assert run_manage("cell", "update", "x", "--transport-url", url).code == 1
    assert run_manage("cell", "update", "x", "--transport-url", url, "--no-verify").code == 0
    with api_database.reader() as session:
        assert cells.get_cell(session, "x").transport_url == url
