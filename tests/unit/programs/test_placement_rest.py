"""The Placement REST API as a program, and as an application for any WSGI server."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from falcon import testing
from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from programs import placement_rest


@pytest.fixture(autouse=True)
def own_configuration(
    keep_logging: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Keep the usual places of files out, and leave the programs' configuration as it was."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    yield
    cfg.CONF.reset()
    cfg.CONF.clear()


def written(folder: Path, text: str = "") -> Path:
    path = folder / "placement.conf"
    path.write_text(f"[DEFAULT]\nstate_path = {folder}\n[placement]\n{text}")
    return path


def served(monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> dict[str, Any]:
    """Run the program up to where it would serve; return what it would serve with."""
    seen: dict[str, Any] = {}

    def serve(conf: cfg.ConfigOpts) -> int:
        seen.update(
            host=conf.placement.rest_bind_host,
            port=conf.placement.rest_bind_port,
            database=conf.placement_database.connection,
            make_tables=conf.placement_database.sync_on_startup,
        )
        return 0

    monkeypatch.setattr(placement_rest, "_serve", serve)
    assert placement_rest.run(*placement_rest.parse(arguments)) == 0
    return seen


def test_it_serves_what_is_configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are an operator's to make."""
    path = written(tmp_path, "rest_bind_host = ::1\nrest_bind_port = 1234\n")
    assert served(monkeypatch, [f"--config-file={path}"]) == {
        "host": "::1",
        "port": 1234,
        "database": f"sqlite:///{tmp_path}/placement.sqlite",
        "make_tables": False,
    }


def test_arguments_come_before_what_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory of the caller's own the tables are made."""
    arguments = ["--host", "localhost", "--port", "4321", "--state-dir", str(tmp_path / "own")]
    path = written(tmp_path, "rest_bind_port = 1234\n")
    assert served(monkeypatch, [*arguments, f"--config-file={path}"]) == {
        "host": "localhost",
        "port": 4321,
        "database": f"sqlite:///{tmp_path}/own/placement.sqlite",
        "make_tables": True,
    }


def test_a_mistake_in_a_file_is_one_line_and_78(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with all services."""
    path = written(tmp_path, "rest_threads = none\n")
    assert placement_rest.run(*placement_rest.parse([f"--config-file={path}"])) == 78
    assert capsys.readouterr().err.startswith("armillary-placement-rest: ")


def test_the_application_is_configured_by_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later file overrides an earlier one."""
    first = written(tmp_path, "prune_interval_seconds = 0\n")
    second = tmp_path / "second.conf"
    second.write_text("[api]\nauth_strategy = noauth2\n")
    monkeypatch.setenv("ARMILLARY_CONFIG_FILES", f"{first}{os.pathsep}{second}")
    database = Database(f"sqlite:///{tmp_path}/placement.sqlite", name="placement")
    database.sync("placement.db.schema")
    client = testing.TestClient(placement_rest.make_application(), headers={"Host": "localhost"})
    assert client.simulate_get("/healthcheck").json == {"status": "ok"}
    assert client.simulate_get("/traits").status_code == 401
    database.dispose()


def test_the_application_wants_the_tables_of_this_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Said when it is made, not to the first client."""
    monkeypatch.setenv("ARMILLARY_CONFIG_FILES", str(written(tmp_path)))
    with pytest.raises(exception.ConfigurationError, match="run armillary-manage db sync"):
        placement_rest.make_application()


def test_only_the_application_is_made_on_demand() -> None:
    """Other names are misspelt."""
    with pytest.raises(AttributeError, match="aplication"):
        _ = placement_rest.aplication
