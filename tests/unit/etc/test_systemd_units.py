"""The systemd units are accepted by systemd and say what our services rely on."""

import configparser
import os
import shutil
import subprocess
from pathlib import Path

import pytest

UNITS = sorted(Path(__file__).parents[3].joinpath("etc", "systemd").glob("*.service"))


def the_service_section(unit):
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str
    parser.read(unit)
    return dict(parser["Service"])


def test_there_is_a_unit_for_every_service():
    """Six programs, of which the conductor comes in two roles and placement also as REST alone."""
    assert [unit.name for unit in UNITS] == [
        "armillary-api.service",
        "armillary-cell-conductor@.service",
        "armillary-compute.service",
        "armillary-conductor.service",
        "armillary-placement-rest.service",
        "armillary-placement.service",
        "armillary-scheduler@.service",
        "armillary-serialproxy.service",
    ]


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None and os.environ.get("CI") != "true",
    reason="systemd is not installed",
)
@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_accepts_the_unit(unit, tmp_path):
    """``systemd-analyze verify`` finds nothing to say about our file."""
    text = unit.read_text().replace("/opt/armillary/bin/", "/bin/true #")
    copy = tmp_path / unit.name.replace("@.", "@1.")
    copy.write_text(text)
    result = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    ours = [line for line in result.stderr.splitlines() if "armillary" in line]
    assert ours == []


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_the_service_notifies_is_watched_and_comes_back(unit):
    """Readiness, a watchdog, and a restart after kill -9 are what recovery counts on.

    The proxy of serial consoles holds no state and is ready with its first connection.
    """
    section = the_service_section(unit)
    if unit.name != "armillary-serialproxy.service":
        assert section["Type"] == "notify"
        assert "gunicorn" in section["ExecStart"] or int(section["WatchdogSec"]) > 0
    assert section["Restart"] == "always"
    assert section["NoNewPrivileges"] == "yes"


def test_workloads_outlive_their_agent():
    """Stopping the agent stops the agent alone."""
    (unit,) = (unit for unit in UNITS if unit.name == "armillary-compute.service")
    assert the_service_section(unit)["KillMode"] == "process"
