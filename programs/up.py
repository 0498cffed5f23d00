"""``armillary up``: the whole system in one process, with an in-memory broker and SQLite files.

Runs the same managers as a deployment of separate processes, wired to the embedded defaults:
control plane, one cell, this machine as a compute host, and optional simulated hosts.
"""

import argparse
import logging
import shlex
import sys
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oslo_config import cfg

from api.console.links import PLAIN_PATH, ConsoleLinks
from armillary import exception
from armillary.conf import loader
from armillary.files import private_files
from armillary.files.umask import tighten_umask
from armillary.service import Factory, Manager, run_in_process
from conductor.super_conductor.db import cells
from programs import EXIT_CONFIGURATION, up_checks, wiring
from programs.access import clouds_yaml, own_token
from programs.bus_factory import bus_maker
from programs.commands.programs import up_parser
from programs.operator.databases import API, DATABASES

BINARY = "armillary"
TOP_URL = "kombu+memory:////top"
CELL_URL = "kombu+memory:////cell1"
CELL_NAME = "cell1"
API_URL_FILE = "api-url"
API_PORT = 8774
PLACEMENT_PORT = 8778
PORTS_MAX = 65536

Address = tuple[str, int]


def main(argv: Sequence[str]) -> int:
    """Run until SIGTERM or Ctrl-C; return the exit code.

    The caller has bootstrapped concurrency.
    """
    arguments = up_parser().parse_args(argv)
    tighten_umask()
    conf = cfg.CONF
    try:
        _load(conf, arguments)
        if arguments.quiet:
            logging.getLogger().setLevel(logging.WARNING)
        up_checks.check_hosts(conf)
        up_checks.check_ports(conf)
        with up_checks.state_directory(Path(conf.state_path)):
            conf.set_default("uuid", _cell_uuid(Path(conf.state_path)), group="cell")
            code = _run(conf, quiet=arguments.quiet)
    except exception.ConfigurationError as error:
        print(f"armillary up: {error}", file=sys.stderr)  # noqa: T201 - one line for a person
        return EXIT_CONFIGURATION
    if not arguments.quiet and not code:
        _say_goodbye(argv)
    return code


