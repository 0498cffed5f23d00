"""One deployment, from its record to accounts, databases, keys, files and running services."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import shlex
from collections.abc import Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

import yaml
from sqlalchemy.exc import SQLAlchemyError

from armillary import exception
from armillary.db import Database
from armillary.identity.passwords import hash_password
from conductor.common.cell_db.services import hosts_of_agent
from conductor.super_conductor.db import cells
from programs.access import clouds_yaml
from programs.operator.databases import API, DATABASES
from programs.operator.deploy import broker, processes, record, units
from programs.operator.deploy.broker import BrokerAccount, BrokerAdmin
from programs.operator.deploy.database_servers import DatabaseServer, server_of
from programs.operator.deploy.files import Files
from programs.operator.deploy.layout import ACCOUNT, Layout, account_exists
from programs.operator.deploy.record import Record
from programs.operator.deploy.services import (
    Service,
    Services,
    cell_database,
    cell_service,
    cell_vhost,
    roles_of,
    top_vhost,
    url_of,
)
from programs.operator.deploy.signing import Signing, agent_name
from programs.operator.deploy.steps import StepFailed, Steps, reason_of, run_program
from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import COMPUTE

_UNREACHABLE = (exception.DatabaseUnavailable, SQLAlchemyError)
_CREDENTIALS = "admin-openrc"


@dataclasses.dataclass
class Deployment:
    """Brings a machine, its broker and its database server to what the record says."""

    layout: Layout
    record: Record
    out: TextIO
    is_dry_run: bool = False
    adopts: bool = False
    overwrites: bool = False
    starts: bool = True
    removed_hosts: Collection[str] = ()
    """Agents of other machines that the record had, and whose accounts and keys are to go."""
    removed_cells: Collection[str] = ()
    """Cells that the record had, and whose conductors' keys are to go."""
    earlier_steps: Steps | None = None
    """Steps of this run that were done before; None: there are none."""

    def __post_init__(self) -> None:
        self.steps = self.earlier_steps or Steps(self.out, self.is_dry_run)
        self.files = Files(self.layout, self.steps, overwrites=self.overwrites)
        self.signing = Signing(self.layout, self.steps, self.files)
        settings = self.record.settings
        self._server = server_of(settings.database_admin, settings.database)
        self._urls = self._database_urls(self._server)
        self.services = Services(self.record, self.layout, self._urls)

    def apply(self) -> None:
        """Do all steps. Raises Conflict, Invalid, Unavailable and StepFailed."""
        self.record.check_hosts()
        self._refuse_hosts_in_use()
        here = self.services.here()
        self._make_account()
        self._make_directories(here)
        self._save_record()
        self._make_databases()
        self._make_broker_accounts()
        changed = self._write_files(here)
        self._make_tables()
        self._register_cells()
        reload = units.write(self.layout, self.files, here)
        if self.layout.has_systemd and self.starts:
            units.start(self.layout, self.steps, here, changed, reload=reload)
        self.out.write(f"{self.steps.summary()}\n")
        if not self.is_dry_run:
            self.out.write(processes.next_steps(self.layout, here, changed))

    def elsewhere(self) -> dict[str, Service]:
        """Return the services on other machines, by host or by cell, as they are set up there."""
        settings = self.record.settings
        outside = dataclasses.replace(
            self.record, settings=dataclasses.replace(settings, broker=settings.outside_broker)
        )
        server = server_of(settings.database_admin, settings.outside_database)
        services = Services(outside, self.layout, self._database_urls(server))
        found = {
            cell: services.cell_conductor(cell)
            for cell, each in self.record.cells.items()
            if not each.is_here
        }
        for host, one in self.record.hosts.items():
            found[host] = services.agent(host, one.cell, one.driver, tuple(one.patterns))
        return found

    def how_to_log_in(self) -> str:
        """Return what the administrator types next, in a shell of this machine."""
        return (
            "To begin, as the administrator of this deployment:\n"
            f"    . {shlex.quote(str(self._credentials))}\n"
            "    armillary host list\n"
            "OpenStack's clients read the same variables, or the cloud "
            f"{clouds_yaml.CLOUD} of {self._clouds}\n"
        )

    @property
    def _credentials(self) -> Path:
        """File with the administrator's environment variables."""
        return self.layout.configuration / _CREDENTIALS

    @property
    def _clouds(self) -> Path:
        return self.layout.configuration / clouds_yaml.FILE

    def _refuse_hosts_in_use(self) -> None:
        """Raise InUse if an agent that is to go has a service left, and so perhaps servers."""
        for cell in self.record.cells if self.removed_hosts else ():
            with self._open(cell_database(cell)) as database:
                for agent in self.removed_hosts:
                    hosts = database.read(hosts_of_agent, agent)
                    if hosts:
                        raise exception.InUse(
                            what=f"The agent {agent}",
                            reason="stop it on its machine, then delete its services, which is "
                            "refused while servers are there: armillary service delete "
                            f"{' '.join(sorted(hosts))}",
                        )

    # Machine --------------------------------------------------------------------------------------

    def _make_account(self) -> None:
        make_account(self.layout, self.steps)

    def _make_directories(self, here: list[Service]) -> None:
        make_directories(self.layout, self.files, [*here, self.services.operator()])
        self.files.directory(self.layout.keys, 0o700)
        self.files.directory(self.layout.keys / "elsewhere", 0o700)
        self.files.directory(self.layout.state / "identity", 0o700, of_service=True)

    def _save_record(self) -> None:
        """Store secrets before anything is made with them."""
        for owner, _ in self._owners():
            self.record.secret(f"database/{owner}")
        for role, scope, _ in roles_of(self.record):
            account = broker_accounts.account_name(role, scope, self.record.settings.prefix)
            self.record.secret(f"broker/{account}")
        password = self.record.secret("admin")
        self.record.secrets.setdefault("admin_hash", hash_password(password))
        path, text = self.layout.record, record.text_of(self.record)
        is_done = path.exists() and path.read_text(encoding="utf-8") == text
        self.steps.do(
            "change" if path.exists() else "create",
            f"file {path} (choices and secrets)",
            lambda: record.save(path, self.record),
            is_done=is_done,
        )

    # Databases ------------------------------------------------------------------------------------

    def _owners(self) -> list[tuple[str, list[str]]]:
        """Return each owner of databases with their names."""
        return [
            ("conductor", ["api", "cell0"]),
            ("placement", ["placement"]),
            *((cell_database(name), [cell_database(name)]) for name in self.record.cells),
        ]

    def _database_name(self, name: str) -> str:
        prefix = self.record.settings.prefix.replace("-", "_")
        return f"{prefix}armillary_{name}"

    def _database_urls(self, server: DatabaseServer) -> dict[str, str]:
        return {
            name: server.url(
                self._database_name(owner),
                self.record.secret(f"database/{owner}"),
                self._database_name(name),
            )
            for owner, names in self._owners()
            for name in names
        }

    def _make_databases(self) -> None:
        for owner, names in self._owners():
            self._server.make(
                self.steps,
                self._database_name(owner),
                self.record.secret(f"database/{owner}"),
                [self._database_name(name) for name in names],
                adopts=self.adopts,
            )

    def drop_database(self, name: str) -> None:
        """Drop a database of the deployment, which has an owner of the same name."""
        full_name = self._database_name(name)
        self._server.drop(self.steps, full_name, full_name)

    def open_api_database(self) -> contextlib.AbstractContextManager[Database]:
        """Lend the API database."""
        return self._open(API.name)

    @contextlib.contextmanager
    def _open(self, name: str) -> Iterator[Database]:
        """Yield a database, opened with its owner's account."""
        database = Database(self._urls[name], name=name)
        try:
            yield database
        finally:
            database.dispose()

    def _make_tables(self) -> None:
        schemas = {each.name: each.schema for each in DATABASES}
        for name in self._urls:
            schema = schemas.get(name, schemas["cell"])
            with self._open(name) as database:
                self.steps.do(
                    "migrate",
                    f"tables of {self._database_name(name)}",
                    functools.partial(database.sync, schema),
                    is_done=not self._is_planned(name) and self._is_current(database, schema),
                )

    def _is_planned(self, name: str) -> bool:
        """Return whether this dry run would create a database, so that nothing can be in it."""
        planned = f"database {self._database_name(name)} of "
        return self.is_dry_run and any(step.startswith(planned) for step in self.steps.done)

    def _is_current(self, database: Database, schema: str) -> bool:
        try:
            return database.current_version(schema) == database.head_version(schema)
        except _UNREACHABLE as error:
            self._allow_in_dry_run(database, error)
            return False

    def _register_cells(self) -> None:
        with self._open(API.name) as database:
            for name, cell in self.record.cells.items():
                url = self.services.cell_url(name, "conductor")
                self.steps.do(
                    "register",
                    f"cell {name} ({cell.uuid})",
                    functools.partial(_register, database, name, cell.uuid, url),
                    is_done=not self._is_planned(API.name)
                    and self._find_cell(database, cell.uuid) == (name, url),
                )

    def _find_cell(self, database: Database, uuid: str) -> tuple[str, str] | None:
        try:
            if database.current_version(API.schema) is None:  # a dry run before the first tables
                return None
            found = database.read(cells.get_cell, uuid)
        except exception.CellNotFound:
            return None
        except _UNREACHABLE as error:
            self._allow_in_dry_run(database, error)
            return None
        return found.name, found.transport_url

    def _allow_in_dry_run(self, database: Database, error: Exception) -> None:
        """Raise StepFailed unless the database or its account is still to be made."""
        if not self.is_dry_run:
            raise StepFailed(what=f"connect to the {database}", reason=reason_of(error)) from error

    # Broker ---------------------------------------------------------------------------------------

    def _make_broker_accounts(self) -> None:
        settings = self.record.settings
        accounts = []
        for role, scope, places in roles_of(self.record):
            permissions = [
                (
                    vhost,
                    broker_accounts.permissions(role, part, scope=scope, prefix=settings.prefix),
                )
                for vhost, part in places
            ]
            name = broker_accounts.account_name(role, scope, settings.prefix)
            secret = self.record.secret(f"broker/{name}")
            accounts.append(BrokerAccount(name, secret, permissions))
        vhosts = [top_vhost(self.record), *(cell_vhost(self.record, n) for n in self.record.cells)]
        broker.make(
            BrokerAdmin(settings.broker_admin), self.steps, vhosts, accounts, adopts=self.adopts
        )
        removed = [
            broker_accounts.account_name(COMPUTE, host, settings.prefix)
            for host in self.removed_hosts
        ]
        if removed:
            broker.delete_accounts(BrokerAdmin(settings.broker_admin), self.steps, removed)

    # Files ----------------------------------------------------------------------------------------

    def _write_files(self, here: list[Service]) -> set[str]:
        """Write keys, lists, configuration and credentials; return whose configuration changed."""
        root_key = self.signing.root_key()
        every = [*here, self.services.operator()]
        for service in every:
            self.signing.make_key(service)
        elsewhere = list(self.elsewhere().values())
        for service in elsewhere:
            self.signing.make_key_elsewhere(service)
        removed = [*map(agent_name, self.removed_hosts), *map(cell_service, self.removed_cells)]
        self.signing.trust(every, elsewhere, removed)
        for name in removed:
            self.signing.delete_key_elsewhere(name)
        self._write_credentials()
        return write_configuration(self.layout, self.files, every, root_key)

    def _write_credentials(self) -> None:
        password, hashed = self.record.secret("admin"), self.record.secrets["admin_hash"]
        digest = hashlib.sha256(password.encode()).hexdigest()
        tokens = {
            "users": [{"name": "admin", "password": hashed, "projects": {"admin": ["admin"]}}],
            "tokens": [{"sha256": digest, "user": "admin", "project": "admin", "roles": ["admin"]}],
        }
        head = (
            "# Users and tokens (docs/operating/identity.md). Yours to edit: deploy never does.\n"
        )
        text = head + yaml.safe_dump(tokens, sort_keys=False)
        self.files.write_once(self.layout.configuration / "tokens.yaml", text, 0o640)
        url = url_of(self.record.settings.api)
        variables = {
            "ARMILLARY_API_URL": url, "ARMILLARY_TOKEN": password,
            "OS_AUTH_URL": f"{url}/identity/v3", "OS_USERNAME": "admin", "OS_PASSWORD": password,
            "OS_PROJECT_NAME": "admin", "OS_USER_DOMAIN_NAME": "Default",
            "OS_PROJECT_DOMAIN_NAME": "Default", "OS_IDENTITY_API_VERSION": "3",
            "OS_CLIENT_CONFIG_FILE": str(self._clouds),
        }  # fmt: skip
        lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
        self.files.write(self._credentials, "\n".join(lines), 0o600)
        self.files.write(self._clouds, clouds_yaml.with_password(url, password), 0o600)


