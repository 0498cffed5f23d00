"""``armillary-manage deploy`` on a real broker and real databases: what one run and the next do."""

import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import requests
import sqlalchemy as sa
import yaml

from armillary.db import Database
from conductor.common.cell_db import services
from conductor.super_conductor.db import cells, host_mappings
from programs.operator.deploy.broker import BrokerAdmin
from rpc.signing import enrolment
from rpc.signing.keys import load as load_key
from rpc.signing.trust import AGENTS
from rpc.signing.trust import SERVICES as SERVICES_KEYS
from tests.fixtures.access.clouds import services_of
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.deployment import BIN
from tests.fixtures.services import MARIADB, POSTGRESQL, administrator
from tests.fixtures.services.ports import free_port
from tests.integration.deployed_by_command import Command, command_for

pytestmark = [pytest.mark.rabbitmq, pytest.mark.long]  # test_broker_accounts.py has the short story

SERVICES = {"identity", "compute", "image", "placement"}
HOW_TO_START_CELL2 = """\
Services are not started by systemd here. To start those that do not run:
    armillary-manage deploy start --root {root}
or each in its own way:
    {bin}/armillary-conductor --config-file {root}/etc/armillary/cell-cell2.conf \
--config-dir {root}/etc/armillary/cell-cell2.conf.d
"""
NOW = datetime(2030, 1, 31, 12)
NOWHERE = "http://127.0.0.1:9"
SERVERS = [
    pytest.param(POSTGRESQL, marks=pytest.mark.postgresql, id="postgresql"),
    pytest.param(MARIADB, marks=pytest.mark.mariadb, id="mariadb"),
]


@pytest.fixture(params=SERVERS)
def command(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Command]:
    with command_for(tmp_path, request.param) as made:
        yield made


def done(printed: str) -> list[str]:
    """Return the steps that were not done before, without their verbs."""
    lines = printed[: printed.index(" done before")].splitlines()[:-1]
    return [line[14:] for line in lines if not line.startswith("unchanged")]


def test_a_deployment_is_made_resumed_repeated_and_changed(command: Command) -> None:
    """A dry run and a failed run first; nothing is done twice; a foreign account is left alone."""
    code, printed = command.single("--dry-run")
    assert code == 0, printed
    planned = done(printed)
    assert "WARNING" not in printed  # of databases that it would make
    assert not command.root.exists()

    code, printed = command.single(broker_admin=NOWHERE)
    assert code == 1
    assert "the broker's management API cannot be used" in printed
    record = command.configuration / "deployment.yaml"
    secrets = yaml.safe_load(record.read_text())["secrets"]
    assert len(set(secrets.values())) == len(secrets), "each has a secret of its own"

    code, printed = command.single("--dry-run", broker_admin="rabbitmqctl")
    assert code == 0, printed
    assert "WARNING" not in printed  # of tables that the failed run has not made

    code, printed = command.single()
    assert code == 0, printed
    # lists are copied to services once they are signed, which a dry run cannot
    resumed = {step for step in done(printed) if "/services.json" not in step}
    assert len(resumed) < len(planned)
    assert yaml.safe_load(record.read_text())["secrets"] == secrets

    code, printed = command.single()
    assert code == 0, printed
    assert done(printed) == []

    code, printed = command.single("--api", "127.0.0.1:18999")
    assert [step.rpartition("/")[2] for step in done(printed)] == [
        "deployment.yaml (choices and secrets)",
        "admin-openrc (mode 0600)",
        "clouds.yaml (mode 0600)",
        "conductor.conf (mode 0640)",  # hosts are told where the API is
        "api.conf (mode 0640)",
    ]
    assert_secrets_are_kept(command)

    with (command.configuration / "scheduler.conf").open("a") as file:
        file.write("[scheduler]\n")
    code, printed = command.single()
    assert code == 1
    assert "scheduler.conf.d/*.conf" in printed
    assert command.single("--overwrite")[0] == 0

    record.write_text(record.read_text().replace(secrets[f"broker/{command.prefix}api"], "x" * 32))
    code, printed = command.single()
    assert code == 1
    assert "another password" in printed
    code, printed = command.single("--adopt")
    assert code == 0, printed
    assert f"broker account {command.prefix}api" in done(printed)


