"""``armillary-placement-rest``: the Placement REST API without RPC; needs no broker.

``application``, created on first access, is the same as a WSGI application for any server:
``gunicorn programs.placement_rest:application``.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armillary import concurrency
from programs import EXIT_CONFIGURATION

if TYPE_CHECKING:
    from oslo_config import cfg

PROGRAM = "armillary-placement-rest"
BINARY = "armillary-placement"
"""The program whose configuration files are read, since the API is the same."""

CONFIG_FILES_VARIABLE = "ARMILLARY_CONFIG_FILES"


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM; return the exit code."""
    arguments, rest = parse(sys.argv[1:] if argv is None else argv)
    concurrency.bootstrap(rest, BINARY)
    return run(arguments, rest)


def run(arguments: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run with our arguments and those for the configuration; the caller has bootstrapped."""
    from oslo_config import cfg

    from armillary import exception
    from armillary.conf import loader
    from armillary.files.umask import tighten_umask

    tighten_umask()
    conf = cfg.CONF
    try:
        loader.load(conf, rest, BINARY)
    except exception.ConfigurationError as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)  # noqa: T201 - the log may not be set up
        return EXIT_CONFIGURATION
    _override(conf, arguments)
    return _serve(conf)


def parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """Return this program's arguments and those for the configuration."""
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Serve the Placement REST API, without a message broker.",
        epilog="Other arguments, such as --config-file, --config-dir and --debug, are those of "
        f"all services. Without --config-file, {BINARY}.conf is read in the default "
        "locations.",
        allow_abbrev=False,
    )
    parser.add_argument("--host", help="address to listen on ([placement] rest_bind_host)")
    parser.add_argument("--port", type=int, help="port to listen on ([placement] rest_bind_port)")
    parser.add_argument(
        "--state-dir",
        type=Path,
        help="use the SQLite database in this directory ([DEFAULT] state_path), and migrate its "
        "tables",
    )
    return parser.parse_known_args(argv)


def _override(conf: cfg.ConfigOpts, arguments: argparse.Namespace) -> None:
    if arguments.state_dir is not None:
        conf.set_override("state_path", str(arguments.state_dir.absolute()))
        conf.set_override("sync_on_startup", True, group="placement_database")
    if arguments.host is not None:
        conf.set_override("rest_bind_host", arguments.host, group="placement")
    if arguments.port is not None:
        conf.set_override("rest_bind_port", arguments.port, group="placement")


def _serve(conf: cfg.ConfigOpts) -> int:
    """Serve in this process, or in several worker processes as configured."""
    from armillary.service import Manager, launch, run_in_process
    from armillary.service.worker_count import worker_count
    from programs import wiring

    def make() -> Manager:
        return wiring.make_placement_rest(conf)

    workers = worker_count(conf, conf.placement.workers)
    if workers == 1:
        return run_in_process(conf, [(PROGRAM, make)], binary=PROGRAM)
    return launch(conf, PROGRAM, make, workers=workers)


def make_application() -> Any:
    """Return the WSGI application, configured by the environment or by the default files.

    Raises ``ConfigurationError``. Requests are answered with status 503 while the database is
    unavailable.
    """
    concurrency.silence_eventlet_deprecations()
    from oslo_config import cfg

    from armillary.conf import loader
    from armillary.metrics import tracing
    from programs import wiring

    files = os.environ.get(CONFIG_FILES_VARIABLE, "").split(os.pathsep)
    loader.load(cfg.CONF, [f"--config-file={path}" for path in files if path], BINARY)
    tracing.start(cfg.CONF, PROGRAM)
    return wiring.make_placement_wsgi(cfg.CONF)


def __getattr__(name: str) -> Any:
    if name != "application":
        raise AttributeError(name)
    globals()[name] = made = make_application()
    return made
