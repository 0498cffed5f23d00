"""Deployments that ``armillary-manage deploy`` makes in a folder, removed afterwards.

The layout is the usual one of two cells. One agent is of the machine of the control plane; the
others are added, each with a folder that stands for its machine.
"""

import contextlib
import os
import re
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
import yaml
from sqlalchemy.engine import make_url

from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import Access, Permissions
from tests.fixtures import waiting
from tests.fixtures.deployment import (
    BIN,
    COMMON,
    FEW_CONNECTIONS,
    SIMULATED,
    TWO_CELLS,
    Cell,
    Deployment,
    Process,
    running,
)
from tests.fixtures.programs import forked_servers
from tests.fixtures.services import POSTGRESQL, RABBITMQ, Service, administrator, leave_out
from tests.fixtures.services.brokers import evaluate
from tests.fixtures.services.databases import kill_connections
from tests.fixtures.services.ports import free_port
from tests.integration.trust.accounts_deployment import PASSWORD, add_account, delete_account, grant

SECONDS_MAX = 120
_QUICK = f"[DEFAULT]\n{COMMON[COMMON.index('report_interval') :]}" + "".join(
    f"[{name}_database]\n{FEW_CONNECTIONS}" for name in ("api", "cell", "cell0", "placement")
)


class Command:
    """Runs ``armillary-manage deploy`` with a prefix of its own on the servers of the tests."""

    def __init__(self, folder: Path, databases: Service) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.databases = databases
        self.prefix = f"t{uuid.uuid4().hex[:8]}-"

    @property
    def configuration(self) -> Path:
        return self.root / "etc/armillary"

    def run(self, *words: str, broker_admin: str = "rabbitmqctl") -> tuple[int, str]:
        """Run a command; return its exit code and what it printed."""
        log = self.folder / "deploy.log"
        environment = {
            **os.environ,
            forked_servers.BACKEND: "threading",
            "ARMILLARY_BROKER_ADMIN": broker_admin,
            "ARMILLARY_DATABASE_ADMIN": self.databases.url.render_as_string(hide_password=False),
        }
        with log.open("wb") as output:
            command = ["armillary-manage", "deploy", *words]
            running = forked_servers.start(command, output.fileno(), environment)
            code = running.wait(waiting.seconds(SECONDS_MAX))
        return code, log.read_text()

    def single(self, *words: str, **options: str) -> tuple[int, str]:
        """Run ``deploy single`` for this folder."""
        address = f"{self.databases.url.host}:{self.databases.url.port}"
        return self.run(
            "single", "--root", str(self.root), "--prefix", self.prefix, "--database", address,
            "--driver", "simulated", *words, **options,
        )  # fmt: skip

    def remove(self) -> None:
        """Delete everything with the prefix on broker and database server."""
        path = self.configuration / "deployment.yaml"
        if not path.exists():
            return
        record = yaml.safe_load(path.read_text())
        accounts = [name.removeprefix("broker/") for name in record["secrets"] if "broker/" in name]
        for account in accounts:
            with contextlib.suppress(AssertionError):
                evaluate(f'rabbit_auth_backend_internal:delete_user(<<"{account}">>, <<"t">>)')
        for vhost in ("top", *record["cells"]):
            with contextlib.suppress(AssertionError):
                evaluate(f'rabbit_vhost:delete(<<"{self.prefix}{vhost}">>, <<"t">>)')
        with administrator(self.databases.url).connect() as connection:
            _drop_all(connection, self.prefix.replace("-", "_"))


@contextlib.contextmanager
def command_for(folder: Path, databases: Service) -> Iterator[Command]:
    """Lend the command for a folder; remove what it made on the servers afterwards."""
    if not RABBITMQ.is_ours:
        leave_out(RABBITMQ.title, "its accounts are for root on the broker's machine")
    command = Command(folder, databases)
    try:
        yield command
    finally:
        command.remove()


