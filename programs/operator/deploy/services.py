"""Services of a machine: their names everywhere, and their configuration."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from armillary.http.wsgi.server import is_loopback
from programs.access import own_token
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.record import Record
from rpc.broker import broker_accounts
from rpc.broker.broker_accounts import CELL, CELL_CONDUCTOR, COMPUTE, OPERATOR, TOP

Options = Mapping[str, Mapping[str, str]]
"""Section of a configuration file -> option -> value."""

OPERATOR_FILE = "armillary-manage"
"""Configuration of ``armillary-manage``, which it finds without ``--config-file``."""

_SIMULATED_SIZE = "vcpus=16:memory_mb=32768:disk_gb=500"
_USUAL_PLACEMENT_PORT = "8778"
_LISTENS_TO_AGENTS = frozenset({"conductor", "cell_conductor"})


@dataclasses.dataclass(frozen=True, eq=False)
class Service:
    """A service, or the operator's program, as its files are written from."""

    name: str
    """Stem of its configuration file, and name in the trust list."""
    program: str
    unit: str
    role: str
    """Role of its signing key."""
    options: Options
    scope: str | None = None
    hosts: tuple[str, ...] = ()
    """Patterns of further hosts of an agent, or of all of a cell."""
    port: str = ""
    """Address of its HTTP port, if it has one."""

    @property
    def is_agent(self) -> bool:
        return self.role == COMPUTE

    @property
    def is_roots(self) -> bool:
        """Whether it runs as root: agents limit workloads, the operator is root."""
        return self.is_agent or not self.unit

    @property
    def hears_agents(self) -> bool:
        return self.role in _LISTENS_TO_AGENTS

    def file(self, layout: Layout) -> Path:
        return layout.configuration / f"{self.name}.conf"

    def own_directory(self, layout: Layout) -> Path:
        """Return the directory of the operator's settings, which are read after ours."""
        return layout.configuration / f"{self.name}.conf.d"

    def state(self, layout: Layout) -> Path:
        if self.is_agent:
            return layout.agent_state
        if not self.unit:
            return layout.operator_state
        return layout.state / self.name

    def key(self, layout: Layout) -> Path:
        return self.state(layout) / "signing.key"

    def trust(self, layout: Layout, kind: str) -> Path:
        return self.state(layout) / f"{kind}.json"

    def command(self, layout: Layout) -> list[str]:
        """Return the command that starts it."""
        return [
            str(layout.programs / self.program),
            "--config-file", str(self.file(layout)),
            "--config-dir", str(self.own_directory(layout)),
        ]  # fmt: skip

    def text(self, layout: Layout, root_key: str) -> str:
        """Return the content of its configuration file on a machine."""
        signing = {
            "mode": "required",
            "key_file": str(self.key(layout)),
            "trust_file": str(self.trust(layout, "services")),
            "root_keys": root_key,
        }
        if self.hears_agents:
            signing["compute_trust_file"] = str(self.trust(layout, "agents"))
        default = {**self.options["DEFAULT"], "state_path": str(self.state(layout))}
        sections = {**self.options, "DEFAULT": default, "signing": signing}
        return "\n".join(
            line
            for section, options in sections.items()
            for line in (f"[{section}]", *(f"{key} = {value}" for key, value in options.items()))
        )


