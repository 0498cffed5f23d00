"""Two system daemons of libvirt on this machine, as root, whose guests run as a user of their own.

Each has the directories of ``qemu:///system`` for itself, in a mount namespace of its own, with a
virtlogd beside it. What the tests do there they do under the agent's umask, as its unit has it.
"""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compute_agent.virt.libvirt.driver import LibvirtDriver
from tests.fixtures.asking import wait_for
from tests.fixtures.libvirt import guest_image
from tests.fixtures.libvirt.libvirt_hosts import libvirt_library, need_program
from tests.fixtures.plugins.artifacts import keep_on_failure
from tests.fixtures.services import leave_out
from tests.integration.libvirt.libvirt_daemons import (
    NAMES,
    SOCKET,
    STOP_SECONDS_MAX,
    DaemonHosts,
    end_guests,
)

GUESTS_USER = "libvirt-qemu"
UMASK = 0o077
"""Of the agent's unit, etc/systemd/armillary-compute.service."""
_OWN = ("etc", "run", "var/lib", "var/cache", "var/log")
_START = """
set -e
for each in {places}; do
    mkdir -p /$each/libvirt
    mount --bind {directory}/$each /$each/libvirt
done
virtlogd -f {directory}/virtlogd.conf -p {directory}/virtlogd.pid &
exec libvirtd -f {directory}/libvirtd.conf -p {directory}/libvirtd.pid
"""


class SystemDaemons(DaemonHosts):
    """The daemons and their hosts."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "system")
        guest_image.write_image(directory / "images")

    def host(self, name: str, *, glance: str | None = None, **options: Any) -> LibvirtDriver:
        """Return a driver as above; ``glance`` is the address of where it fetches images."""
        for path in (self.state_path(name), self.state_path(name) / "instances"):
            path.mkdir(exist_ok=True)
            path.chmod(0o711)
        conf = self.conf(name, **options)
        if glance is not None:
            conf.set_override("auth_type", "none", group="glance")
            conf.set_override("endpoint_override", glance, group="glance")
        return self._driver(conf)


@pytest.fixture(scope="session")
def both_system_daemons() -> Iterator[SystemDaemons]:
    """Run two daemons: to learn what QEMU can do takes them longer than most tests."""
    libvirt_library()
    if os.geteuid() != 0:
        leave_out("libvirt", "libvirt's system daemon needs root")
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if done.returncode != 0:
        leave_out("libvirt", f"no mount namespaces here: {done.stderr.decode().strip()}")
    for program in ("libvirtd", "virtlogd", "unshare", "qemu-system-x86_64", "qemu-img"):
        need_program(program)
    try:
        pwd.getpwnam(GUESTS_USER)
    except KeyError:
        leave_out("libvirt", f"there is no user {GUESTS_USER} (package libvirt-daemon-system)")
    with _directory() as directory, contextlib.ExitStack() as stack:
        stack.callback(end_guests, directory)
        for number, name in enumerate(NAMES, 1):
            stack.enter_context(_daemon(directory / name, number))
        yield SystemDaemons(directory)


@pytest.fixture
def system_daemons(both_system_daemons: SystemDaemons) -> Iterator[SystemDaemons]:
    """Return two daemons without guests; the umask is the agent's."""
    former = os.umask(UMASK)
    try:
        yield both_system_daemons
        both_system_daemons.clear()
    finally:
        os.umask(former)


@contextlib.contextmanager
def _directory() -> Iterator[Path]:
    """Make a directory with a short name, that guests' user may pass through."""
    path = Path(tempfile.mkdtemp(prefix="armillary-"))
    keep_on_failure(path)
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _daemon(directory: Path, number: int) -> Iterator[None]:
    _configure(directory, number)
    script = _START.format(places=" ".join(_OWN), directory=directory)
    process = subprocess.Popen(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        env={**os.environ, "PATH": f"{os.environ['PATH']}:/usr/sbin:/sbin"},
        start_new_session=True,
    )

    def is_ready() -> bool:
        assert process.poll() is None, (directory / "libvirtd.log").read_text()
        return (directory / "run" / SOCKET).exists()

    try:
        wait_for(is_ready, "the daemon's socket")
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(STOP_SECONDS_MAX)


def _configure(directory: Path, number: int) -> None:
    """Write what a daemon reads."""
    for name in _OWN:
        (directory / name).mkdir(parents=True)
        (directory / name).chmod(0o755)
    directory.chmod(0o755)
    (directory / "etc/qemu.conf").write_text(
        f'user = "{GUESTS_USER}"\ngroup = "kvm"\nsecurity_driver = "none"\n'
        "cgroup_controllers = []\nnamespaces = []\n"
    )
    (directory / "virtlogd.conf").write_text(f'log_outputs = "3:file:{directory}/virtlogd.log"\n')
    (directory / "libvirtd.conf").write_text(
        f'host_uuid = "00000000-0000-4000-9000-{number:012}"\n'
        'auth_unix_rw = "none"\n'
        f'log_outputs = "3:file:{directory}/libvirtd.log"\n'
    )
