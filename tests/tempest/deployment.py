"""A deployment for Tempest: ``armillary up`` with simulated hosts, flavors and images."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.fixtures import waiting
from tests.fixtures.waiting import Deadline
from tests.tempest import settings

START_SECONDS_MAX = 120
HOSTS = f"name=sim-{{1..{settings.HOSTS}}}:vcpus=16:memory_mb=65536:disk_gb=500"


@contextmanager
def armillary(folder: Path, network_url: str) -> Iterator[str]:
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
        deadline = Deadline(START_SECONDS_MAX)
        while not (state_dir / "api-url").exists():
            if process.poll() is not None or deadline.has_passed:
                raise SystemExit((folder / "armillary.log").read_text()[-2000:])
            time.sleep(0.2)
        yield (state_dir / "api-url").read_text().strip()
    finally:
        process.terminate()
        process.wait()


def prepare(api_url: str) -> None:
    """Make the flavors and images that the tests build servers from."""
    user, project, _roles = settings.ADMIN
    who = {"name": user, "domain": {"id": "default"}, "password": settings.PASSWORD}
    scope: dict[str, Any] = {"project": {"name": project, "domain": {"id": "default"}}}
    identity: dict[str, Any] = {"methods": ["password"], "password": {"user": who}}
    login = requests.post(
        f"{api_url}/identity/v3/auth/tokens",
        json={"auth": {"identity": identity, "scope": scope}},
        timeout=waiting.seconds(60),
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
