"""Completion in shells."""

import io
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from objects.hosts.host_answers import AvailabilityZone
from objects.zones.zone_status import ZoneStatus
from programs.commands import completion
from programs.commands.app import ClientApp
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture
def app(url: str, conductor: BuildingSuperConductor) -> ClientApp:
    """Return the program with an API that knows a server, a flavor and a host."""
    conductor.servers.append(builders.an_instance("web-1", project_id="admin"))
    conductor.flavors.append(builders.a_flavor("small"))
    conductor.services.append(builders.a_service("host1"))
    conductor.nodes.append(builders.a_compute_node("host1"))
    conductor.zones.append(AvailabilityZone("north", {}))
    conductor.child_zones.append(ZoneStatus("eu", "offline"))
    return ClientApp(io.StringIO(), io.StringIO(), {"ARMILLARY_API_URL": url})


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ser", {"server", "service"}),
        ("server resize c", {"confirm"}),
        ("server mi", {"migrate", "migration"}),
        ("server show ", {"web-1"}),
        ("server stop web-1 w", {"web-1"}),
        ("server migrate --live web-1 --host ", {"host1"}),
        ("server create --flavor s", {"small"}),
        ("server migrate --li", {"--live", "--live-migration"}),
        ("flavor show sm", {"small"}),
        ("host show h", {"host1"}),
        ("compute service set h", {"host1"}),
        ("server create --availability-zone ", {"north"}),
        ("aggregate create --zone ", {"north"}),
        ("zone show ", {"eu"}),
        ("server list --status ERR", {"ERROR"}),
        ("-q server show w", {"web-1"}),
        ("--ap", {"--api-url"}),
        ("server create --flavor=s", {"--flavor=small"}),
        ("nothing ", set()),
        ("server show web-1 ", set()),
    ],
)
def test_words_are_completed(line: str, found: set[str], app: ClientApp) -> None:
    """Commands and options as they are declared, names as the API has them."""
    assert set(completion.complete(line.split(" "), app)) == found


def test_an_api_that_is_away_has_no_names() -> None:
    """The shell gets no error."""
    app = ClientApp(io.StringIO(), io.StringIO(), {"ARMILLARY_API_URL": "http://127.0.0.1:1"})
    assert completion.complete(["server", "show", ""], app) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str, armillary: Armillary, tmp_path: Path) -> None:
    """Which the shell takes, where it is installed."""
    script = armillary("completion", shell).out
    assert "armillary __complete" in script
    if shutil.which(shell):
        path = tmp_path / "script"
        path.write_text(script)
        subprocess.run([str(shutil.which(shell)), "-n", str(path)], check=True)


def bash(script: str, text: str, *, program: str, folder: Path) -> str:
    """Return the output of bash after the script, in a folder with a program ``armillary``."""
    path = folder / "armillary"
    path.write_text(f"#!/bin/sh\n{program}\n")
    path.chmod(0o755)
    ended = subprocess.run(
        ["bash", "-c", script + text], check=True, capture_output=True, text=True, cwd=folder,
        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"},
    )  # fmt: skip
    return ended.stdout


@pytest.mark.parametrize(
    "name", ["$(touch made)", "`touch made`", "a;touch made", "a b", "*", "it's", "a\\", "~", "é"]
)
def test_a_completed_name_runs_nothing(name: str, armillary: Armillary, tmp_path: Path) -> None:
    """It is one word of the line that bash makes, and the name."""
    said = bash(
        armillary("completion", "bash").out,
        "COMP_LINE='armillary server show '; COMP_POINT=${#COMP_LINE}; _armillary\n"
        'eval "set -- ${COMPREPLY[0]}"; printf "%s|%s" "$#" "$1"',
        program=f"printf '%s\\n' {shlex.quote(name)}",
        folder=tmp_path,
    )
    assert said == f"1|{name}"
    assert not (tmp_path / "made").exists()


def test_bash_completes_a_command(armillary: Armillary, tmp_path: Path) -> None:
    """The script asks the program that is installed; words with ":" and "=" stay whole."""
    said = bash(
        armillary("completion", "bash").out,
        "for COMP_LINE in 'armillary server ev' 'armillary group create g --policy=soft-s'; do "
        "COMP_POINT=${#COMP_LINE}; _armillary; echo ${COMPREPLY[@]}; done",
        program=f'cd {Path.cwd()} && exec {sys.executable} -m programs.client "$@"',
        folder=tmp_path,
    )
    assert said.split() == ["evacuate", "event", "events", "soft-spread"]
