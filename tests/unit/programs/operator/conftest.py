"""Fixtures of the tests of the operator's programs: both programs, files for them, a cell."""

import io
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from armillary import conf as armillary_conf
from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.super_conductor.db import cells
from objects.cell_mapping import CellMapping
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import HostRequest, ZoneUse
from objects.hosts.service import Service
from objects.instance import Instance
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ServerFilters
from programs import manage, status
from programs.bus_factory import bus_maker
from programs.operator.application import OperatorApp
from rpc.signing.place import TOP
from tests import builders
from tests.fixtures import waiting
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.services.databases import SCHEMAS, sqlite_with_tables
from tests.unit.programs.conftest import Ended

CELL_UUID = "11111111-1111-4111-8111-111111111111"


Run = Callable[..., Ended]


@pytest.fixture(autouse=True)
def own_configuration(
    keep_logging: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Keep the usual places of files out, and leave the programs' configuration as it was."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    yield
    cfg.CONF.reset()


@pytest.fixture
def conf_file(tmp_path: Path) -> Path:
    """Return a super conductor's configuration; a second cell database is not in it."""
    path = tmp_path / "conductor.conf"
    path.write_text(
        f"[DEFAULT]\nstate_path = {tmp_path}\n"
        f"[conductor]\ncell_timeout_seconds = {waiting.seconds(1):.1f}\n"
        f"[api_database]\nconnection = sqlite:///{tmp_path}/api.sqlite\n"
        f"[cell0_database]\nconnection = sqlite:///{tmp_path}/cell0.sqlite\n"
    )
    return path


def runner(conf_file: Path, make: Callable[..., OperatorApp]) -> Run:
    """Return a function that runs a command with a configuration, ``conf_file`` unless given."""

    def run(*words: str, conf_file: Path = conf_file) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        try:
            code = make(out, err).run([f"--config-file={conf_file}", *words])
        except SystemExit as end:
            code = int(end.code or 0)
        return Ended(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def run_manage(conf_file: Path) -> Run:
    """Return a function that runs ``armillary-manage``."""
    return runner(conf_file, manage.make_app)


@pytest.fixture
def run_status(conf_file: Path) -> Run:
    """Return a function that runs ``armillary-status``."""
    return runner(conf_file, status.make_app)


@pytest.fixture
def api_database(tmp_path: Path) -> Iterator[Database]:
    """Return the API database; it and that of cell0 are as ``db sync`` makes them."""
    sqlite_with_tables(tmp_path / "cell0.sqlite", SCHEMAS["cell0"])
    database = Database(sqlite_with_tables(tmp_path / "api.sqlite", SCHEMAS["api"]), name="API")
    yield database
    database.dispose()


class CellConductor:
    """Serves a cell's broker in memory with the hosts and servers that a test gives it."""

    def __init__(self) -> None:
        self.services: list[Service] = []
        self.nodes: list[ComputeNode] = []
        self.instances: list[Instance] = []
        self.host_requests: list[HostRequest] = []
        self.owners: dict[str, str | None] = {}

    def add_host(self, host: str, **values: Any) -> None:
        self.nodes.append(builders.a_compute_node(host))
        self.services.append(builders.a_service(host, **values))

    def list_services(self, context: RequestContext) -> list[Service]:
        return self.services

    def list_zone_uses(self, context: RequestContext) -> list[ZoneUse]:
        return [ZoneUse(one.host, one.availability_zone, 1, one.uuid) for one in self.instances]

    def list_compute_nodes(self, context: RequestContext) -> list[ComputeNode]:
        return self.nodes

    def list_known_hosts(self, context: RequestContext) -> dict[str, list[str]]:
        nodes = {node.host: [node.uuid] for node in self.nodes}
        return {service.host: nodes.get(service.host, []) for service in self.services}

    def list_instances(
        self, context: RequestContext, filters: ServerFilters, limit: int,
        marker: InstanceMarker | None,
    ) -> list[Instance]:  # fmt: skip
        return [] if marker else self.instances

    def list_host_requests(self, context: RequestContext) -> list[HostRequest]:
        return self.host_requests

    def approve_host(self, context: RequestContext, host: str, agent: str) -> None:
        self.owners[host] = agent

    def release_host(self, context: RequestContext, host: str) -> None:
        if host not in self.owners:
            raise exception.HostNotFound(host=host)
        self.owners[host] = None


def register(database: Database, name: str = "cell1", url: str = "", **values: Any) -> CellMapping:
    """Register a cell; it does not answer unless the test serves its broker."""
    with database.writer() as session:
        return cells.create_cell(
            session,
            name=name,
            transport_url=url or f"kombu+memory:////{uuid.uuid4()}",
            now=builders.A_TIME,
            **values,
        )


@pytest.fixture
def cell_conductor(api_database: Database) -> Iterator[CellConductor]:
    """Return the conductor of the registered cell ``cell1``, which answers."""
    url = f"kombu+memory:////{uuid.uuid4()}"
    register(api_database, url=url, chosen_uuid=CELL_UUID)
    armillary_conf.register_all(cfg.CONF)
    bus = bus_maker(cfg.CONF, "armillary-conductor")(url, TOP)
    conductor = CellConductor()
    server = an_rpc_server(bus, CellConductorAPI, "host", conductor)
    server.start()
    yield conductor
    server.stop()
    server.wait()
    bus.close()
