"""Fixtures of the command line's tests: the real HTTP API, a super conductor in memory."""

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import pytest
from oslo_config import cfg

from api.app import make_app
from armillary.conf import api as api_conf
from armillary.conf import base as base_conf
from armillary.conf import console as console_conf
from armillary.conf import image as image_conf
from armillary.conf import register, serial_console
from armillary.conf import tracing as tracing_conf
from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI
from objects.instance import Instance
from objects.instances.new_servers import NewServers
from objects.instances.server_answers import CreatedServers, ServerPage
from objects.instances.server_filters import ServerFilters
from programs.commands.app import TOKEN_VARIABLE, URL_VARIABLE, ClientApp
from programs.http_client import ApiClient
from tests import builders
from tests.fixtures.programs.serving import serving
from tests.fixtures.stand_ins.stand_in import StandIn
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.unit.armillary.conftest import fork_program, fork_servers, keep_logging, start_program

__all__ = ["fork_program", "fork_servers", "keep_logging", "start_program"]

PROJECT = "admin"  # of a request without a token


class BuildingSuperConductor(SuperConductor):
    """Builds what it accepts, one look later; outcomes are taken in turn, the last one stays."""

    def __init__(self) -> None:
        super().__init__()
        self.outcomes: list[dict[str, Any]] = [{"vm_state": "active", "host": "host1"}]
        self.is_deaf = False
        """Whether nothing that was accepted is ever done."""

    def create_servers(self, context: RequestContext, servers: NewServers) -> CreatedServers:
        accepted = super().create_servers(context, servers)
        for index, server in enumerate(self.servers[-len(accepted.instance_uuids) :]):
            server.launch_index = index
            server.name = f"{servers.name}-{index + 1}" if index else servers.name
            server.reservation_id = accepted.reservation_id
        return accepted

    def get_server(
        self, context: RequestContext, instance_uuid: str, for_display: bool = False
    ) -> Instance:
        return self._looked_at(super().get_server(context, instance_uuid))

    def list_servers(
        self,
        context: RequestContext,
        filters: ServerFilters,
        limit: int,
        marker: str | None,
        for_display: bool = False,
    ) -> ServerPage:
        listed = super().list_servers(context, filters, limit, marker)
        seen = [self._looked_at(server) for server in listed.instances]
        return ServerPage(seen, listed.down_cells)

    def delete_server(self, context: RequestContext, instance_uuid: str) -> None:
        self.get_server(context, instance_uuid)
        if not self.is_deaf:
            self.servers = [server for server in self.servers if server.uuid != instance_uuid]

    def _looked_at(self, server: Instance) -> Instance:
        """Return the server as it was, and let the next check find it built."""
        seen = server.with_values()
        if server.vm_state == "building" and not self.is_deaf:
            outcome = self.outcomes.pop(0) if len(self.outcomes) > 1 else self.outcomes[0]
            for name, value in {"attempt": 1, **outcome}.items():
                setattr(server, name, value)
        return seen


@dataclass(frozen=True)
class Ended:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it printed with ``-f json``."""
        return json.loads(self.out)


Armillary = Callable[..., Ended]


@pytest.fixture
def conductor() -> BuildingSuperConductor:
    """Return the super conductor that the API asks."""
    return BuildingSuperConductor()


@pytest.fixture
def rpc(conductor: BuildingSuperConductor) -> SuperConductorClient:
    """Return the client that the API asks it with; it notes who called what."""
    return SuperConductorClient(conductor)


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[StandIn, str]]:
    """Lend the address of one API for all tests, and the client that it asks with."""
    conf = cfg.ConfigOpts()
    register(conf, base_conf, api_conf, console_conf, image_conf, serial_console, tracing_conf)
    folder = tmp_path_factory.mktemp("api")
    path = folder / "api.conf"
    path.write_text(
        f"[oslo_policy]\npolicy_file = {folder}/policy.yaml\n[api]\nmax_limit = 3\n"
        f"[image]\nstore_path = {folder}/images\n"
    )
    conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
    stand_in = StandIn()
    app = make_app(conf, conductor=cast("SuperConductorAPI", stand_in))
    with serving(app) as server:
        yield stand_in, "http://{}:{}".format(*server.address)


@pytest.fixture
def url(rpc: SuperConductorClient, served: tuple[StandIn, str]) -> str:
    """Return the address of the API; its pages are short."""
    stand_in, url = served
    stand_in.behind = rpc
    return url


@pytest.fixture
def api(url: str) -> Iterator[ApiClient]:
    """Return a client of the API, in the administrator's name."""
    client = ApiClient(url)
    yield client
    client.close()


@pytest.fixture
def armillary(url: str) -> Armillary:
    """Return a function that runs a command as the administrator, or with ``token=``."""

    def run(*words: str, token: str = "", url: str = url) -> Ended:
        out, err = io.StringIO(), io.StringIO()
        app = ClientApp(out, err, {URL_VARIABLE: url, TOKEN_VARIABLE: token})
        code = app.run(list(words))
        return Ended(code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def a_server(conductor: BuildingSuperConductor) -> Callable[..., Instance]:
    """Return a function that puts a server into the administrator's project."""

    def make(name: str = "web", **values: Any) -> Instance:
        server = builders.an_instance(name, **{"project_id": PROJECT, **values})
        conductor.servers.append(server)
        return server

    return make
