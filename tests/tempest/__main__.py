"""Run Tempest's compute tests against ``armillary up``; print figures and causes of failures.

The identity and image services are Armillary's own; the network service is a stand-in.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from api.versions import MICROVERSIONS
from armillary.http.microversion import to_text
from tests.tempest import outcome, settings
from tests.tempest.network_stand_in import NetworkStandIn

ALL_TESTS = r"^tempest\.api\.compute"
START_SECONDS_MAX = 120
HOSTS = f"name=sim-{{1..{settings.HOSTS}}}:vcpus=16:memory_mb=65536:disk_gb=500"


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
        with NetworkStandIn().running() as network, _armillary(folder, network.url) as api_url:
            _prepare(api_url)
            found = _run(arguments, folder, api_url)
    finally:
        if arguments.keep:
            shutil.copytree(folder, arguments.keep, dirs_exist_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
    for line in (*outcome.causes(found), outcome.counts(found)):
        sys.stdout.write(f"{line}\n")
    passed = sum(each.status == outcome.PASSED for each in found.values())
    return 0 if passed >= arguments.at_least else 1


@contextmanager
def _armillary(folder: Path, network_url: str) -> Iterator[str]:
    """Lend the address of a running deployment."""
    settings.write_token_file(folder / "tokens.yaml")
    configuration = folder / "armillary.conf"
    configuration.write_text(settings.armillary_conf(folder / "tokens.yaml", network_url))
    state_dir = folder / "state"
    command = [
        sys.executable, "-W", "ignore", "-m", "programs.client", "up", "--port=0",
        f"--state-dir={state_dir}", f"--config-file={configuration}", "--no-process-host",
        f"--simulated={HOSTS}",
    ]  # fmt: skip
    with (folder / "armillary.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + START_SECONDS_MAX
        while not (state_dir / "api-url").exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit((folder / "armillary.log").read_text()[-2000:])
            time.sleep(0.2)
        yield (state_dir / "api-url").read_text().strip()
    finally:
        process.terminate()
        process.wait()


def _prepare(api_url: str) -> None:
    """Make the flavors and images that the tests build servers from."""
    user, project, _roles = settings.ADMIN
    who = {"name": user, "domain": {"id": "default"}, "password": settings.PASSWORD}
    scope: dict[str, Any] = {"project": {"name": project, "domain": {"id": "default"}}}
    identity: dict[str, Any] = {"methods": ["password"], "password": {"user": who}}
    login = requests.post(
        f"{api_url}/identity/v3/auth/tokens",
        json={"auth": {"identity": identity, "scope": scope}},
        timeout=60,
    )
    login.raise_for_status()
    session = requests.Session()
    session.headers["X-Auth-Token"] = login.headers["X-Subject-Token"]
    for flavor_id, (name, ram) in settings.FLAVORS.items():
        flavor: dict[str, Any] = {"id": flavor_id, "name": name, "vcpus": 1, "ram": ram, "disk": 1}
        session.post(f"{api_url}/v2.1/flavors", json={"flavor": flavor}).raise_for_status()
    for number, image_id in enumerate(settings.IMAGES, 1):
        image = {
            "id": image_id, "name": f"cirros-{number}", "visibility": "public",
            "disk_format": "qcow2", "container_format": "bare", "img_hv_type": "simulated",
        }  # fmt: skip
        session.post(f"{api_url}/image/v2/images", json=image).raise_for_status()
        session.put(
            f"{api_url}/image/v2/images/{image_id}/file",
            data=b"\0" * 65536,
            headers={"Content-Type": "application/octet-stream"},
        ).raise_for_status()


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