def make_account(layout: Layout, steps: Steps) -> None:
    """Make the services' account of the machine."""
    if layout.account is None:
        return
    command = [
        "useradd", "--system", "--user-group", "--no-create-home", "--shell", "/usr/sbin/nologin",
        "--home-dir", str(layout.state), "--comment", "Armillary services", ACCOUNT,
    ]  # fmt: skip

    def make() -> None:
        run_program(command)

    steps.do("create", f"system account {ACCOUNT}", make, is_done=account_exists())


def make_directories(layout: Layout, files: Files, services: list[Service]) -> None:
    """Make the directories of services."""
    files.directory(layout.configuration, 0o750)
    files.directory(layout.state, 0o700, of_service=True)
    for service in services:
        state = service.state(layout)
        if service.is_roots:  # users of workloads and QEMU's have to pass through the agent's
            files.directory(state, 0o711, of_root=True)
        else:
            files.directory(state, 0o700, of_service=True)
        files.directory(service.own_directory(layout), 0o750)


def write_configuration(
    layout: Layout, files: Files, services: list[Service], root_key: str
) -> set[str]:
    """Write configuration files; return the names of the services whose file changed."""
    changed = set()
    for service in services:
        hint = f"; your own settings go into {service.own_directory(layout)}/*.conf"
        text = service.text(layout, root_key)
        mode = 0o600 if service.is_roots else 0o640
        if files.write(service.file(layout), text, mode, hint=hint):
            changed.add(service.name)
    return changed


def _register(database: Database, name: str, uuid: str, url: str) -> None:
    now = datetime.now(UTC)
    with database.writer() as session:
        try:
            cells.get_cell(session, uuid)
        except exception.CellNotFound:
            cells.create_cell(session, name=name, transport_url=url, now=now, chosen_uuid=uuid)
        else:
            cells.update_cell(session, uuid, {"name": name, "transport_url": url}, now=now)