def _load(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> None:
    state_dir = arguments.state_dir.absolute()
    loader.load(conf, [f"--config-file={path}" for path in arguments.config_file], BINARY)
    defaults = {
        (None, "state_path"): str(state_dir),
        (None, "workers"): 1,  # all services are in this process
        (None, "report_interval"): 2,
        (None, "service_down_time"): 10,
        ("conductor", "discover_hosts_interval_seconds"): 1.0,
        ("quota", "instances"): -1,  # a single user on a single machine
        ("quota", "cores"): -1,
        ("quota", "ram"): -1,
        ("cell", "transport_url"): CELL_URL,
        ("placement", "rest_bind_port"): _placement_port(arguments.port),
        ("api", "auth_strategy"): "token_file",
        ("audit", "log_file"): str(state_dir / "audit.log"),
    }
    for (group, name), value in defaults.items():
        conf.set_default(name, value, group=group)
    if arguments.port is not None:
        conf.set_override("bind_port", arguments.port, group="api")
    if arguments.simulated:
        conf.set_override("hosts", arguments.simulated, group="simulated")
    conf.set_override("driver", _drivers(conf, arguments), group="compute")


def _drivers(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> list[str]:
    """Return the drivers of this machine's hosts: those of a configuration file, or ``process``."""
    found = conf.get_location("driver", "compute")
    is_given = found is not None and found.location.is_user_controlled
    drivers = list(conf.compute.driver) if is_given else ["process"]
    if arguments.no_process_host:
        drivers = [name for name in drivers if name != "process"]
    if conf.simulated.hosts and "simulated" not in drivers:
        drivers.append("simulated")
    if not drivers:
        raise exception.ConfigurationError(
            reason="no hosts: --no-process-host requires --simulated, or another [compute] driver"
        )
    return drivers


def _placement_port(api_port: int | None) -> int:
    """Return the port of placement: its usual one, or as far from another port of the API."""
    if not api_port:
        return PLACEMENT_PORT if api_port is None else 0
    port = api_port + PLACEMENT_PORT - API_PORT
    return port if port < PORTS_MAX else 0


def _cell_uuid(state_dir: Path) -> str:
    path = state_dir / "cell1-uuid"
    if not path.exists():
        private_files.write(path, f"{uuid.uuid4()}\n")
    return path.read_text().strip()


def _run(conf: cfg.ConfigOpts, *, quiet: bool) -> int:
    make_tables(conf)
    url_file = Path(conf.state_path) / API_URL_FILE
    url_file.unlink(missing_ok=True)
    bound: list[Address] = []
    placement_bound: list[Address] = []
    has_own_token = _make_token(conf)

    def on_ready() -> None:
        if has_own_token:
            links.append(own_token.publish(Path(conf.state_path), *bound[0]))
        api_url = _url(bound[0], conf.api.cert_file)
        placement_url = _url(placement_bound[0], conf.placement.rest_cert_file)
        _add_endpoint(conf, "placement", placement_url)
        conf.set_default("endpoint", f"{api_url}/image", group="image")
        clouds = clouds_yaml.write(conf, api_url, placement_url)
        private_files.write(url_file, api_url)  # the last file: programs wait for it
        if not quiet:
            _greet(conf, api_url, placement_url, clouds, _console_url(conf, api_url, has_own_token))

    services = embedded_services(
        conf, top_url=TOP_URL, on_bound=bound.append, on_placement_bound=placement_bound.append
    )
    with own_token.published(Path(conf.state_path)) as links:
        return run_in_process(conf, services, binary=BINARY, on_ready=on_ready)


def _url(address: Address, cert_file: str | None) -> str:
    """Return the URL for clients of this machine."""
    host, port = address
    host = own_token.EVERY_ADDRESS.get(host, host)
    scheme = "https" if cert_file else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"


def _add_endpoint(conf: cfg.ConfigOpts, service_type: str, url: str) -> None:
    """Let the service catalogue show an address that is known only now."""
    endpoints = {service_type: url, **conf.identity.endpoints}
    conf.set_override("endpoints", endpoints, group="identity")


def _make_token(conf: cfg.ConfigOpts) -> bool:
    """Make a token for this user alone, unless the operator chose other tokens, or none."""
    if conf.api.auth_strategy != "token_file" or conf.api.token_file:
        return False
    path = own_token.make(Path(conf.state_path))
    conf.set_override("token_file", str(path), group="api")
    return True


def _console_url(conf: cfg.ConfigOpts, api_url: str, has_own_token: bool) -> str | None:
    """Return a link that opens the web console and logs in, with a token of our own."""
    if not conf.console.enabled:
        return None
    if not has_own_token:
        return f"{api_url}{PLAIN_PATH}"
    token = own_token.read(Path(conf.state_path))
    path, _expires_at = ConsoleLinks.from_conf(conf).make(token, own_token.ADMIN)
    return f"{api_url}{path}"


def embedded_services(
    conf: cfg.ConfigOpts,
    *,
    top_url: str,
    on_bound: Callable[[Address], None],
    on_placement_bound: Callable[[Address], None] | None = None,
) -> list[tuple[str, Factory]]:
    """Return the services of a whole deployment, by name, in start order.

    ``on_bound`` is called with the address of the API, the other with that of placement.
    """
    make_bus = bus_maker(conf, BINARY)
    cell_url = conf.cell.transport_url

    def on_top(make: Callable[..., Manager], **more: Any) -> Factory:
        return lambda: make(conf, top_url=top_url, make_bus=make_bus, **more)

    return [
        ("placement", on_top(wiring.make_placement, on_bound=on_placement_bound)),
        ("cell conductor", on_top(wiring.make_cell_conductor)),
        ("super conductor", on_top(wiring.make_super_conductor)),
        *([] if conf.scheduler.in_process else [("scheduler", on_top(wiring.make_scheduler))]),
        ("compute agent", lambda: wiring.make_compute(conf, cell_url=cell_url, make_bus=make_bus)),
        ("api", on_top(wiring.make_api, on_bound=on_bound)),
    ]


def make_tables(conf: cfg.ConfigOpts) -> None:
    """Create all tables and register the one cell. Idempotent."""
    for known in DATABASES:
        known.open(conf).sync(known.schema)
    api_database = API.open(conf)
    with api_database.writer() as session:
        if not any(cell.uuid == conf.cell.uuid for cell in cells.list_cells(session)):
            cells.create_cell(
                session,
                name=CELL_NAME,
                transport_url=conf.cell.transport_url,
                chosen_uuid=conf.cell.uuid,
                now=datetime.now(UTC),
            )
    api_database.dispose()


def _say_goodbye(argv: Sequence[str]) -> None:
    """Say how to continue: stopping loses nothing."""
    again = shlex.join([BINARY, "up", *argv])
    lines = (
        "Stopped. Servers are kept, processes that were started keep running.",
        f"To continue: {again}",
    )
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - for a person


def _greet(
    conf: cfg.ConfigOpts,
    api_url: str,
    placement_url: str,
    clouds: Path | None,
    console_url: str | None,
) -> None:
    from programs.commands.app import URL_VARIABLE
    from programs.http_client import DEFAULT_URL

    lines = [
        f"Armillary is up. API: {api_url}   Placement: {placement_url}   State: {conf.state_path}",
        *([] if console_url is None else _about_console(conf, console_url)),
        "From a second terminal:",
        *([] if api_url == DEFAULT_URL else [f"  export {URL_VARIABLE}={api_url}"]),
        "  armillary host list",
        "  armillary flavor create tiny --vcpus 1 --ram 128 --disk 1",
        '  armillary image create sleeper --command "sleep 600"',
        "  armillary server create first --flavor tiny --image sleeper --wait",
    ]
    if clouds is not None:
        lines += [
            "Or with OpenStack's clients:",
            f"  export OS_CLIENT_CONFIG_FILE={shlex.quote(str(clouds))}",
            "  openstack --os-cloud armillary server list",
        ]
    lines.append("Ctrl-C stops it; processes that it started keep running and are found again.")
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - a greeting, not a log line


def _about_console(conf: cfg.ConfigOpts, url: str) -> list[str]:
    lines = [f"Web console: {url}"]
    if "#" in url:
        minutes = max(1, conf.console.link_lifetime_seconds // 60)
        lines.append(f"  (opens once, within {minutes} min; for another link: armillary console)")
    return lines
