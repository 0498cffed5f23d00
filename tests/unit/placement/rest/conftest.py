"""Fixtures of the Placement REST API's tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from oslo_config import cfg

from placement.engine import PlacementEngine
from tests.fixtures.placement.placement_rest import PlacementApi, rest_conf
from tests.fixtures.services.keystone import StandInKeystone
from tests.fixtures.stand_ins.stand_in import StandIn


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of an API that believes its callers."""
    return rest_conf(tmp_path)


@pytest.fixture(scope="session")
def lasting_api(tmp_path_factory: pytest.TempPathFactory) -> tuple[PlacementApi, StandIn]:
    """Return the API of all tests that need no other configuration, and the engine it asks."""
    stand_in = StandIn()
    conf = rest_conf(tmp_path_factory.mktemp("rest"))
    return PlacementApi(conf, cast("PlacementEngine", stand_in)), stand_in


@pytest.fixture
def api(lasting_api: tuple[PlacementApi, StandIn], engine: PlacementEngine) -> PlacementApi:
    """Return an API on empty tables."""
    api, stand_in = lasting_api
    stand_in.behind = engine
    return api


@pytest.fixture(scope="module")
def keystone() -> Iterator[StandInKeystone]:
    """Return a Keystone that knows some tokens."""
    with StandInKeystone().running() as keystone:
        yield keystone
