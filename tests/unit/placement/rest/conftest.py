"""What the tests of the Placement REST API share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from placement.engine import PlacementEngine
from tests.fixtures.keystone import StandInKeystone
from tests.fixtures.placement_rest import PlacementApi, rest_conf


@pytest.fixture
def conf(tmp_path: Path) -> cfg.ConfigOpts:
    """Return the configuration of an API that believes its callers."""
    return rest_conf(tmp_path)


@pytest.fixture
def api(conf: cfg.ConfigOpts, engine: PlacementEngine) -> PlacementApi:
    """Return an API on empty tables."""
    return PlacementApi(conf, engine)


@pytest.fixture(scope="module")
def keystone() -> Iterator[StandInKeystone]:
    """Return a Keystone that knows some tokens."""
    with StandInKeystone().running() as keystone:
        yield keystone
