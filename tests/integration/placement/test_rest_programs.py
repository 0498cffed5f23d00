"""The Placement REST API without a broker: as a program of its own, and under a WSGI server."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import requests

from armillary.db import Database
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.services.ports import free_port
from tests.fixtures.waiting import seconds

pytestmark = pytest.mark.sampled_file(every=3)

PROGRAMS = Path(sys.executable).parent
SECONDS_MAX = 30
TOKEN = {"X-Auth-Token": "admin"}
PROVIDER = {"name": "p", "uuid": "8f2c0c1e-0f0a-4b41-a0fd-2a3d4f2b9f10"}


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[psutil.Popen]:
    """Run a program until the end of the block, from when it answers on its port."""
    process = psutil.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        wait_for(
            lambda: answers(port) or not process.is_running(),
            "it answers or ends",
            SECONDS_MAX,
            0.05,
        )
        yield process
    finally:
        with contextlib.suppress(psutil.NoSuchProcess):
            for one in [*process.children(recursive=True), process]:
                one.kill()
        process.wait(seconds(SECONDS_MAX))
        process.stderr.close()


def answers(port: int) -> bool:
    try:
        return requests.get(f"http://127.0.0.1:{port}/", timeout=waiting.seconds(5)).ok
    except requests.RequestException:
        return False


def names_of_providers(port: int) -> list[str]:
    """Make a provider unless there is one, and return the names of all."""
    url = f"http://127.0.0.1:{port}/resource_providers"
    requests.post(url, json=PROVIDER, headers=TOKEN, timeout=seconds(SECONDS_MAX))
    found = requests.get(url, headers=TOKEN, timeout=seconds(SECONDS_MAX)).json()
    return [provider["name"] for provider in found["resource_providers"]]


@pytest.fixture
def config_file(tmp_path: Path) -> Path:
    path = tmp_path / "placement.conf"
    path.write_text(f"[DEFAULT]\nstate_path = {tmp_path}\n[api]\nauth_strategy = noauth2\n")
    return path


@pytest.mark.parametrize("workers", [1, 2])
def test_the_program_serves_with_a_database_alone(
    workers: int, config_file: Path, tmp_path: Path
) -> None:
    """Which it makes; it ends soon when it is told to, with all that it started."""
    with config_file.open("a") as file:
        file.write(f"[placement]\nworkers = {workers}\n")
    port = free_port()
    command = [str(PROGRAMS / "armillary-placement-rest"), f"--port={port}"]
    command += [f"--state-dir={tmp_path}", f"--config-file={config_file}"]
    with running(command, port) as process:
        assert names_of_providers(port) == ["p"]
        children = process.children(recursive=True)
        assert len(children) == (0 if workers == 1 else workers)
        process.send_signal(signal.SIGTERM)
        assert process.wait(seconds(SECONDS_MAX)) == 0
        assert not any(child.is_running() for child in children)


def test_any_wsgi_server_can_serve_it(config_file: Path, tmp_path: Path) -> None:
    """The files are named by the environment; the tables are there already."""
    database = Database(f"sqlite:///{tmp_path}/placement.sqlite", name="placement")
    database.sync("placement.db.schema")
    database.dispose()
    port = free_port()
    command = [str(PROGRAMS / "gunicorn"), f"--bind=127.0.0.1:{port}", "--workers=2"]
    command += ["--threads=4", "programs.placement_rest:application"]
    with running(command, port, ARMILLARY_CONFIG_FILES=str(config_file)):
        assert names_of_providers(port) == ["p"]


def test_a_mistake_in_the_configuration_is_one_line_and_78(config_file: Path) -> None:
    """An API without authentication is for this machine alone."""
    command = [str(PROGRAMS / "armillary-placement-rest"), "--host=0.0.0.0", "--port=0"]
    command += [f"--config-file={config_file}"]
    ended = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=seconds(SECONDS_MAX)
    )
    assert ended.returncode == 78
    assert "would give every client that reaches it full access" in ended.stderr
