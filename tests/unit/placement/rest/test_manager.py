"""Placement as REST alone: when it starts, where it listens, and what it does beside."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from falcon import testing
from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from placement.db.preparation import SCHEMA
from placement.rest import manager
from placement.rest.manager import RestManager
from tests.fixtures.placement.placement_rest import rest_conf

NOWHERE = "postgresql+psycopg2://127.0.0.1:1/placement"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Return a database without tables."""
    database = Database(f"sqlite:///{tmp_path}/placement.sqlite", name="placement")
    yield database
    database.dispose()


def a_manager(conf: cfg.ConfigOpts, database: Database) -> RestManager:
    return RestManager(conf, database=database, reuse_port=False)


def test_tables_are_made_when_asked_for(tmp_path: Path, database: Database) -> None:
    """An option says so; a second start finds them made."""
    conf = rest_conf(tmp_path, placement_database={"sync_on_startup": "true"})
    for _ in range(2):
        a_manager(conf, database).start()
    assert database.current_version(SCHEMA) == database.head_version(SCHEMA)


def test_tables_are_an_operators_to_make(conf: cfg.ConfigOpts, database: Database) -> None:
    """The line says how."""
    with pytest.raises(exception.ConfigurationError, match="run armillary-manage db sync"):
        a_manager(conf, database).start()


def test_a_stopped_service_waits_no_longer_for_the_database(conf: cfg.ConfigOpts) -> None:
    """No other process would end it."""
    waiting = a_manager(conf, Database(NOWHERE, name="placement"))
    waiting.stop(0.0)
    waiting.start()


@pytest.mark.parametrize("strategy", ["noauth", "noauth2"])
def test_who_asks_for_no_proof_listens_to_this_machine_alone(
    strategy: str, tmp_path: Path, database: Database
) -> None:
    """Else everybody on the network could do everything."""
    conf = rest_conf(
        tmp_path, api={"auth_strategy": strategy}, placement={"rest_bind_host": "0.0.0.0"}
    )
    with pytest.raises(
        exception.ConfigurationError, match=r"0\.0\.0\.0 .* would give every client"
    ):
        a_manager(conf, database)


def test_who_asks_for_tokens_may_listen_to_everybody(tmp_path: Path, database: Database) -> None:
    """They are checked."""
    (tmp_path / "tokens.yaml").write_text("tokens: []\n")
    api = {"auth_strategy": "token_file", "token_file": str(tmp_path / "tokens.yaml")}
    conf = rest_conf(tmp_path, api=api, placement={"rest_bind_host": "0.0.0.0"})
    a_manager(conf, database)


def test_it_forgets_from_time_to_time(conf: cfg.ConfigOpts, database: Database) -> None:
    """As placement with RPC does."""
    (task,) = a_manager(conf, database).periodic_tasks()
    assert task.interval_seconds == conf.placement.prune_interval_seconds


def test_the_application_of_a_database_that_is_away_says_so(
    conf: cfg.ConfigOpts, caplog: pytest.LogCaptureFixture
) -> None:
    """It may come back; until then requests are answered with status 503."""
    conf.set_override("prune_interval_seconds", 0, group="placement")
    with caplog.at_level(logging.WARNING):
        app = manager.make_standalone_app(conf, Database(NOWHERE, name="placement"))
    assert "Requests are answered with status 503 for now" in caplog.text
    client = testing.TestClient(app)
    assert client.simulate_get("/healthcheck", headers={"Host": "localhost"}).status_code == 503


def test_the_application_refuses_web_pages_of_other_hosts(conf: cfg.ConfigOpts) -> None:
    """Without authentication a page could otherwise use it through DNS rebinding."""
    conf.set_override("prune_interval_seconds", 0, group="placement")
    app = manager.make_standalone_app(conf, Database(NOWHERE, name="placement"))
    answer = testing.TestClient(app).simulate_get("/traits", headers={"Host": "evil.example"})
    assert answer.status_code == 403
