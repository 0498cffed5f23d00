"""A package of another maker is installed beside Armillary, and found by its name."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures import waiting

pytestmark = pytest.mark.sampled_tests(every=2)

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "tests" / "third_party_plugins"

PROGRAM = """
import json, sys
from tests.fleets import a_driver, scheduling_conf, some_hosts
from tests.unit.scheduler.drivers.drivers import select

filter_name, weigher_name = sys.argv[1:]
conf = scheduling_conf(
    filter_scheduler__enabled_filters=["ComputeFilter", filter_name],
    filter_scheduler__weight_classes=[weigher_name],
)
found = select(a_driver(some_hosts(6), conf=conf), count=2)
print(json.dumps({
    "hosts": [[each.service_host for each in row] for row in found.selections()],
    "reasons": found.trace.filters[-1]["reasons"],
    "shares": sorted(found.trace.choices[0]["shares"]),
}))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory into which the package was installed; nothing was downloaded for it."""
    folder = tmp_path_factory.mktemp("plugins")
    target = folder / "installed"
    subprocess.run(
        [
            *(sys.executable, "-W", "ignore", "-c", "import setuptools; setuptools.setup()", "-q"),
            *("build", f"--build-base={folder}/build"),
            *("install_lib", f"--install-dir={target}"),
            *("install_egg_info", f"--install-dir={target}"),
        ],
        cwd=shutil.copytree(PACKAGE, folder / "source"),
        check=True,
        capture_output=True,
        timeout=waiting.seconds(60),
    )
    return target


@pytest.mark.parametrize(
    ("filter_name", "weigher_name"),
    [
        ("EvenRackFilter", "LowRackWeigher"),
        (
            "acme_plugins.even_rack_filter.EvenRackFilter",
            "acme_plugins.low_rack_weigher:LowRackWeigher",
        ),
    ],
    ids=["by entry point", "by class path"],
)
def test_its_plugins_decide(installed: Path, filter_name: str, weigher_name: str) -> None:
    """In a process that knows no more of them than their names."""
    paths = [str(ROOT), str(installed), *filter(None, sys.path)]
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM, filter_name, weigher_name],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        cwd=installed,
        capture_output=True,
        text=True,
        timeout=waiting.seconds(60),
    )
    assert found.returncode == 0, found.stderr
    answer = json.loads(found.stdout)
    assert answer["hosts"][0] == ["host2", "host4", "host6"] or answer["hosts"] == [
        ["host2", "host6"], ["host2", "host6"],
    ]  # fmt: skip
    assert answer["shares"] == ["LowRackWeigher"]
    assert {"reason": "rack 1 is odd", "count": 1} in answer["reasons"]
