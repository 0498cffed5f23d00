"""Run Tempest's compute tests against ``armillary up``; print figures and causes of failures.

The identity and image services are Armillary's own; the network service is a stand-in.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from api.versions import MICROVERSIONS
from armillary.http.microversion import to_text
from tests.tempest import deployment, outcome, settings
from tests.tempest.network_stand_in import NetworkStandIn

ALL_TESTS = r"^tempest\.api\.compute"


def main() -> int:
    """Return 0 if at least as many tests passed as asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.tempest", description=__doc__)
    parser.add_argument("--venv", type=Path, required=True, help="environment with Tempest")
    parser.add_argument("--regex", default=ALL_TESTS, help="tests to run (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="tests at the same time")
    parser.add_argument("--at-least", type=int, default=0, help="number of tests that must pass")
    parser.add_argument("--keep", type=Path, help="directory for logs and outcome.json")
    parser.add_argument("--microversion", default=to_text(MICROVERSIONS.maximum))
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="armillary-tempest-"))
    try:
        with (
            NetworkStandIn().running() as network,
            deployment.armillary(folder, network.url) as api_url,
        ):
            deployment.prepare(api_url)
            found = _run(arguments, folder, api_url)
    finally:
        if arguments.keep:
            shutil.copytree(folder, arguments.keep, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    for line in (*outcome.causes(found), outcome.counts(found)):
        sys.stdout.write(f"{line}\n")
    passed = sum(each.status == outcome.PASSED for each in found.values())
    return 0 if passed >= arguments.at_least else 1


def _run(arguments: argparse.Namespace, folder: Path, api_url: str) -> dict[str, outcome.Found]:
    """Run the tests; return what became of each."""
    programs, workspace = arguments.venv.absolute() / "bin", folder / "workspace"
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def tempest(program: str, *words: str | Path) -> bytes:
        command = [str(programs / program), *map(str, words)]
        is_there = workspace.exists()
        return subprocess.run(
            command, cwd=workspace if is_there else folder, env=environment, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        ).stdout  # fmt: skip

    tempest("tempest", "init", workspace)
    settings.write_accounts(folder / "accounts.yaml")
    conf = settings.tempest_conf(folder, f"{api_url}/identity/v3", arguments.microversion)
    (workspace / "etc" / "tempest.conf").write_text(conf)
    listed = tempest("tempest", "run", "--list-tests", "--regex", arguments.regex).decode()
    known = [line.partition("[")[0] for line in listed.split() if line.startswith("tempest.")]
    tempest("tempest", "run", "--regex", arguments.regex, "--concurrency", str(arguments.jobs))
    (folder / "outcome.subunit").write_bytes(tempest("stestr", "last", "--subunit"))
    reader = Path(__file__).parent / "read_subunit.py"
    found = json.loads(tempest("python", reader, folder / "outcome.subunit"))
    (folder / "outcome.json").write_text(json.dumps(found, indent=1))
    return outcome.by_test([outcome.Found(**each) for each in found], known)


if __name__ == "__main__":
    sys.exit(main())
