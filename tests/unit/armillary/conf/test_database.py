"""Each database has its section, and the embedded set-up its files."""

import pytest
from oslo_config import cfg

from armillary.conf import base, database
from armillary.db import Database
from tests.fixtures.configuration import parsed_conf


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = parsed_conf(base, database)
    conf.set_override("state_path", "/state")
    return conf


def test_each_database_has_a_file_of_its_own_by_default(conf: cfg.ConfigOpts) -> None:
    """They follow the state path."""
    urls = [conf[group].connection for group, _file, _what in database.DATABASES]
    assert urls == [f"sqlite:////state/{n}.sqlite" for n in ("api", "cell", "cell0", "placement")]


def test_a_section_makes_a_database(conf: cfg.ConfigOpts) -> None:
    """Every option arrives."""
    values = {
        "connection": "postgresql://u@h/x",
        "max_pool_size": 1,
        "max_overflow": 2,
        "pool_timeout": 3,
        "connection_recycle_time": 4,
        "max_retries": 5,
        "sqlite_busy_timeout": 6,
    }
    for name, value in values.items():
        conf.set_override(name, value, group="api_database")
    made = Database.from_conf(conf.api_database, name="api").options
    assert [
        made.max_pool_size,
        made.max_overflow,
        made.pool_timeout_seconds,
        made.connection_recycle_seconds,
        made.max_retries,
        made.sqlite_busy_timeout_seconds,
    ] == [1, 2, 3, 4, 5, 6]


def test_a_connection_is_a_secret(conf: cfg.ConfigOpts) -> None:
    """It holds a password, and oslo.config hides secrets when it logs all values."""
    assert all(o.secret for g in database.OPTIONS.values() for o in g if o.name == "connection")
