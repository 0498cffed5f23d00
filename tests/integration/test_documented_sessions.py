"""The sessions that the documentation shows, typed as they stand, on ``armillary up``.

A page's words for names (``HOST``, ``SERVER``) stand for what its row prepares. Pages about an
installation of services are not played: ``NOT_PLAYED`` has the reason for each.
"""

import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from programs.commands.app import URL_VARIABLE
from tests.fixtures.asking import wait_for
from tests.fixtures.services.ports import free_port
from tests.fixtures.waiting import seconds

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
COMMAND_SECONDS_MAX = 120.0
_INDENTED = re.compile(r"^ {4,}(?:\S.*)$")
_COMMAND = re.compile(
    r"^(?:\$ )?(?:armillary|armillary-manage|armillary-status|export|curl|cat|grep) "
)


@dataclasses.dataclass(frozen=True)
class Story:
    """A page whose commands are played.

    ``before`` are commands that make what the page takes for granted. ``words`` are what a reader
    replaces. ``exit_codes`` are those of lines that are not expected to succeed here.
    """

    before: tuple[str, ...] = ()
    words: Mapping[str, str] = dataclasses.field(default_factory=dict)
    exit_codes: Mapping[str, int] = dataclasses.field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    """Beginnings of lines that are not for one machine, or never end."""


TINY = "armillary flavor create tiny --vcpus 1 --ram 64 --disk 1"
NOTHING = "armillary image create nothing --property img_hv_type=simulated"


def server(name: str, more: str = "") -> str:
    return f"armillary server create {name} --flavor tiny --image nothing --wait {more}"


STORIES = {
    "README.md": Story(),
    "docs/operating/explain.md": Story(
        before=(
            TINY, NOTHING, server("web"),
            "armillary flavor create big --vcpus 4 --ram 4096 --disk 20",
            "armillary image create loop --property img_hv_type=simulated",
            "armillary server group create apart --policy anti-affinity",
        ),
        words={"SERVER": "web"},
        exit_codes={"armillary schedule --dry-run --request-spec spec.json": 1},
    ),
    "docs/operating/lifecycle.md": Story(
        before=(
            TINY, NOTHING, server("web", "--host sim-1"),
            "armillary server migrate web --live --wait",
        ),
        words={
            "HOST": "sim-1", "SERVER": "web",
            "MIGRATION": "$(armillary migration list -f value -c ID)",
        },
        exit_codes=dict.fromkeys(  # it is over
            ("armillary migration abort", "armillary migration force-complete"), 1
        ),
    ),
    "docs/operating/compute-agent.md": Story(
        before=("armillary flavor create small --vcpus 1 --ram 128 --disk 1", "touch setup.sh"),
        words={"HOST": "sim-1"},
    ),
    "docs/operating/troubleshooting.md": Story(
        before=(TINY, NOTHING, server("web")), words={"SERVER": "web"}
    ),
    "docs/operating/extra-specs.md": Story(
        before=(
            NOTHING, TINY, server("other"),
            "armillary flavor create pinned --vcpus 1 --ram 64 --disk 1",
        ),
        words={
            "7b1c…": "7b1c1c6e-0000-4000-8000-000000000000",
            "5b0a…": "$(armillary server show other -f value -c id)",
        },
    ),
    "docs/operating/cells.md": Story(words={"HOST": "sim-5"}),
    "docs/operating/claims.md": Story(),
    "docs/operating/server-groups.md": Story(
        before=(
            NOTHING, "armillary flavor create small --vcpus 1 --ram 64 --disk 1",
            *(
                f"armillary aggregate create {rack} --property rack={rack}"
                for rack in ("r1", "r2")
            ),
            *(
                f"armillary aggregate add host r{1 + number % 2} sim-{number}"
                for number in range(1, 6)
            ),
        ),
        words={"IMAGE": "nothing", "UUID": "$(armillary group show web -f value -c id)"},
    ),
    "docs/operating/availability-zones.md": Story(words={"host1": "sim-1"}),
    "docs/operating/simulate.md": Story(
        words={"etc/simulations": str(ROOT / "etc" / "simulations")}
    ),
    "docs/operating/from-nova.md": Story(
        before=("printf '[DEFAULT]\\ncpu_allocation_ratio = 4\\n' > nova.conf",),
        words={"/etc/nova/nova.conf": "nova.conf"},
    ),
}  # fmt: skip
_NOTHING_TO_HEAL = {"heal-allocations": 4}
OPERATIONS = {
    "docs/operating/backup.md": Story(
        left_out=("armillary-manage deploy",), exit_codes=_NOTHING_TO_HEAL
    ),
    "docs/operating/recovery.md": Story(
        words={"2030-01-31": "2020-01-31", "2029-01-31": "2019-01-31"}
    ),
    "docs/operating/repair.md": Story(exit_codes=_NOTHING_TO_HEAL),
    "docs/operating/security-check.md": Story(exit_codes={"security check": 2}),  # it is open
    "docs/operating/upgrade.md": Story(),
}
"""Pages for operators: see test_documented_operations."""
NOT_PLAYED = {
    "docs/operating/broker-accounts.md": "makes accounts at a broker: see test_broker_accounts",
    "docs/operating/install.md": "systemd and packages: see test_deploy and test_debian_package",
    "docs/operating/libvirt-first-guest.md": "virtual machines, as root: see test_first_guest",
    "docs/operating/monitoring.md": "its commands follow events and never end",
    "docs/operating/signing.md": "enrols keys of machines: see test_signed_messages",
    "docs/operating/stolen-key.md": "revokes keys of machines: see test_signed_messages",
    "docs/operating/zones.md": "two deployments and their accounts: see test_signed_zones",
}
"""Page of docs/operating whose commands are parsed only -> why no session can play them."""


