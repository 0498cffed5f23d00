"""Linux guests of the system daemon: what they are told, and what they tell of themselves."""

import base64
import contextlib
import hashlib
import http.server
import json
import pwd
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.disks import live_snapshots
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instance import Instance
from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.agent.serial_consoles import running_port, running_proxy, url_of
from tests.fixtures.asking import wait_for
from tests.fixtures.libvirt import guest_image
from tests.fixtures.waiting import Deadline
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
    """A failure says whether the guest computes, waits or is paused."""
    before, measured = (
        console(host, guest).count(guest_image.TICK),
        host.get_diagnostics(guest.uuid),
    )
    try:
        wait_for(
            lambda: console(host, guest).count(guest_image.TICK) > before, "a tick",
            BOOT_SECONDS_MAX,
        )  # fmt: skip
    except AssertionError as error:
        said = host.list_guests(), measured, host.get_diagnostics(guest.uuid)
        raise AssertionError(f"{error}: {said} {console(host, guest)[-500:]}") from error


class Watch:
    """Watcher of a live migration that lets it be."""

    def progress(self, *, total_mb: int, remaining_mb: int) -> None: ...

    def is_aborted(self) -> bool:
        return False

    def is_forced(self) -> bool:
        return False


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def told(text: str, name: str) -> str:
    """Return what a guest found in a file of its config drive."""
    front = f"guest: drive ./{name} "
    (line,) = {line for line in text.splitlines() if line.startswith(front)}
    return line.removeprefix(front).strip()


@contextlib.contextmanager
def terminal(host: LibvirtDriver, guest: Instance) -> Iterator[ClientConnection]:
    """Open a guest's serial console by agent's port and proxy."""
    with (
        running_port(lambda _host, uuid: host.open_serial_console(uuid)) as port,
        running_proxy() as links,
        connect(url_of(links, guest.uuid, port.grant(host.host, guest.uuid))) as user,
    ):
        yield user


def log_in(user: ClientConnection, password: str) -> None:
    user.send("\r")
    read_until(user, "login:")
    user.send("root\r")
    read_until(user, "assword:")
    user.send(f"{password}\r")
    read_until(user, "# ")


def read_until(user: ClientConnection, wanted: str) -> None:
    """Read what the guest writes up to some text."""
    deadline, text = Deadline(BOOT_SECONDS_MAX), ""
    while wanted not in text:
        assert not deadline.has_passed, text
        with contextlib.suppress(TimeoutError):
            data = user.recv(1)
            text += data if isinstance(data, str) else data.decode("utf-8", "replace")


def test_a_guest_learns_what_its_user_says(system_daemons: SystemDaemons) -> None:
    """From a config drive, which it gets unasked; its disks are for its hypervisor alone."""
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
    with terminal(host, guest) as user:
        log_in(user, "opensesame")
        user.send("cat /drive/openstack/latest/user_data\r")
        read_until(user, "guest: user data was run")
    directory = system_daemons.state_path("a") / "instances" / guest.uuid
    owner = pwd.getpwnam(GUESTS_USER).pw_uid
    assert {path.name: _access(path) for path in directory.glob("*.[rq]*")} == {
        "disk.qcow2": (owner, 0o600), "config-drive.raw": (owner, 0o600),
    }  # fmt: skip


