"""What the tests of the HTTP API share: the application before a super conductor in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oslo_config import cfg

from api.app import make_app
from armillary.conf import api as api_conf
from tests.fixtures.http_api import Api
from tests.fixtures.operated_servers import OperatedServers
from tests.fixtures.super_conductor import SuperConductorClient


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of an API without authentication."""
    conf = cfg.ConfigOpts()
    api_conf.register_opts(conf)
    path = tmp_path / "api.conf"
    path.write_text(f"[oslo_policy]\npolicy_file = {tmp_path}/policy.yaml\n")
    conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
    return conf


@pytest.fixture
def conductor() -> OperatedServers:
    """Return the super conductor that the API asks."""
    return OperatedServers()


@pytest.fixture
def client(conductor: OperatedServers) -> SuperConductorClient:
    """Return the client that the API asks it with; it notes who called what."""
    return SuperConductorClient(conductor)


@pytest.fixture
def make_api(conf: cfg.ConfigOpts, client: SuperConductorClient) -> Callable[[], Api]:
    """Return what makes an API from the configuration as it is then."""
    return lambda: Api(make_app(conf, conductor=client))


@pytest.fixture
def api(make_api: Callable[[], Api]) -> Api:
    """Return an API without authentication."""
    return make_api()