def lines_of(page: str, story: Story) -> list[str]:
    """Return the command lines of a page's blocks, in order."""
    joined = re.sub(r"\\\n\s*", "", (ROOT / page).read_text(encoding="utf-8"))
    found = [line.strip() for line in joined.splitlines() if _INDENTED.match(line)]
    found = [line.removeprefix("$ ") for line in found if _COMMAND.match(line)]
    return [line for line in found if not line.startswith(("armillary up", *story.left_out))]


def typed(line: str, story: Story) -> str:
    """Return what a reader types for a line: with words of their own."""
    for word, name in story.words.items():
        escaped = name.replace("\\", r"\\")
        line = re.sub(rf"(?<![A-Z_]){re.escape(word)}(?![A-Z_])", escaped, line)
    return line


class Shell:
    """A terminal beside ``armillary up``, with an empty home."""

    def __init__(self, home: Path) -> None:
        self.home = home
        port = free_port()
        self.environment = {
            "HOME": str(home),
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "XDG_STATE_HOME": str(home / "state"),
            URL_VARIABLE: f"http://127.0.0.1:{port}",
            "COLUMNS": "120",
        }
        (home / "up.conf").write_text(f"[placement]\nrest_bind_port = {free_port()}\n")
        options = ["--port", str(port), "--config-file", "up.conf"]
        up = next(
            line.strip() for line in (ROOT / "README.md").read_text().splitlines()
            if "armillary up" in line and line.startswith("    ")
        )  # fmt: skip
        with (home / "up.log").open("wb") as log:
            self.up = subprocess.Popen(
                ["bash", "-c", " ".join(["exec", up.replace(".venv/bin/", ""), *options])],
                cwd=home, env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", line], cwd=self.home, env=self.environment, capture_output=True,
            text=True, check=False, timeout=seconds(COMMAND_SECONDS_MAX),
        )  # fmt: skip

    def is_ready(self) -> bool:
        hosts = self.run("armillary host list -f json")
        return hosts.returncode == 0 and len(json.loads(hosts.stdout)) == 6

    def close(self) -> None:
        """Delete what runs, which would go on without its control plane; then end that."""
        self.run("armillary server list -f value -c ID | xargs -r armillary server delete --wait")
        self.up.send_signal(signal.SIGINT)
        self.up.wait(seconds(30))


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    try:
        wait_for(made.is_ready, f"six hosts are up; see {tmp_path / 'up.log'}", 60, 1.0)
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("page", STORIES)
def test_the_commands_of_a_page_work_as_they_stand(page: str, shell: Shell) -> None:
    """In their order, by a reader who replaces the words in capitals."""
    story = STORIES[page]
    for line in story.before:
        ran = shell.run(line)
        assert ran.returncode == 0, f"{line}\n{ran.stdout}{ran.stderr}"
    spec = re.search(r"```json\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    if spec:
        (shell.home / "spec.json").write_text(spec[1])
    lines = lines_of(page, story)
    assert lines
    for line in lines:
        ran = shell.run(typed(line, story))
        expected = next(
            (code for start, code in story.exit_codes.items() if line.startswith(start)), 0
        )
        assert ran.returncode == expected, f"{line}\n{ran.stdout}{ran.stderr}"
