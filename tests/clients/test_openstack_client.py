"""``openstack --os-cloud armillary``: what a newcomer types after ``armillary up``."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from programs.demo.control_plane import ControlPlane

ENVIRONMENT = Path(os.environ.get("ARMILLARY_CLIENTS", ".venv/clients")).absolute()
PROGRAM = ENVIRONMENT / "bin" / "openstack"

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not PROGRAM.exists() and os.environ.get("CI") != "true",
        reason="no OpenStack client; see `make clients`",
    ),
]


class Cloud:
    """Runs the client with the ``clouds.yaml`` that ``armillary up`` wrote."""

    def __init__(self, clouds: Path) -> None:
        self._environment = {**os.environ, "OS_CLIENT_CONFIG_FILE": str(clouds)}

    def run(self, *words: str) -> str:
        """Return the output. Fails with the client's message."""
        return self._output([str(PROGRAM), "--os-cloud", "armillary", *words])

    def python(self, code: str) -> str:
        """Return what code prints that uses the SDK."""
        return self._output([str(ENVIRONMENT / "bin" / "python"), "-c", f"import openstack;{code}"])

    def _output(self, command: list[str]) -> str:
        ended = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert ended.returncode == 0, f"{' '.join(command)}: {ended.stderr[-2000:]}"
        return ended.stdout

    def show(self, *words: str) -> Any:
        """Return the output as what its JSON says."""
        return json.loads(self.run(*words, "-f", "json"))

    def names(self, *words: str) -> set[str]:
        return {row["Name"] for row in self.show(*words)}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    """Return the client's view of a deployment with two simulated hosts."""
    folder = tmp_path_factory.mktemp("clients")
    os.environ["XDG_STATE_HOME"] = str(folder / "home")
    plane = ControlPlane(folder, ["name=sim-{1..2}:vcpus=8:memory_mb=8192:disk_gb=100"], "")
    plane.arguments.append("--no-process-host")
    plane.start()
    try:
        plane.wait_for_url(120)
        yield Cloud(folder / "clouds.yaml")
    finally:
        plane.stop(30)
        del os.environ["XDG_STATE_HOME"]


def test_a_login_finds_all_services(cloud: Cloud) -> None:
    """A token, the catalogue, and names of accounts."""
    assert cloud.show("token", "issue")["project_id"] == "admin"
    kinds = {service["Type"] for service in cloud.show("catalog", "list")}
    assert kinds == {"identity", "compute", "image", "placement"}
    for noun in ("project", "user", "role"):
        assert "admin" in cloud.names(noun, "list")
    assert cloud.show("project", "show", "admin")["id"] == "admin"
    assert cloud.show("endpoint", "list", "--service", "image")
    assert cloud.show("role", "assignment", "list", "--names")


def test_an_image_goes_through_its_life(cloud: Cloud, tmp_path: Path) -> None:
    """Create, change, show, list, download, delete."""
    data, back = tmp_path / "data", tmp_path / "back"
    data.write_bytes(secrets.token_bytes(1_000_000))
    made = cloud.show(
        "image", "create", "--file", str(data), "--disk-format", "raw", "--tag", "t", "disk"
    )
    assert (made["status"], made["size"]) == ("active", 1_000_000)
    cloud.run("image", "set", "--property", "a=b", "--min-ram", "64", "--name", "disk2", "disk")
    shown = cloud.show("image", "show", "disk2")
    assert (shown["properties"]["a"], shown["min_ram"], shown["tags"]) == ("b", 64, ["t"])
    cloud.run("image", "unset", "--property", "a", "--tag", "t", "disk2")
    cloud.run("image", "save", "--file", str(back), "disk2")
    assert back.read_bytes() == data.read_bytes()
    cloud.run("image", "set", "--protected", "disk2")
    cloud.run("image", "set", "--unprotected", "--deactivate", "disk2")
    assert "disk2" in cloud.names("image", "list")
    cloud.run("image", "delete", "disk2")
    assert "disk2" not in cloud.names("image", "list")


def test_a_server_is_built_from_such_an_image(cloud: Cloud) -> None:
    """Flavor, image, server: created, listed, shown, deleted."""
    cloud.run("flavor", "create", "--vcpus", "1", "--ram", "64", "--disk", "1", "tiny")
    cloud.run("image", "create", "--property", "img_hv_type=simulated", "--public", "nothing")
    made = cloud.show(
        "server", "create", "--flavor", "tiny", "--image", "nothing", "--nic", "none", "--wait", "a"
    )
    assert made["status"] == "ACTIVE"
    assert cloud.names("server", "list") == {"a"}
    assert cloud.show("server", "show", "a")["OS-EXT-SRV-ATTR:host"].startswith("sim-")
    cloud.run("server", "delete", "--wait", "a")
    assert cloud.names("server", "list") == set()


def test_placement_is_in_the_catalogue(cloud: Cloud) -> None:
    """Hosts are its resource providers."""
    names = {row["name"] for row in cloud.show("resource", "provider", "list")}
    assert names == {"sim-1", "sim-2"}


def test_the_sdk_waits_for_a_server_and_keeps_it(cloud: Cloud) -> None:
    """It deletes servers without an address, and adds floating IPs to those with a private one."""
    cloud.run("flavor", "create", "--vcpus", "1", "--ram", "64", "--disk", "1", "small")
    cloud.run("image", "create", "--property", "img_hv_type=simulated", "--public", "empty")
    made = cloud.python(
        "made = openstack.connect(cloud='armillary').create_server("
        "'sdk', image='empty', flavor='small', wait=True, timeout=60);"
        "print(made.status, made.interface_ip in str(made.addresses))"
    )
    assert made.split() == ["ACTIVE", "True"]
    cloud.run("server", "delete", "--wait", "sdk")