class CommandDeployment(Deployment):
    """A running deployment that the command has set up."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.command = command
        self._added: set[str] = set()
        super().__init__(
            folder, top_url=self._vhost("top"), databases={}, cells=[], options=SIMULATED,
            schedulers=1,
        )  # fmt: skip

    @property
    def top_url(self) -> str:
        return self._top_url

    @property
    def prefix(self) -> str:
        return self.command.prefix

    def url_for(self, url: str, role: str, broker: str, scope: str | None = None) -> str:
        """Return the URL of a role's account on a virtual host; make what the command has not."""
        found = broker_accounts.permissions(role, broker, scope=scope, prefix=self.prefix)
        password = self._secret_of(found.account)
        if password is None and found.account not in self._added:
            add_account(found.account)
            self._added.add(found.account)
        vhost = make_url(url).database or "/"
        if password is None or vhost not in self.virtual_hosts():
            grant(vhost, found)
        return (
            make_url(url)
            .set(username=found.account, password=password or PASSWORD)
            .render_as_string(hide_password=False)
        )

    def stop(self) -> None:
        super().stop()
        for account in self._added:
            delete_account(account)

    def _secret_of(self, account: str) -> str | None:
        secrets: dict[str, str] = self._record()["secrets"]
        return secrets.get(f"broker/{account}")

    def _record(self) -> dict[str, Any]:
        path = self.command.configuration / "deployment.yaml"
        record: dict[str, Any] = yaml.safe_load(path.read_text())
        return record

    def prepare(self) -> None:
        port = self.api_url.rpartition(":")[2]
        first, *others = (agent for agents in TWO_CELLS.values() for agent in agents)
        self._run(
            self.command.single,
            "--api", f"127.0.0.1:{port}", "--placement", f"127.0.0.1:{free_port()}",
            "--host", first, "--node", "cell1-*",
        )  # fmt: skip
        broker = f"{RABBITMQ.url.host}:{RABBITMQ.url.port}"
        root, bundles = str(self.command.root), self.folder / "bundles"
        self._run(self.command.run, "add-cell", "--root", root, "cell2", "--broker", broker)
        for cell, agents in TWO_CELLS.items():
            added = [agent for agent in agents if agent in others]
            self._run(
                self.command.run, "add-host", "--root", root, "--bundles", str(bundles), *added,
                "--cell", cell, "--node", f"{cell}-*", "--agent-driver", "simulated",
            )  # fmt: skip
            uuid_of_cell = self._record()["cells"][cell]["uuid"]
            self.cells.append(Cell(cell, self._vhost(cell), "", dict(agents), uuid_of_cell))
        for agent in others:
            machine = self.folder / agent
            self._run(
                self.command.run, "join", "--root", str(machine), str(bundles / f"{agent}.yaml")
            )
        self._add_processes(first, others)
        for vhost in self.virtual_hosts():  # tests look there as the broker's administrator
            everything = Access(".*", ".*", ".*")
            grant(vhost, Permissions(RABBITMQ.url.username or "", everything, {}))

    def _run(self, run: Callable[..., tuple[int, str]], *words: str) -> None:
        code, printed = run(*words)
        assert code == 0, printed

    def _vhost(self, name: str) -> str:
        vhost = f"{self.command.prefix}{name}"
        return RABBITMQ.url.set(database=vhost).render_as_string(hide_password=False)

    def _add_processes(self, first: str, others: list[str]) -> None:
        names = {"super": "conductor", "placement": "placement", "scheduler": "scheduler"}
        names |= {"api": "api", "cell1-conductor": "cell-cell1", "cell2-conductor": "cell-cell2"}
        for name, file in {**names, first: "compute"}.items():
            self._add_process(name, file, self.command.root)
        for agent in others:
            self._add_process(agent, "compute", self.folder / agent)
        self._take_token()

    def _take_token(self) -> None:
        """Ask the API as the administrator that the command made."""
        openrc = (self.command.configuration / "admin-openrc").read_text()
        token = re.search("ARMILLARY_TOKEN=(.+)", openrc)
        assert token is not None
        self._session.headers["X-Auth-Token"] = token[1]

    def _add_process(self, name: str, file: str, root: Path) -> None:
        configuration = root / "etc/armillary"
        own = configuration / f"{file}.conf.d" / "test.conf"
        own.write_text(
            _QUICK.format(**self.limits) + (self._simulated(name) if file == "compute" else "")
        )
        program = "conductor" if file.startswith("cell-") else file
        self.processes[name] = Process(
            name=name,
            command=[
                str(BIN / f"armillary-{program}"),
                "--config-file", str(configuration / f"{file}.conf"),
                "--config-dir", str(own.parent),
            ],
            log=self.folder / f"{name}.log",
            environment=self._environment,
        )  # fmt: skip

    def _simulated(self, agent: str) -> str:
        lines = next(agents[agent] for agents in TWO_CELLS.values() if agent in agents)
        return self._options + "".join(f"hosts = {line}\n" for line in lines)


@contextlib.contextmanager
def two_cells_by_command(folder: Path) -> Iterator[CommandDeployment]:
    """Lend a running deployment of the usual layout, made by the command."""
    with (
        command_for(folder, POSTGRESQL) as command,
        running(CommandDeployment(folder, command)) as made,
    ):
        yield made


def _drop_all(connection: sa.Connection, prefix: str) -> None:
    is_postgresql = connection.dialect.name == "postgresql"
    databases, accounts = (
        ("SELECT datname FROM pg_database", "SELECT rolname FROM pg_roles")
        if is_postgresql
        else ("SELECT schema_name FROM information_schema.schemata", "SELECT user FROM mysql.user")
    )
    for name in connection.execute(sa.text(databases)).scalars().all():
        if name.startswith(prefix):
            kill_connections(connection, name)
            connection.execute(sa.text(f"DROP DATABASE {name}"))
    for name in connection.execute(sa.text(accounts)).scalars().all():
        if name.startswith(prefix):
            connection.execute(sa.text(f"DROP {'ROLE' if is_postgresql else 'USER'} {name}"))
