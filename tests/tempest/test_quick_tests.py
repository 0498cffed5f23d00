"""Tempest's tests of the Compute API, unchanged: quick ones of each kind, on one deployment."""

import json
import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from api.versions import MICROVERSIONS
from armillary.http.microversion import to_text
from tests.fixtures.services import leave_out
from tests.tempest import deployment, outcome, settings
from tests.tempest.network_stand_in import NetworkStandIn

pytestmark = pytest.mark.sampled_file(every=3)

TESTS = (Path(__file__).parent / "quick_tests.txt").read_text().split()
READER = Path(__file__).parent / "read_subunit.py"
VENV_VARIABLE = "ARMILLARY_TEMPEST"
"""Environment variable with the path of an environment that has Tempest."""


@pytest.fixture
def programs() -> Path:
    """Return the directory with Tempest's Python."""
    folder = Path(os.environ.get(VENV_VARIABLE, "")).absolute() / "bin"
    if not (folder / "tempest").exists():
        leave_out("Tempest", f"{VENV_VARIABLE} names no environment that has it")
    return folder


def test_tempests_quick_tests_pass(programs: Path, tmp_path: Path) -> None:
    """Each of them, in one process, which imports no other tests."""
    with (
        NetworkStandIn().running() as network,
        deployment.armillary(tmp_path, network.url) as api_url,
    ):
        deployment.prepare(api_url)
        settings.write_accounts(tmp_path / "accounts.yaml")
        newest = to_text(MICROVERSIONS.maximum)
        conf = settings.tempest_conf(tmp_path, f"{api_url}/identity/v3", newest)
        (tmp_path / "tempest.conf").write_text(conf)
        environment = {**os.environ, "TEMPEST_CONFIG": str(tmp_path / "tempest.conf")}
        stream = subprocess.run(
            [str(programs / "python"), "-m", "subunit.run", *TESTS],
            cwd=tmp_path, env=environment, stdout=subprocess.PIPE, check=False,
        ).stdout  # fmt: skip
    (tmp_path / "outcome.subunit").write_bytes(stream)
    read = [str(programs / "python"), str(READER), str(tmp_path / "outcome.subunit")]
    found = json.loads(subprocess.run(read, stdout=subprocess.PIPE, check=True).stdout)
    by_test = outcome.by_test([outcome.Found(**each) for each in found], TESTS)
    assert outcome.causes(by_test) == []
    assert Counter(each.status for each in by_test.values()) == {outcome.PASSED: len(TESTS)}
