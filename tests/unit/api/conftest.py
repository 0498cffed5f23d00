"""Fixtures of the HTTP API's tests: the application before a super conductor in memory."""

from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from oslo_config import cfg

from api.app import make_app
from armillary.conf import api as api_conf
from armillary.conf import base as base_conf
from armillary.conf import console as console_conf
from armillary.conf import identity as identity_conf
from armillary.conf import image as image_conf
from armillary.conf import register, serial_console
from armillary.conf import tracing as tracing_conf
from conductor.super_conductor.interface import SuperConductorAPI
from tests.fixtures.http_api import Api
from tests.fixtures.stand_ins.stand_in import StandIn
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient


def make_conf(folder: Path) -> cfg.ConfigOpts:
    """Return the configuration of an API without authentication, whose policy is in a folder."""
    conf = cfg.ConfigOpts()
    register(
        conf,
        base_conf,
        api_conf,
        console_conf,
        identity_conf,
        image_conf,
        serial_console,
        tracing_conf,
    )
    conf.set_default("state_path", str(folder))
    path = folder / "api.conf"
    path.write_text(f"[oslo_policy]\npolicy_file = {folder}/policy.yaml\n")
    conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
    return conf


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of an API that a test makes for itself."""
    return make_conf(tmp_path)


@pytest.fixture
def conductor() -> SuperConductor:
    """Return the super conductor that the API asks."""
    return SuperConductor()


@pytest.fixture
def client(conductor: SuperConductor) -> SuperConductorClient:
    """Return the client that the API asks it with; it notes who called what."""
    return SuperConductorClient(conductor)


@pytest.fixture
def make_api(conf: cfg.ConfigOpts, client: SuperConductorClient) -> Callable[[], Api]:
    """Return what makes an API from the configuration as it is then."""
    return lambda: Api(make_app(conf, conductor=client))


@pytest.fixture(scope="session")
def lasting_api(tmp_path_factory: pytest.TempPathFactory) -> tuple[Api, StandIn]:
    """Return the API of all tests that need no other configuration, and the client it asks with."""
    stand_in = StandIn()
    conf = make_conf(tmp_path_factory.mktemp("api"))
    return Api(make_app(conf, conductor=cast("SuperConductorAPI", stand_in))), stand_in


@pytest.fixture
def api(lasting_api: tuple[Api, StandIn], client: SuperConductorClient) -> Api:
    """Return an API without authentication."""
    api, stand_in = lasting_api
    stand_in.behind = client
    return api