def test_start_names_the_service_that_has_ended(command: Command) -> None:
    """Its configuration is read after it was started; the others run, and stop again.

    A cell that is added then is named with the command that starts it.
    """
    api, placement = (f"127.0.0.1:{free_port()}" for _ in range(2))
    code, printed = command.single("--api", api, "--placement", placement)
    assert code == 0, printed
    own = command.configuration / "compute.conf.d" / "wrong.conf"
    own.write_text("[compute]\ndriver = none\n")
    root = ("--root", str(command.root))
    try:
        code, printed = command.run("start", *root)
        assert code == 1
        assert "start compute failed: it has ended; see " in printed
        health = Api(f"http://{api}", requests.Session())
        wait_for(health.answers, "the API and the conductors that it needs run")
        assert services_of(command.configuration / "clouds.yaml") == SERVICES
        own.unlink()
        assert command.run("start", *root)[0] == 0
        code, printed = command.run("add-cell", *root, "cell2")
        assert printed.endswith(HOW_TO_START_CELL2.format(root=command.root, bin=BIN))
        assert command.run("start", *root)[0] == 0
        _, printed = command.single("--api", f"127.0.0.1:{free_port()}")
        assert "With their former configuration run: conductor, api." in printed
    finally:
        code, printed = command.run("stop", *root)
    assert code == 0, printed
    assert "compute" in printed


def test_an_agent_is_removed_once_no_service_of_it_is_left(command: Command) -> None:
    """Its account, its key, its entry; what is of other agents stays. It may be repeated."""
    root = ("--root", str(command.root))
    bundles = ("--bundles", str(command.folder), "--broker", "192.0.2.1:5672")
    assert command.single("--host", "front")[0] == 0
    assert command.run("add-host", *root, *bundles, "gone", "kept")[0] == 0
    database = Database(url_of_cell(command), name="cell")
    with database.writer() as session:
        services.add(session, ["gone-1"], agent="gone", version=1, disabled=False, now=NOW)

    code, printed = command.run("remove-host", *root, "gone")
    assert code == 1
    assert "armillary service delete gone-1" in printed
    with database.writer() as session:
        session.execute(sa.text("DELETE FROM services"))
    database.dispose()

    code, printed = command.run("remove-host", *root, "gone", "--dry-run")
    planned = done(printed)
    assert all_agents(command) == {"gone", "kept", "front"}
    code, printed = command.run("remove-host", *root, "gone")
    assert code == 0, printed
    assert set(planned) <= set(done(printed))
    assert all_agents(command) == {"kept", "front"}
    assert "Not in the record" not in printed
    code, printed = command.run("remove-host", *root, "gone")
    assert (code, done(printed)) == (0, [])
    assert "Not in the record of this deployment: gone. It had" in printed
    assert "other machines: kept\n" in printed
    code, printed = command.run("remove-host", *root, "front")
    assert code == 1
    assert "run deploy single --host none" in printed


def test_a_cell_is_removed_once_nothing_is_in_it(command: Command) -> None:
    """With all that was made for it, and nothing else. It may be repeated."""
    root = ("--root", str(command.root))
    bundles = ("--bundles", str(command.folder), "--broker", "192.0.2.1:5672")
    assert command.single("--host", "front")[0] == 0
    before = everything(command)
    assert command.run("add-cell", *root, "cell2")[0] == 0
    assert command.run("add-host", *root, *bundles, "--cell", "cell2", "rack2")[0] == 0
    code, printed = command.run("remove-cell", *root, "cell2")
    assert code == 1
    assert "armillary-manage deploy remove-host rack2" in printed
    assert command.run("remove-host", *root, "rack2")[0] == 0

    database = Database(url_in(command, "conductor", "[api_database]"), name="api")
    with database.writer() as session:
        host_mappings.map_hosts(session, cells.get_cell(session, "cell2").uuid, {"rack2-1": []})
    code, printed = command.run("remove-cell", *root, "cell2")
    assert code == 1
    assert "armillary service delete rack2-1" in printed
    with database.writer() as session:
        host_mappings.delete_host_mapping(session, "rack2-1")

    with_cell = everything(command)
    code, printed = command.run("remove-cell", *root, "cell2", "--dry-run")
    assert (code, everything(command)) == (0, with_cell), printed
    planned = done(printed)
    code, printed = command.run("remove-cell", *root, "cell2")
    assert code == 0, printed
    assert set(planned) <= set(done(printed))
    assert everything(command) == before
    assert [cell.name for cell in database.read(cells.list_cells)] == ["cell1"]
    database.dispose()
    code, printed = command.run("remove-cell", *root, "cell2")
    assert (code, done(printed)) == (0, [])
    assert "Not in the record of this deployment: cell2. It has the cells: cell1\n" in printed
    code, printed = command.run("remove-cell", *root, "cell1")
    assert code == 1
    assert "cell1 is the only cell" in printed


