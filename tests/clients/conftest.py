"""The deployment that all clients talk to."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from programs.demo.control_plane import ControlPlane


@pytest.fixture(scope="session")
def clouds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the ``clouds.yaml`` of a deployment with two simulated hosts."""
    folder = tmp_path_factory.mktemp("clients")
    os.environ["XDG_STATE_HOME"] = str(folder / "home")
    plane = ControlPlane(folder, ["name=sim-{1..2}:vcpus=8:memory_mb=8192:disk_gb=100"], "")
    plane.arguments.append("--no-process-host")
    plane.start()
    try:
        plane.wait_for_url(120)
        yield folder / "clouds.yaml"
    finally:
        plane.stop(30)
        del os.environ["XDG_STATE_HOME"]
