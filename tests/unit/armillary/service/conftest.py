"""Fixtures of the tests of launched services."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures import waiting
from tests.fixtures.programs.python_programs import Program, StartProgram
from tests.unit.armillary.service.programs import CODE, Systemd


@pytest.fixture(params=["threading", "eventlet"])
def backend(request: pytest.FixtureRequest) -> str:
    """Return each concurrency backend in turn."""
    return str(request.param)


@pytest.fixture
def options(tmp_path: Path) -> Path:
    """Return the service's configuration file."""
    path = tmp_path / "a.conf"
    patience = round(waiting.seconds(20))  # workers of a busy machine take long to start and end
    path.write_text(f"[DEFAULT]\nservice_down_time = 61\ngraceful_shutdown_timeout = {patience}\n")
    return path


@pytest.fixture
def launch(backend: str, options: Path, fork_program: StartProgram) -> StartProgram:
    """Return a function that starts the sample service with some environment."""

    def launch(**environment: str) -> Program:
        return fork_program(
            CODE, f"--config-file={options}", ARMILLARY_CONCURRENCY_BACKEND=backend, **environment
        )

    return launch


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[Systemd]:
    """Return a systemd that listens."""
    systemd = Systemd(tmp_path / "notify")
    yield systemd
    systemd.close()