def everything(command: Command) -> dict[str, set[str]]:
    """Return the names of what the command has made on the servers, in the lists and in files."""
    prefix, keys = command.prefix, command.configuration / "signing"
    broker = BrokerAdmin("rabbitmqctl").read()
    record = yaml.safe_load((command.configuration / "deployment.yaml").read_text())
    trusted = enrolment.read(keys / "services.json", SERVICES_KEYS, load_key(keys / "root.key"))
    with administrator(command.databases.url).connect() as connection:
        databases = names_with(connection, prefix.replace("-", "_"))
    return {
        "accounts": {each["name"] for each in broker["users"] if each["name"].startswith(prefix)},
        "vhosts": {each["name"] for each in broker["vhosts"] if each["name"].startswith(prefix)},
        "databases": databases,
        "trusted": set(trusted.identities),
        "secrets": set(record["secrets"]),
        "files": {str(path) for path in command.root.rglob("*") if path.is_file()},
    }  # fmt: skip


def names_with(connection: sa.Connection, prefix: str) -> set[str]:
    """Return the databases and accounts whose names begin so."""
    queries = (
        ("SELECT datname FROM pg_database", "SELECT rolname FROM pg_roles")
        if connection.dialect.name == "postgresql"
        else ("SELECT schema_name FROM information_schema.schemata", "SELECT user FROM mysql.user")
    )
    found = (name for query in queries for name in connection.execute(sa.text(query)).scalars())
    return {name for name in found if name.startswith(prefix)}


def url_of_cell(command: Command) -> str:
    """Return the URL of the cell's database for its conductor."""
    return url_in(command, "cell-cell1", "[cell_database]")


def url_in(command: Command, name: str, section: str) -> str:
    """Return the URL of a database in a configuration file."""
    _, _, text = (command.configuration / f"{name}.conf").read_text().partition(section)
    line = next(line for line in text.splitlines() if line.startswith("connection"))
    return line.partition(" = ")[2]


def all_agents(command: Command) -> set[str]:
    """Return the agents of the deployment: each has an account, a trusted key, and an entry."""
    record = yaml.safe_load((command.configuration / "deployment.yaml").read_text())
    own, prefix = record["settings"]["host"], f"{command.prefix}compute-"
    keys = command.configuration / "signing"
    trusted = enrolment.read(keys / "agents.json", AGENTS, load_key(keys / "root.key"))
    names = [
        {each["name"].removeprefix(prefix) for each in BrokerAdmin("rabbitmqctl").read()["users"]
         if each["name"].startswith(prefix)},
        {name.removeprefix("compute-") for name in trusted.identities},
        {name.removeprefix(f"broker/{prefix}") for name in record["secrets"] if prefix in name},
        {path.stem.removeprefix("compute-") for path in (keys / "elsewhere").iterdir()} | {own},
    ]  # fmt: skip
    entries = {*record["hosts"], own}
    assert [each ^ entries for each in names] == [set()] * len(names)
    return entries


def assert_secrets_are_kept(command: Command) -> None:
    """Other accounts of the machine can read units, and nothing else."""
    files = [path for path in command.root.rglob("*") if path.is_file()]
    readable = [path for path in files if path.stat().st_mode & stat.S_IRWXO]
    assert [path for path in readable if "systemd" not in path.parts] == []
