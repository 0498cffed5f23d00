"""Placement as it is deployed, to be measured: a process of its own on PostgreSQL and RabbitMQ."""

import contextlib
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import requests
from oslo_config import cfg

from armillary.conf import base as base_options
from armillary.conf import conductor as conductor_options
from armillary.conf import register
from armillary.conf import rpc as rpc_options
from armillary.db import Database
from placement.interface import PlacementAPI
from programs.bus_factory import bus_maker
from rpc.signing.place import TOP
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.services import POSTGRESQL, RABBITMQ, why_missing
from tests.fixtures.services.brokers import fresh_vhost
from tests.fixtures.services.databases import fresh_database
from tests.fixtures.services.ports import free_port

START_SECONDS_MAX = 60
CALL_SECONDS_MAX = 120
SCHEMA = "placement.db.schema"

_CONFIGURATION = """
[DEFAULT]
transport_url = {transport_url}
host = bench
state_path = {folder}
[api]
auth_strategy = noauth2
[placement_database]
connection = {database_url}
[placement]
rest_bind_port = {port}
workers = {workers}
"""


@dataclass
class Service:
    folder: Path
    transport_url: str
    port: int
    process: subprocess.Popen[bytes]

    def pids(self) -> list[int]:
        """Return its processes: the program itself and its workers."""
        root = psutil.Process(self.process.pid)
        return [root.pid, *(child.pid for child in root.children(recursive=True))]

    @contextlib.contextmanager
    def rpc(self) -> Iterator[PlacementAPI]:
        bus = bus_maker(bench_conf(self.folder), "bench-client")(self.transport_url, TOP)
        try:
            yield PlacementAPI(bus, timeout_seconds=CALL_SECONDS_MAX)
        finally:
            bus.close()


def bench_conf(folder: Path) -> cfg.ConfigOpts:
    """Return the configuration of the process that measures."""
    conf = messaging_conf()
    register(conf, base_options, rpc_options, conductor_options)
    conf.set_override("host", "bench")
    conf.set_override("state_path", str(folder))
    return conf


@contextlib.contextmanager
def running_program(name: str, configuration: Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of our programs until the end of the block."""
    program = Path(sys.executable).with_name(name)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [program, "--config-file", configuration], stdout=output, stderr=output
        )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def require_servers() -> None:
    """Start PostgreSQL and RabbitMQ where we may; raise RuntimeError when one is missing."""
    for server in (POSTGRESQL, RABBITMQ):
        reason = why_missing(server)
        if reason is not None:
            raise RuntimeError(f"{server.title} is missing: {reason}")


@contextlib.contextmanager
def empty_database() -> Iterator[str]:
    """Lend the URL of a PostgreSQL database with placement's tables."""
    with fresh_database(POSTGRESQL) as url:
        database = Database(url, name="placement")
        database.sync(SCHEMA)
        database.dispose()
        yield url


@contextlib.contextmanager
def running_service(
    folder: Path, database_url: str, *, workers: int = 1, options: str = ""
) -> Iterator[Service]:
    """Run placement on a database that has its tables, and on a virtual host of its own.

    ``options`` are sections that its configuration file has beside the usual ones.
    """
    with fresh_vhost() as transport_url:
        port = free_port()
        configuration = folder / "placement.conf"
        configuration.write_text(
            _CONFIGURATION.format(
                transport_url=transport_url,
                folder=folder,
                database_url=database_url,
                port=port,
                workers=workers,
            )
            + options
        )
        log = folder / "placement.log"
        with running_program("armillary-placement", configuration, log) as process:
            _wait_until_it_answers(process, port, log)
            yield Service(folder, transport_url, port, process)


def _wait_until_it_answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    give_up_at = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < give_up_at and process.poll() is None:
        with contextlib.suppress(requests.ConnectionError):
            requests.get(f"http://127.0.0.1:{port}/", timeout=START_SECONDS_MAX)
            return
        time.sleep(0.1)
    raise RuntimeError(f"placement did not start:\n{log.read_text()[-2000:]}")
