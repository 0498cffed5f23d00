"""A whole deployment restored to a point before some builds: what is found and corrected."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from programs.demo.control_plane import ControlPlane
from tests.fixtures.asking import Api, wait_for

pytestmark = pytest.mark.long

DATABASES = ("api", "cell0", "cell", "placement")
"""What a backup holds; the host's journal and guests are not in it, they live on."""
OPTIONS = "[compute]\nstray_guest_action = {stray}\nreconcile_interval_seconds = 1\n"


@contextlib.contextmanager
def running(folder: Path, stray: str = "destroy") -> Iterator[Api]:
    """Run the deployment of a directory with two simulated hosts."""
    hosts = ["name=sim-{1..2}:vcpus=8:memory_mb=8192:disk_gb=100"]
    plane = ControlPlane(folder, hosts, OPTIONS.format(stray=stray))
    plane.arguments.append("--no-process-host")
    plane.start()
    try:
        url = plane.wait_for_url(120)
        session = requests.Session()
        session.headers["X-Auth-Token"] = (folder / "api-token").read_text().strip()
        api = Api(url, session)
        wait_for(lambda: api.up_hosts() == 2, "both hosts are up")
        yield api
    finally:
        plane.stop(30)
        (folder / "api-url").unlink(missing_ok=True)


def files(folder: Path) -> list[Path]:
    return [file for name in DATABASES for file in folder.glob(f"{name}.sqlite*")]


def status_of(api: Api, server_id: str) -> str | None:
    return next((one["status"] for one in api.servers() if one["id"] == server_id), None)


def test_a_deployment_is_restored_to_a_point_before_some_builds(tmp_path: Path) -> None:
    """Later servers are found on their host, deleted ones are back without a guest."""
    state, backup = tmp_path / "state", tmp_path / "backup"
    state.mkdir()
    backup.mkdir()
    with running(state) as api:
        flavor = api.create_flavor("tiny", vcpus=1, ram=64)
        kept, deleted = api.create_servers(flavor, 2)
        assert {each["status"] for each in api.settled([kept, deleted]).values()} == {"ACTIVE"}
    for file in files(state):
        shutil.copy2(file, backup)
    with running(state) as api:
        assert api.request("DELETE", f"/servers/{deleted}").status_code == 204
        (late,) = api.create_servers(flavor, 1)
        assert api.settled([late])[late]["status"] == "ACTIVE"
        wait_for(lambda: status_of(api, deleted) is None, "the server is gone")
    for file in files(state):
        file.unlink()
    for file in backup.iterdir():
        shutil.copy2(file, state)

    with running(state, stray="keep") as api:
        log = state / "armillary-up.log"
        wait_for(lambda: status_of(api, deleted) == "SHUTOFF", "the deleted one is back, off")
        wait_for(
            lambda: any(late in line and "kept" in line for line in log.read_text().splitlines()),
            "the later one is found and kept",
        )
        assert status_of(api, late) is None
        assert status_of(api, kept) == "ACTIVE"
        assert set(api.allocations()) == {kept, deleted}
        assert api.request("DELETE", f"/servers/{deleted}").status_code == 204
        wait_for(lambda: set(api.allocations()) == {kept}, "its allocation is released")

    with running(state) as api:
        wait_for(
            lambda: any(
                late in line and "destroying" in line for line in log.read_text().splitlines()
            ),
            "the later one is destroyed",
        )
        (new,) = api.create_servers(flavor, 1)
        assert api.settled([new])[new]["status"] == "ACTIVE"
        assert status_of(api, kept) == "ACTIVE"
