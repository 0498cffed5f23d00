"""Linux guests of the system daemon: what they are told, and what they tell of themselves."""

from __future__ import annotations

import base64
import json
import pwd
from pathlib import Path
from typing import Any

import pytest

from compute_agent.virt.libvirt.driver import LibvirtDriver
from compute_agent.virt.libvirt.images import FILE_PROPERTY
from objects.instance import Instance
from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures import guest_image
from tests.fixtures.asking import wait_for
from tests.integration.libvirt.system_daemons import GUESTS_USER, SystemDaemons

pytestmark = pytest.mark.libvirt

BOOT_SECONDS_MAX = 90
MEMORY_MB = 128
SCRIPT = b"#!/bin/sh\necho guest: user data was run\n"


def a_linux_guest(**values: Any) -> Instance:
    """Return an instance of the image that boots Linux."""
    image = builders.an_image(
        disk_format="raw",
        properties={FILE_PROPERTY: guest_image.NAME, **values.pop("properties", {})},
    )
    flavor = builders.a_flavor(**{"memory_mb": MEMORY_MB, "root_gb": 0, **values.pop("flavor", {})})
    settings = values.pop("settings", None)
    if settings is not None:
        values["settings"] = ServerSettings.from_values(**settings)
    return builders.an_instance(image=image, flavor=flavor, **values)


def console(host: LibvirtDriver, guest: Instance) -> str:
    return host.get_console_output(guest.uuid, lines=None)


def wait_until_up(host: LibvirtDriver, guest: Instance, boots: int = 1) -> str:
    """Return what it has written once it has booted so many times."""

    def text() -> str:
        found = console(host, guest)
        return found if found.count(guest_image.UP) >= boots else ""

    return str(wait_for(text, "the guest is up", BOOT_SECONDS_MAX, 0.3))


def wait_until_it_goes_on(host: LibvirtDriver, guest: Instance) -> None:
    before = console(host, guest).count(guest_image.TICK)
    wait_for(
        lambda: console(host, guest).count(guest_image.TICK) > before, "a tick", BOOT_SECONDS_MAX
    )


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def told(text: str, name: str) -> str:
    """Return what a guest found in a file of its config drive."""
    front = f"guest: drive ./{name} "
    (line,) = {line for line in text.splitlines() if line.startswith(front)}
    return line.removeprefix(front).strip()


def test_a_guest_learns_what_its_user_says(system_daemons: SystemDaemons) -> None:
    """From a config drive, which no option and no image asked for; its disks are for its hypervisor alone."""
    host = system_daemons.host("a", images_type="qcow2")
    guest = a_linux_guest(
        name="Web 1",
        settings={
            "user_data": encoded(SCRIPT), "public_key": "ssh-ed25519 AAAA someone",
            "key_name": "mine", "admin_password": "opensesame",
        },
    )  # fmt: skip
    host.spawn(guest)
    text = wait_until_up(host, guest)
    meta = json.loads(told(text, "openstack/latest/meta_data.json"))
    assert (meta["hostname"], meta["admin_pass"]) == ("web-1", "opensesame")
    assert meta["public_keys"] == {"mine": "ssh-ed25519 AAAA someone"}
    assert "guest: user data was run" in text
    wait_for(lambda: "web-1 login:" in console(host, guest), "a login prompt", BOOT_SECONDS_MAX)
    directory = system_daemons.state_path("a") / "instances" / guest.uuid
    owner = pwd.getpwnam(GUESTS_USER).pw_uid
    assert {path.name: _access(path) for path in directory.glob("*.[rq]*")} == {
        "disk.qcow2": (owner, 0o600), "config-drive.raw": (owner, 0o600),
    }  # fmt: skip


def _access(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_uid, found.st_mode & 0o777
