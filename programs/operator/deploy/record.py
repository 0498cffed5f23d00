"""The record of a deployment: what was chosen, and the secrets; everything else follows from it."""

import dataclasses
import itertools
import re
import secrets
import uuid
from pathlib import Path
from typing import Any

import yaml

from armillary import exception
from armillary.files import private_files
from armillary.names import host_patterns
from rpc.broker.broker_accounts import CELL_CONDUCTOR, COMPUTE, account_name

_VERSION = 1
_SECRET_BYTES = 24
_PASSWORD = re.compile(r"(://[^:/@]*):[^@/]*@")


@dataclasses.dataclass
class Settings:
    """Choices of an operator; each is an option of ``deploy single``."""

    prefix: str = ""
    broker: str = "127.0.0.1:5672"
    broker_admin: str = "rabbitmqctl"
    database: str = ""
    """Address of the database server; empty: the loopback address and the server's usual port."""
    database_admin: str = "postgresql:///"
    api: str = "127.0.0.1:8774"
    placement: str = "127.0.0.1:8778"
    outside_broker: str = ""
    """Address of RabbitMQ for other machines."""
    outside_database: str = ""
    outside_api: str = ""
    """URL of the API for other machines."""
    host: str = ""
    """Name of this machine's agent; empty: none."""
    driver: str = "process"
    nodes: list[str] = dataclasses.field(default_factory=list)
    """Patterns of further hosts of this machine's agent."""


@dataclasses.dataclass
class CellRecord:
    """A cell; ``is_here`` if its conductor runs on this machine.

    ``patterns`` are of hosts that it may have besides those of the agents of this deployment.
    """

    uuid: str
    is_here: bool
    patterns: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class HostRecord:
    """An agent on another machine."""

    cell: str
    patterns: list[str]
    driver: str


@dataclasses.dataclass
class Record:
    """Settings, cells, agents elsewhere, and secrets by what they are for."""

    settings: Settings = dataclasses.field(default_factory=Settings)
    cells: dict[str, CellRecord] = dataclasses.field(default_factory=dict)
    hosts: dict[str, HostRecord] = dataclasses.field(default_factory=dict)
    secrets: dict[str, str] = dataclasses.field(default_factory=dict)

    def secret(self, name: str) -> str:
        """Return a secret, made when it is asked for first."""
        return self.secrets.setdefault(name, secrets.token_urlsafe(_SECRET_BYTES))

    def hosts_of(self, cell: str) -> tuple[str, ...]:
        """Return the patterns of the hosts that a cell may have: of its agents, and its own."""
        found = list(self.cells[cell].patterns)
        if self.settings.host and cell == next(iter(self.cells)):
            found += [self.settings.host, *self.settings.nodes]
        for host, agent in self.hosts.items():
            if agent.cell == cell:
                found += [host, *agent.patterns]
        return tuple(dict.fromkeys(found))

    def check_hosts(self) -> None:
        """Raise Invalid if two cells may have hosts of the same names: neither would get one."""
        for one, other in itertools.combinations(self.cells, 2):
            found = host_patterns.common(self.hosts_of(one), self.hosts_of(other))
            if found is not None:
                raise exception.Invalid(
                    reason=f"{found[0]} of {one} and {found[1]} of {other} fit the same names of "
                    "hosts, and no host may be that of two cells; give one of them other patterns "
                    "(--node)"
                )

    def add_cell(self, name: str, *, is_here: bool) -> CellRecord:
        """Return the record of a cell, made with a new UUID if it is missing."""
        return self.cells.setdefault(name, CellRecord(str(uuid.uuid4()), is_here))

    def remove_cell(self, name: str) -> None:
        """Forget a cell, and the passwords of its accounts."""
        cell = self.cells.pop(name)
        account = account_name(CELL_CONDUCTOR, cell.uuid, self.settings.prefix)
        for secret in (f"broker/{account}", f"database/cell_{name}"):
            self.secrets.pop(secret, None)

    def remove_host(self, host: str) -> None:
        """Forget an agent on another machine, and the password of its account."""
        self.hosts.pop(host, None)
        self.secrets.pop(f"broker/{account_name(COMPUTE, host, self.settings.prefix)}", None)


def load(path: Path) -> Record | None:
    """Return the record of this machine, or None. Raises Invalid if it cannot be used."""
    try:
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise exception.Invalid(
            reason=f"{path} cannot be read; run this command as root, or give --root DIR"
        ) from error
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise exception.Invalid(reason=f"{path} cannot be read: {error}") from error
    try:
        return _parsed(plain)
    except (KeyError, TypeError, AttributeError) as error:
        raise exception.Invalid(
            reason=f"{path} is not a deployment's record of version {_VERSION}; restore it from a "
            "backup"
        ) from error


def save(path: Path, record: Record) -> None:
    """Replace the file, which only its owner may read. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    private_files.write(path, text_of(record))


def text_of(record: Record) -> str:
    """Return the content of the record's file."""
    head = "# Choices and secrets of this deployment, for armillary-manage deploy. Back it up.\n"
    settings = dataclasses.replace(
        record.settings,
        broker_admin=_without_password(record.settings.broker_admin),
        database_admin=_without_password(record.settings.database_admin),
    )
    plain = {
        "version": _VERSION,
        **dataclasses.asdict(dataclasses.replace(record, settings=settings)),
    }
    return head + yaml.safe_dump(plain, sort_keys=False)


def _without_password(url: str) -> str:
    """Return an administrator's URL as it is stored: its password is asked for again."""
    return _PASSWORD.sub(r"\1@", url)


def _parsed(plain: dict[str, Any]) -> Record:
    if plain["version"] != _VERSION:
        raise KeyError("version")
    return Record(
        Settings(**plain["settings"]),
        {name: CellRecord(**values) for name, values in plain["cells"].items()},
        {name: HostRecord(**values) for name, values in plain["hosts"].items()},
        dict(plain["secrets"]),
    )
