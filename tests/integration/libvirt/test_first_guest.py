"""``docs/operating/libvirt-first-guest.md``, typed as it stands, on a machine of its own.

That is this one with directories of its own, in namespaces of mounts and processes, so that nothing
stays behind. systemd does not run there; packages are installed, ``.venv`` stands for
``/opt/armillary``, and a small disk of the tests' own for Debian's.
"""

import contextlib
import itertools
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.fixtures.asking import wait_for
from tests.fixtures.deployment import BIN
from tests.fixtures.libvirt import guest_image
from tests.fixtures.libvirt.libvirt_hosts import libvirt_library, need_program
from tests.fixtures.services import POSTGRESQL, RABBITMQ, leave_out
from tests.fixtures.services.ports import free_port
from tests.fixtures.waiting import Deadline
from tests.integration.deployed_by_command import Command, command_for

pytestmark = [
    pytest.mark.libvirt, pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long,
]  # fmt: skip

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "operating" / "libvirt-first-guest.md"
CLIENTS = BIN.parent / "clients" / "bin"
PLAY_SECONDS_MAX = 180
BOOT_SECONDS_MAX = 90
IMAGE = "debian-12-genericcloud-amd64.qcow2"
_OWN = (
    "etc", "run/libvirt", "run/lock", "run/armillary",
    "var/lib/libvirt", "var/cache/libvirt", "var/log/libvirt",
    "var/lib/armillary", "var/lib/armillary-compute", "var/lib/armillary-manage",
    "var/lib/armillary-guests", "var/lib/armillary-images", "var/log/armillary",
)  # fmt: skip
_QEMU = """\
user = "libvirt-qemu"
group = "kvm"
security_driver = "none"
cgroup_controllers = []
namespaces = []
"""
_LEFT_OUT = {
    "apt-get install": "the packages are there",
    "python3 -m venv": ".venv stands for it",
    "/opt/armillary/bin/pip": ".venv stands for it",
    "virsh net-start": "a bridge is for the whole machine",
    "[Service]": "systemd does not run",
    "armillary server console web --connect": "a terminal, which the test is itself",
}
"""Beginnings of blocks or lines that are not played, and why."""
_FILE = re.compile(r"`(/etc/armillary/\S+\.conf)`:$")


class Page:
    """What a reader types, in the page's order, as lines of a shell."""

    def __init__(self, words: dict[str, str]) -> None:
        self._words = words
        self.left_out: set[str] = set()
        self.script = "\n".join(self._lines(PAGE.read_text()))

    def _lines(self, text: str) -> Iterator[str]:
        for word, other in self._words.items():
            assert word in text, word
            text = text.replace(word, other)
        paragraphs = text.split("\n\n")
        for before, block in itertools.pairwise(paragraphs):
            if before.startswith("Restart API and agent"):
                yield "armillary-manage deploy stop"
                yield "armillary-manage deploy start"
            if not block.startswith("    "):
                continue
            file = _FILE.search(before)
            lines = [line.removeprefix("    ") for line in block.splitlines()]
            if file is not None:
                yield from [f"cat > {file[1]} <<'END'", *lines, "END"]
            elif not (lines[0].startswith("[") and self._is_left_out(lines[0])):
                joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
                yield from (line for line in joined if not self._is_left_out(line))

    def _is_left_out(self, line: str) -> bool:
        found = {start for start in _LEFT_OUT if line.startswith(start)}
        self.left_out |= found
        return bool(found)


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Command]:
    """Return the command for a machine that guests' user may pass through."""
    libvirt_library()
    if os.geteuid() != 0:
        leave_out("libvirt", "libvirt's system daemon needs root")
    for program in ("libvirtd", "virtlogd", "qemu-system-x86_64", "qemu-img", "ssh-keygen"):
        need_program(program)
    if not (CLIENTS / "openstack").exists():
        leave_out("libvirt", "the stock client is not installed (make libvirt does it)")
    done = subprocess.run([*_NAMESPACES, "true"], capture_output=True, check=False)
    if done.returncode != 0:
        leave_out("libvirt", f"no namespaces here: {done.stderr.decode().strip()}")
    folder = Path(tempfile.mkdtemp(prefix="armillary-"))
    folder.chmod(0o711)
    try:
        with command_for(folder, POSTGRESQL) as made:
            yield made
    finally:
        if (logs := folder / "root/var/log/armillary").exists():
            shutil.copytree(logs, tmp_path / "log")
        shutil.rmtree(folder, ignore_errors=True)


_NAMESPACES = [
    "unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
    "--propagation", "private",
]  # fmt: skip