@dataclasses.dataclass(frozen=True)
class Services:
    """Builds the services of a deployment from its record."""

    record: Record
    layout: Layout
    database_urls: Mapping[str, str]
    """Name of a database -> URL with the account of its owner."""

    def here(self) -> list[Service]:
        """Return the services of this machine, in the order of their start."""
        settings = self.record.settings
        cells = [name for name, cell in self.record.cells.items() if cell.is_here]
        first_cell = next(iter(self.record.cells))
        nodes = tuple(settings.nodes)
        agents = [self.agent(settings.host, first_cell, settings.driver, nodes)]
        return [
            self._placement(),
            self._conductor(),
            *(self.cell_conductor(name) for name in cells),
            self._scheduler(),
            self._api(),
            *(agents if settings.host else []),
        ]

    def operator(self) -> Service:
        """Return the configuration of ``armillary-manage``."""
        options = {
            "DEFAULT": self._default(OPERATOR),
            **self._databases("api", "cell0", "placement"),
        }
        return Service(OPERATOR_FILE, "armillary-manage", "", "operator", options)

    def cell_conductor(self, cell: str) -> Service:
        """Return the conductor of a cell."""
        uuid = self.record.cells[cell].uuid
        options = {
            "DEFAULT": self._default(CELL_CONDUCTOR, scope=uuid),
            "conductor": {"role": "cell"},
            "cell": {"uuid": uuid, "transport_url": self.cell_url(cell, CELL_CONDUCTOR, uuid)},
            "cell_database": {"connection": self.database_urls[cell_database(cell)]},
        }
        return Service(
            cell_service(cell), "armillary-conductor", f"armillary-cell-conductor@{cell}.service",
            "cell_conductor", options, scope=uuid, hosts=self.record.hosts_of(cell),
        )  # fmt: skip

    def agent(self, host: str, cell: str, driver: str, patterns: tuple[str, ...] = ()) -> Service:
        """Return the agent of a host."""
        options = {
            "DEFAULT": {"transport_url": self.cell_url(cell, COMPUTE, host), "host": host},
            "cell": {"uuid": self.record.cells[cell].uuid},
            "compute": {"driver": driver},
        }
        if driver == "simulated":
            options["simulated"] = {"hosts": f"name={host}:{_SIMULATED_SIZE}"}
        return Service(
            "compute", "armillary-compute", "armillary-compute.service", "compute", options,
            scope=host, hosts=patterns,
        )  # fmt: skip

    def cell_url(self, cell: str, role: str, scope: str | None = None) -> str:
        """Return the transport URL of a role on a cell's broker."""
        return self._transport_url(cell_vhost(self.record, cell), role, scope)

    def _placement(self) -> Service:
        address, port = split_address(self.record.settings.placement)
        options = {
            "DEFAULT": self._default("placement"),
            "placement": {"rest_bind_host": address, "rest_bind_port": port},
            **self._databases("placement"),
            **self._authentication(),
        }
        return self._top(
            "placement", "armillary-placement", options, self.record.settings.placement
        )

    def _conductor(self) -> Service:
        options = {
            "DEFAULT": self._default("conductor"),
            "conductor": {"role": "super"},
            "image": {"endpoint": f"{self._api_url()}/image"},
            **self._databases("api", "cell0"),
        }
        return self._top("conductor", "armillary-conductor", options)

    @property
    def has_local_api(self) -> bool:
        """Whether other machines do not reach the API."""
        settings = self.record.settings
        host = split_address(settings.api)[0]
        return not settings.outside_api and (host in own_token.EVERY_ADDRESS or is_loopback(host))

    def _api_url(self) -> str:
        """Return the address at which hosts reach the API."""
        settings = self.record.settings
        return settings.outside_api.rstrip("/") or url_of(settings.api)

    def _scheduler(self) -> Service:
        options = {"DEFAULT": self._default("scheduler")}
        return Service(
            "scheduler",
            "armillary-scheduler",
            "armillary-scheduler@1.service",
            "scheduler",
            options,
        )

    def _api(self) -> Service:
        address, port = split_address(self.record.settings.api)
        shared = self._authentication()
        options = {
            "DEFAULT": self._default("api"),
            **shared,
            "api": {"bind_host": address, "bind_port": port, **shared["api"]},
            "identity": {**shared["identity"], **self._placement_endpoint()},
        }
        return self._top("api", "armillary-api", options, self.record.settings.api)

    def _placement_endpoint(self) -> dict[str, str]:
        """Return where placement is, unless clients find it at the API's host and the usual port.

        At all addresses of this machine, it is not at the same one for all clients.
        """
        placement = self.record.settings.placement
        host, port = split_address(placement)
        if host in own_token.EVERY_ADDRESS and port == _USUAL_PLACEMENT_PORT:
            return {}
        return {"endpoints": f"placement:{url_of(placement)}"}

    def _top(self, name: str, program: str, options: Options, port: str = "") -> Service:
        return Service(name, program, f"armillary-{name}.service", name, options, port=port)

    def _authentication(self) -> dict[str, dict[str, str]]:
        tokens = str(self.layout.configuration / "tokens.yaml")
        return {
            "api": {"auth_strategy": "token_file", "token_file": tokens},
            "identity": {"state_dir": str(self.layout.state / "identity")},
        }

    def _default(self, role: str, scope: str | None = None) -> dict[str, str]:
        vhost = top_vhost(self.record)
        options = {"transport_url": self._transport_url(vhost, role, scope)}
        # All services share one machine: as many workers of each as it has CPUs are too many.
        return options if role == OPERATOR else {**options, "workers": "1"}

    def _transport_url(self, vhost: str, role: str, scope: str | None) -> str:
        settings = self.record.settings
        account = broker_accounts.account_name(role, scope, settings.prefix)
        password = self.record.secret(f"broker/{account}")
        user = quote(account, safe="")  # the name of a host may have : and @
        return f"rabbit://{user}:{password}@{settings.broker}/{vhost}"

    def _databases(self, *names: str) -> dict[str, dict[str, str]]:
        return {f"{name}_database": {"connection": self.database_urls[name]} for name in names}


def top_vhost(record: Record) -> str:
    return f"{record.settings.prefix}{TOP}"


def cell_vhost(record: Record, cell: str) -> str:
    return f"{record.settings.prefix}{cell}"


def cell_service(cell: str) -> str:
    """Return the name of a cell's conductor."""
    return f"cell-{cell}"


def cell_database(cell: str) -> str:
    return f"cell_{cell}"


def roles_of(record: Record) -> list[tuple[str, str | None, list[tuple[str, str]]]]:
    """Return role, scope and (virtual host, broker) pairs of each broker account."""
    top = (top_vhost(record), TOP)
    of_cells = {name: (cell_vhost(record, name), CELL) for name in record.cells}
    found: list[tuple[str, str | None, list[tuple[str, str]]]] = [
        (role, None, [top]) for role in ("api", "scheduler", "placement", OPERATOR)
    ]
    found.append(("conductor", None, [top, *of_cells.values()]))
    found += [
        (CELL_CONDUCTOR, cell.uuid, [top, of_cells[name]]) for name, cell in record.cells.items()
    ]
    agents = {host: each.cell for host, each in record.hosts.items()}
    if record.settings.host:
        agents[record.settings.host] = next(iter(record.cells))
    return found + [(COMPUTE, host, [of_cells[cell]]) for host, cell in agents.items()]


def url_of(address: str) -> str:
    """Return the URL at which this machine reaches an HTTP API that listens at an address."""
    host, port = split_address(address)
    host = own_token.EVERY_ADDRESS.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def split_address(address: str) -> tuple[str, str]:
    """Return host and port of an address."""
    host, _, port = address.rpartition(":")
    return host.strip("[]"), port
