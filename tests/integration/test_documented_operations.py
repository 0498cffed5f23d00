"""The commands of pages for operators, typed as they stand, on a deployment of processes.

The files that the pages name are those of ``armillary-manage deploy``; here they are copies of the
deployment's own.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from programs.commands.app import URL_VARIABLE
from tests.fixtures.deployment import Deployment, deployed
from tests.fixtures.waiting import seconds
from tests.integration.test_documented_sessions import (
    BIN,
    COMMAND_SECONDS_MAX,
    OPERATIONS,
    lines_of,
    typed,
)

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

CELLS = {"cell1": {"agent-1": ["name=host-{1..2}:vcpus=8:memory_mb=16384:disk_gb=100"]}}
FILES = {
    "armillary-manage.conf": "super", "conductor.conf": "super", "cell1.conf": "cell1-conductor",
    "placement.conf": "placement",
}  # fmt: skip
"""File of /etc/armillary -> whose configuration it is."""


class Machine:
    """A shell with a folder in place of ``/etc/armillary``."""

    def __init__(self, deployment: Deployment, home: Path) -> None:
        self.home = home
        self.folder = home / "armillary"
        self.folder.mkdir()
        for name, process in FILES.items():
            shutil.copy(deployment.folder / f"{process}.conf", self.folder / name)
        self.environment = {
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home),
            "PATH": f"{BIN}:/usr/bin:/bin",
            URL_VARIABLE: deployment.api_url,
            "COLUMNS": "120",
        }

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line.replace("/etc/armillary", str(self.folder))],
            cwd=self.home, env=self.environment, capture_output=True, text=True, check=False,
            timeout=seconds(COMMAND_SECONDS_MAX),
        )  # fmt: skip


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("operations")
    with deployed(folder, CELLS, kind=Deployment) as made:
        yield made


@pytest.fixture
def machine(deployment: Deployment, tmp_path: Path) -> Machine:
    return Machine(deployment, tmp_path)


@pytest.mark.parametrize("page", OPERATIONS)
def test_the_commands_of_a_page_for_operators_work(page: str, machine: Machine) -> None:
    """In their order; nothing is wrong in this deployment, so each ends with 0 or its warning."""
    story = OPERATIONS[page]
    lines = lines_of(page, story)
    assert lines
    for line in lines:
        ran = machine.run(typed(line, story))
        expected = next((code for part, code in story.exit_codes.items() if part in line), 0)
        assert ran.returncode == expected, f"{line}\n{ran.stdout}{ran.stderr}"
        assert not re.search(r"Traceback", ran.stderr), ran.stderr
