"""``armillary up``: the whole system in one process, with an in-memory broker and SQLite files.

Runs the same managers as a deployment of separate processes, wired to the embedded defaults:
control plane, one cell, this machine as a compute host, and optional simulated hosts.
"""

from __future__ import annotations

import argparse
import logging
import sys
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oslo_config import cfg

from armillary import exception, private_files
from armillary.conf import loader
from armillary.service import Factory, Manager, run_in_process
from conductor.super_conductor.db import cells
from programs import EXIT_CONFIGURATION, own_token, wiring
from programs.bus_factory import bus_maker
from programs.commands.programs import up_parser
from programs.operator.databases import API, DATABASES

BINARY = "armillary"
TOP_URL = "kombu+memory:////top"
CELL_URL = "kombu+memory:////cell1"
CELL_NAME = "cell1"
API_URL_FILE = "api-url"


def main(argv: Sequence[str]) -> int:
    """Run until SIGTERM or Ctrl-C; return the exit code.

    The caller has bootstrapped concurrency.
    """
    arguments = up_parser().parse_args(argv)
    conf = cfg.CONF
    try:
        _load(conf, arguments)
        if arguments.quiet:
            logging.getLogger().setLevel(logging.WARNING)
        return _run(conf, quiet=arguments.quiet)
    except exception.ConfigurationError as error:
        print(f"armillary up: {error}", file=sys.stderr)  # noqa: T201 - one line for a person
        return EXIT_CONFIGURATION


def _load(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> None:
    state_dir = arguments.state_dir.absolute()
    private_files.make_directory(state_dir)
    loader.load(conf, [f"--config-file={path}" for path in arguments.config_file], BINARY)
    defaults = {
        (None, "state_path"): str(state_dir),
        (None, "report_interval"): 2,
        (None, "service_down_time"): 10,
        ("conductor", "discover_hosts_interval_seconds"): 1.0,
        ("quota", "instances"): -1,  # a single user on a single machine
        ("quota", "cores"): -1,
        ("quota", "ram"): -1,
        ("cell", "uuid"): _cell_uuid(state_dir),
        ("cell", "transport_url"): CELL_URL,
        ("placement", "rest_bind_port"): 0,
        ("api", "auth_strategy"): "token_file",
    }
    for (group, name), value in defaults.items():
        conf.set_default(name, value, group=group)
    if arguments.port is not None:
        conf.set_override("bind_port", arguments.port, group="api")
    if arguments.simulated:
        conf.set_override("hosts", arguments.simulated, group="simulated")
    drivers = [] if arguments.no_process_host else ["process"]
    if conf.simulated.hosts:
        drivers.append("simulated")
    if not drivers:
        raise exception.ConfigurationError(
            reason="no hosts: --no-process-host requires --simulated"
        )
    conf.set_override("driver", drivers, group="compute")


def _cell_uuid(state_dir: Path) -> str:
    path = state_dir / "cell1-uuid"
    if not path.exists():
        private_files.write(path, f"{uuid.uuid4()}\n")
    return path.read_text().strip()


def _run(conf: cfg.ConfigOpts, *, quiet: bool) -> int:
    make_tables(conf)
    url_file = Path(conf.state_path) / API_URL_FILE
    url_file.unlink(missing_ok=True)
    bound: list[tuple[str, int]] = []
    has_own_token = _make_token(conf)

    def on_ready() -> None:
        host, port = bound[0]
        if has_own_token:
            links.append(own_token.publish(Path(conf.state_path), host, port))
        url = f"http://{host}:{port}"
        private_files.write(url_file, url)
        if not quiet:
            _greet(conf, url)

    services = embedded_services(conf, top_url=TOP_URL, on_bound=bound.append)
    with own_token.published(Path(conf.state_path)) as links:
        return run_in_process(conf, services, binary=BINARY, on_ready=on_ready)


def _make_token(conf: cfg.ConfigOpts) -> bool:
    """Make a token for this user alone, unless the operator chose other tokens, or none."""
    if conf.api.auth_strategy != "token_file" or conf.api.token_file:
        return False
    path = own_token.make(Path(conf.state_path))
    conf.set_override("token_file", str(path), group="api")
    return True


def embedded_services(
    conf: cfg.ConfigOpts, *, top_url: str, on_bound: Callable[[tuple[str, int]], None]
) -> list[tuple[str, Factory]]:
    """Return the services of a whole deployment, by name, in start order.

    ``on_bound`` is called with the address of the API.
    """
    make_bus = bus_maker(conf, BINARY)
    cell_url = conf.cell.transport_url

    def on_top(make: Callable[..., Manager], **more: Any) -> Factory:
        return lambda: make(conf, top_url=top_url, make_bus=make_bus, **more)

    return [
        ("placement", on_top(wiring.make_placement)),
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


def _greet(conf: cfg.ConfigOpts, url: str) -> None:
    lines = [
        f"Armillary is up. API: {url}   State: {conf.state_path}",
        "From a second terminal:",
        "  armillary host list",
        "  armillary flavor create tiny --vcpus 1 --ram 128 --disk 1",
        '  armillary image create sleeper --command "sleep 600"',
        "  armillary server create first --flavor tiny --image sleeper --wait",
        "Ctrl-C stops it; processes that it started keep running and are found again.",
    ]
    print("\n".join(lines), file=sys.stderr, flush=True)  # noqa: T201 - a greeting, not a log line