def _access(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_uid, found.st_mode & 0o777


@pytest.mark.long
@pytest.mark.parametrize("images_type", ["raw", "qcow2"])
def test_a_guest_that_is_off_takes_all_disks_and_its_log_along(
    system_daemons: SystemDaemons, images_type: str
) -> None:
    """Its ephemeral disk has a file system, swap is made; its config drive is NoCloud's."""
    options = {"images_type": images_type, "config_drive_layout": "nocloud"}
    source, destination = (system_daemons.host(name, **options) for name in "ab")
    guest = a_linux_guest(
        name="web", flavor={"ephemeral_gb": 1, "swap_mb": 16}, settings={"admin_password": "open"}
    )
    source.spawn(guest)
    text = wait_until_up(source, guest)
    disks = ["disk vdb ext ephemeral0", "disk vdc swap swap0", "disk vdd iso9660 cidata"]
    assert {f"guest: {disk}" for disk in disks} <= set(text.splitlines())
    assert json.loads(told(text, "meta-data"))["instance-id"] == guest.uuid
    payload = source.detach(guest.uuid, grace_seconds=0)
    destination.attach(guest, ANYWHERE, payload, is_on=True)
    source.destroy(guest.uuid)
    both = wait_until_up(destination, guest, 2)
    assert both.startswith(text)
    assert ("guest: boot 1" in both, "guest: boot 2" in both) == (True, True)
    with terminal(destination, guest) as user:
        log_in(user, "open")


@pytest.mark.long
@pytest.mark.parametrize("images_type", ["raw", "qcow2"])
def test_a_running_guest_takes_all_disks_and_its_log_along(
    system_daemons: SystemDaemons, images_type: str
) -> None:
    """What it has written before it moved is followed by what it writes then."""
    source, destination = (
        system_daemons.host(name, images_type=images_type, force_config_drive=True) for name in "ab"
    )
    source.spawn(guest := a_linux_guest(name="web"))
    text = wait_until_up(source, guest)
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    source.live_migrate(guest, there, Watch())
    assert destination.complete_live(guest, ANYWHERE).power_state == "running"
    source.destroy(guest.uuid)
    wait_until_it_goes_on(destination, guest)
    assert console(destination, guest).startswith(text)
    with terminal(destination, guest) as user:
        log_in(user, "secret")
        user.send("umount /drive; mount -t iso9660 -o ro /dev/vdb /drive && ls /drive\r")
        read_until(user, "openstack")
    destination.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    again = wait_until_up(destination, guest, 2)
    assert again.startswith(text)
    assert "guest: boot 2" in again


@pytest.mark.long
def test_a_guest_is_paused_suspended_and_shut_down(system_daemons: SystemDaemons) -> None:
    """It goes on where it was, and its power button works."""
    host = system_daemons.host("a")
    host.spawn(guest := a_linux_guest())
    wait_until_up(host, guest)
    assert host.pause(guest.uuid).power_state == "paused"
    assert host.unpause(guest.uuid).power_state == "running"
    wait_until_it_goes_on(host, guest)
    assert host.suspend(guest.uuid).power_state == "suspended"
    assert host.resume(guest, ANYWHERE).power_state == "running"
    wait_until_it_goes_on(host, guest)
    assert console(host, guest).count(guest_image.UP) == 1
    began = time.monotonic()
    assert host.power_off(guest.uuid, grace_seconds=200).power_state == "shutdown"
    assert time.monotonic() - began < 200


@pytest.mark.long
@pytest.mark.parametrize("images_type", ["raw", "qcow2"])
def test_a_snapshot_is_made_while_the_guest_goes_on(
    system_daemons: SystemDaemons, images_type: str
) -> None:
    """It is a whole disk, from which another guest boots; nothing of the copy is left beside it."""
    host = system_daemons.host("a", images_type=images_type)
    host.spawn(guest := a_linux_guest())
    wait_until_up(host, guest)
    domain, paused = host._guests.find(guest.uuid), []
    name = f"snapshot-{images_type}.qcow2"
    image = builders.an_image(disk_format="qcow2", properties={FILE_PROPERTY: name})
    path = system_daemons.directory / "images" / name
    with watching(lambda: paused.append(domain.state(0)[0])):
        host.snapshot(guest.uuid, image, path)
    assert set(paused) == {1}  # VIR_DOMAIN_RUNNING, whenever it was looked at
    wait_until_it_goes_on(host, guest)
    directory = system_daemons.state_path("a") / "instances" / guest.uuid
    assert not (directory / live_snapshots.PART).exists()
    path.chmod(0o644)
    other = builders.an_instance(image=image, flavor=guest.flavor)
    host.destroy(guest.uuid)
    host.spawn(other)
    assert "guest: boot 2" in wait_until_up(host, other)


@contextlib.contextmanager
def watching(look: Callable[[], None]) -> Iterator[None]:
    """Look at something as often as there is time for it."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(0.01):
            look()

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextlib.contextmanager
def a_glance(data: Path) -> Iterator[str]:
    """Serve the data of each image, and yield the address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(data.stat().st_size))
            self.end_headers()
            with data.open("rb") as file:
                shutil.copyfileobj(file, self.wfile)

        def log_message(self, *_arguments: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.long
def test_a_guest_boots_from_an_image_that_its_host_has_fetched(
    system_daemons: SystemDaemons,
) -> None:
    """Which the hypervisor's user can read; it stays as long as the guest needs it."""
    data = system_daemons.directory / "images" / guest_image.NAME
    with data.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").hexdigest()
    image = builders.an_image(disk_format="raw", size_bytes=data.stat().st_size, sha512=digest)
    images = system_daemons.state_path("a") / "fetched"
    guest = builders.an_instance(
        image=image, flavor=builders.a_flavor(memory_mb=MEMORY_MB, root_gb=0)
    )
    with a_glance(data) as address:
        host = system_daemons.host(
            "a", glance=address, images_type="qcow2", images_path=str(images)
        )
        host.cache_image(image)
    host.spawn(guest)
    wait_until_up(host, guest)
    host._conf.set_override("remove_unused_original_minimum_age_seconds", 0, group="image_cache")
    host.expire_images()
    host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    wait_until_up(host, guest, 2)
    host.destroy(guest.uuid)
    host.expire_images()
    assert host.get_attributes()["cached_images"] == []


@pytest.mark.long
def test_a_guest_is_rescued_and_is_itself_again(system_daemons: SystemDaemons) -> None:
    """The rescue counts its boots on a disk of its own; the guest's is the second one meanwhile."""
    host = system_daemons.host("a", images_type="qcow2")
    guest = a_linux_guest()
    assert guest.image is not None
    host.spawn(guest)
    assert last_boot(host, guest, 1) == (1, ["vda fat"])
    host.rescue(guest, ANYWHERE, guest.image, grace_seconds=0)
    assert last_boot(host, guest, 2) == (1, ["vda fat", "vdb fat"])
    host = system_daemons.host("a", images_type="qcow2")  # as after a restart of the agent
    host.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)
    assert last_boot(host, guest, 3) == (2, ["vda fat", "vdb fat"])
    host.unrescue(guest, ANYWHERE)
    assert last_boot(host, guest, 4) == (2, ["vda fat"])


def last_boot(host: LibvirtDriver, guest: Instance, boots: int) -> tuple[int, list[str]]:
    """Return which boot the last one was for the disk it was from, and the disks that it saw."""
    front, disk = "guest: boot ", "guest: disk "
    lines = wait_until_up(host, guest, boots).rpartition(front)[2].splitlines()
    return int(lines[0]), [each.removeprefix(disk) for each in lines if each.startswith(disk)]
