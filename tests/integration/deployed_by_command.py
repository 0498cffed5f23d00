"""Deployments that ``armillary-manage deploy`` makes in a folder, removed afterwards."""

from __future__ import annotations

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import sqlalchemy as sa
import yaml

from tests.fixtures import forked_servers
from tests.fixtures.brokers import evaluate
from tests.fixtures.databases import kill_connections
from tests.fixtures.services import RABBITMQ, Service, administrator, leave_out

SECONDS_MAX = 120


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
            code = running.wait(SECONDS_MAX)
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
