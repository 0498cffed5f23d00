"""``armillary up``: its options become a configuration, its tables and its cell are made once."""

import logging
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from armillary.db import Database
from armillary.identity.token_file import TokenFile
from armillary.service import Factory
from conductor.super_conductor.db import cells
from programs import up, up_checks
from programs.access import own_token

pytestmark = pytest.mark.sampled_tests(every=3)

HOST = "name=a:vcpus=1:memory_mb=64:disk_gb=1"


@pytest.fixture(autouse=True)
def own_configuration(
    keep_logging: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Keep the usual places of files out, and leave the programs' configuration as it was."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    yield
    cfg.CONF.reset()
    cfg.CONF.clear()


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that goes as far as running the services, and returns their names."""
    begun: list[str] = []

    def run_in_process(
        _conf: cfg.ConfigOpts, services: list[tuple[str, Factory]], **_more: Any
    ) -> int:
        begun.extend(name for name, _factory in services)
        return 0

    monkeypatch.setattr(up, "run_in_process", run_in_process)

    def begin(*arguments: str) -> tuple[int, list[str]]:
        begun.clear()
        directory = str(tmp_path / "state")
        return up.main(["--state-dir", directory, "--port", "0", *arguments]), list(begun)

    return begin


def test_all_services_run_and_the_api_last(begin: Any) -> None:
    """A client that finds the API finds the rest, too."""
    code, names = begin()
    assert code == 0
    assert names.pop() == "api"
    assert sorted(names) == [
        "cell conductor", "compute agent", "placement", "scheduler", "super conductor",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "drivers"),
    [
        ([], ["process"]),
        (["--simulated", HOST], ["process", "simulated"]),
        (["--simulated", HOST, "--no-process-host"], ["simulated"]),
    ],
    ids=["plain", "both", "simulated"],
)
def test_this_machine_is_a_host_unless_told_otherwise(
    arguments: list[str], drivers: list[str], begin: Any
) -> None:
    """Simulated hosts come beside it."""
    begin(*arguments)
    assert cfg.CONF.compute.driver == drivers


@pytest.mark.parametrize(
    ("arguments", "drivers"),
    [
        ([], ["libvirt"]),
        (["--simulated", HOST], ["libvirt", "simulated"]),
        (["--no-process-host"], ["libvirt"]),
    ],
    ids=["plain", "simulated", "no-process-host"],
)
def test_the_driver_of_a_configuration_file_is_run(
    arguments: list[str], drivers: list[str], begin: Any, tmp_path: Path
) -> None:
    """Not processes instead of virtual machines: what runs is what was asked for, or nothing."""
    path = tmp_path / "compute.conf"
    path.write_text("[compute]\ndriver = libvirt\n")
    begin("--config-file", str(path), *arguments)
    assert cfg.CONF.compute.driver == drivers


def test_no_host_at_all_is_a_mistake(begin: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """One line and 78, as for any service."""
    code, names = begin("--no-process-host")
    assert (code, names) == (78, [])
    said = capsys.readouterr().err
    assert said.startswith("armillary up: ")
    assert said.count("\n") == 1


def test_a_second_start_finds_what_the_first_made(begin: Any, tmp_path: Path) -> None:
    """One cell, with the UUID that was chosen once."""
    begin()
    first = cfg.CONF.cell.uuid
    cfg.CONF.reset()
    assert begin()[0] == 0
    database = Database(f"sqlite:///{tmp_path}/state/api.sqlite", name="API")
    with database.reader() as session:
        assert [(cell.uuid, cell.name) for cell in cells.list_cells(session)] == [(first, "cell1")]
    database.dispose()


def test_a_configuration_file_wins_over_the_embedded_defaults(begin: Any, tmp_path: Path) -> None:
    """A port on the command line wins over both."""
    path = tmp_path / "more.conf"
    path.write_text("[quota]\ninstances = 7\n[api]\nbind_port = 1\n")
    begin("--config-file", str(path), "--port", "0")
    assert (cfg.CONF.quota.instances, cfg.CONF.quota.cores, cfg.CONF.api.bind_port) == (7, -1, 0)


@pytest.mark.parametrize(("arguments", "level"), [([], "INFO"), (["--quiet"], "WARNING")])
def test_quiet_logs_warnings_only(arguments: list[str], level: str, begin: Any) -> None:
    """Else what every service does is told."""
    begin(*arguments)
    assert logging.getLevelName(logging.getLogger().level) == level


def test_each_start_makes_a_token_for_this_user_alone(begin: Any, tmp_path: Path) -> None:
    """Only its hash is in the configuration; the token of an earlier start is worth nothing."""
    tokens = set()
    for _ in range(2):
        begin()
        assert cfg.CONF.api.auth_strategy == "token_file"
        path = tmp_path / "state" / own_token.TOKEN_FILE
        assert path.stat().st_mode & 0o777 == 0o600
        tokens.add(path.read_text().strip())
        found = TokenFile(Path(cfg.CONF.api.token_file)).find(path.read_text().strip())
        assert found is not None
        assert found.identity.roles == ("admin",)
        cfg.CONF.reset()
        cfg.CONF.clear()
    assert len(tokens) == 2


@pytest.mark.parametrize(
    "options",
    ["auth_strategy = noauth", "token_file = /etc/tokens.yaml"],
    ids=["no tokens", "own tokens"],
)
def test_the_operator_may_choose_other_tokens(options: str, begin: Any, tmp_path: Path) -> None:
    path = tmp_path / "more.conf"
    path.write_text(f"[api]\n{options}\n")
    begin("--config-file", str(path))
    assert not (tmp_path / "state" / own_token.TOKEN_FILE).exists()


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--simulated", "name=a"], "[simulated] hosts"),
        (["--port", "TAKEN"], "cannot be used for the API: Address already in use; give another"),
        (["--state-dir", "FILE"], "cannot be used: File exists; give another one"),
        (["--state-dir", "FILE/below"], "cannot be used: Not a directory; give another one"),
    ],
    ids=["hosts", "port", "file", "below"],
)
def test_what_cannot_work_is_refused_before_anything_is_made(
    arguments: list[str], text: str, begin: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that says what to do."""
    file = tmp_path / "file"
    file.touch()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        names = {"TAKEN": str(taken.getsockname()[1])}
        words = [names.get(word, word).replace("FILE", str(file)) for word in arguments]
        code, names_begun = begin(*words)
    assert (code, names_begun) == (78, [])
    said = capsys.readouterr().err
    assert (said.count("\n"), text in said) == (1, True), said
    assert not (tmp_path / "state").exists()


def test_a_state_directory_has_one_user_at_a_time(
    begin: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two would replace each other's tokens; after the first has ended the second may."""
    with up_checks.state_directory(tmp_path / "state"):
        assert begin()[0] == 78
        assert f"used by another 'armillary up' (process {os.getpid()})" in capsys.readouterr().err
    assert begin()[0] == 0
    assert f"To continue: armillary up --state-dir {tmp_path}/state" in capsys.readouterr().err