def _reached_by_all(folder: Path, needed: Sequence[Path]) -> Iterator[str]:
    """Yield what lets the services' own user reach directories, such as a Python in root's home."""
    closed: dict[Path, list[Path]] = {}
    for path in needed:
        for place in reversed(path.parents):
            if not place.stat().st_mode & stat.S_IXOTH:
                closed.setdefault(place, []).append(path)
                break
    for number, (place, paths) in enumerate(closed.items()):
        open_one = folder / f"open-{number}"
        for path in paths:
            inside = open_one / path.relative_to(place)
            yield f"mkdir -p {inside} && mount --bind {path} {inside}"
        yield f"chmod 0711 {open_one} && mount --rbind {open_one} {place}"


@contextlib.contextmanager
def machine(command: Command, script: str) -> Iterator[str]:
    """Run a script on a machine of its own, all of which ends with it; return what it printed."""
    home = command.folder / "home"
    (home / ".ssh").mkdir(parents=True)
    key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(home / ".ssh/id_ed25519")]
    subprocess.run(key, check=True)
    guest_image.write_image(command.folder)
    source = command.folder / guest_image.NAME
    subprocess.run(
        ["qemu-img", "convert", "-f", "raw", "-O", "qcow2", str(source), str(home / IMAGE)],
        check=True,
    )
    shutil.copytree("/etc", command.root / "etc", symlinks=True, dirs_exist_ok=True)
    (command.root / "etc/libvirt/qemu.conf").write_text(_QEMU)
    mounts = [f"mkdir -p /{place} {command.root}/{place}" for place in _OWN]
    mounts += [f"mount --bind {command.root}/{place} /{place}" for place in _OWN]
    mounts += ["mkdir -p /opt/armillary", f"mount --bind {BIN.parent} /opt/armillary"]
    mounts += _reached_by_all(command.folder, [Path(sys.base_prefix), BIN.parent, ROOT])
    text = "\n".join(["set -e", *mounts, "cd $HOME", "set -x", script, "echo PLAYED", "cat"])
    log = command.folder / "session.log"
    terminal, typed = pty.openpty()  # the stock client would take a pipe for an image's data
    with (
        os.fdopen(terminal, "wb"),
        os.fdopen(typed, "rb") as keyboard,
        log.open("wb") as output,
        subprocess.Popen(
            [*_NAMESPACES, "bash", "-c", text],
            env={
                "HOME": str(home),
                "PATH": f"{os.environ['PATH']}:{CLIENTS}:/usr/sbin:/sbin",
                "ARMILLARY_DATABASE_ADMIN": command.databases.url.render_as_string(
                    hide_password=False
                ),
            },
            stdin=keyboard, stdout=output, stderr=output, start_new_session=True,
        ) as process,
    ):  # fmt: skip
        try:
            wait_for(
                lambda: process.poll() is not None or "\nPLAYED\n" in log.read_text(),
                f"the page's commands are played, see {log}",
                PLAY_SECONDS_MAX,
                0.5,
            )
            assert process.poll() is None, log.read_text()
            yield log.read_text()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_every_command_works_as_it_stands_up_to_the_guest_s_console(command: Command) -> None:
    """Nothing of the page is left out without a reason, and the guest's terminal answers."""
    api, placement, consoles = free_port(), free_port(), free_port()
    broker = f"{RABBITMQ.url.host}:{RABBITMQ.url.port}"
    database = f"{command.databases.url.host}:{command.databases.url.port}"
    page = Page(
        {
            "deploy single": f"deploy single --prefix {command.prefix} --broker {broker} "
            f"--database {database} --api 127.0.0.1:{api} --placement 127.0.0.1:{placement}",
            "virt_type = kvm\n": "virt_type = qemu\n",
            "img_hv_type=kvm": "img_hv_type=qemu",
            "network = default\n": "\n",
            "6083": str(consoles),
        }
    )
    assert page.left_out == {*_LEFT_OUT}
    with machine(command, page.script) as printed:
        assert "ACTIVE" in printed
        logs = (command.root / "var/log/armillary").glob("*.log")
        assert not [
            line for log in logs for line in log.read_text().splitlines() if " ERROR " in line
        ]
        (link,) = set(re.findall(r"ws://\S+", printed.partition("+ openstack console")[2]))
        with connect(link) as user:
            deadline, text = Deadline(BOOT_SECONDS_MAX), ""
            while "login:" not in text:
                assert not deadline.has_passed, text
                user.send("\r")
                with contextlib.suppress(TimeoutError):
                    data = user.recv(1)
                    text += data if isinstance(data, str) else data.decode("utf-8", "replace")
