"""All of Armillary in front of two daemons of libvirt, with an agent as a process for each."""

import contextlib
import os
import shutil
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from armillary.consoles import console_links
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from tests.fixtures.asking import Api, wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.deployment import BIN, Process
from tests.fixtures.libvirt.libvirt_hosts import GREETING, IMAGE_NAME, libvirt_library
from tests.fixtures.services.brokers import fresh_vhost
from tests.integration.libvirt import control_plane_program
from tests.integration.libvirt.libvirt_daemons import NAMES, NOBODY, Daemons, unprivileged

START_SECONDS_MAX = 90.0
KEY_NAME = "serial-console.key"
CONTROL_PLANE = """
[DEFAULT]
transport_url = {top_url}
state_path = {state_path}
workers = 1
report_interval = 1
service_down_time = 60
[api]
bind_port = 0
[placement]
rest_bind_port = 0
[cell]
uuid = {cell_uuid}
transport_url = {cell_url}
[conductor]
lease_seconds = 4
recovery_interval_seconds = 0.5
retry_pause_seconds = 0.5
discover_hosts_interval_seconds = 0.5
[quota]
instances = -1
cores = -1
ram = -1
[serial_console]
enabled = true
base_url = {proxy_url}
key_file = {key_file}
"""
AGENT = """
[DEFAULT]
transport_url = {url}
host = {host}
my_ip = 127.0.0.1
state_path = {state_path}
report_interval = 1
graceful_shutdown_timeout = 2
reserved_host_memory_mb = 0
[compute]
driver = libvirt
guest_poll_interval_seconds = 0.3
shutdown_timeout_seconds = 0.5
[serial_console]
enabled = true
bind_port = 0
[libvirt]
live_migration_bandwidth = 1
{options}
"""
# Ours run as who the daemons are. Where that is not us, the programs may still lie where it could
# not read them.
_AS_NOBODY = (
    "setpriv",
    f"--reuid={NOBODY}",
    f"--regid={NOBODY}",
    "--clear-groups",
    "--inh-caps=+dac_override",
    "--ambient-caps=+dac_override",
)


class LibvirtSystem(Api):
    """The API, and what the daemons say themselves of the guests that they have.

    ``store`` is the directory of the image service.
    """

    def __init__(self, url: str, daemons: Daemons, cell_url: str, store: Path) -> None:
        super().__init__(url, requests.Session())
        self.store = store
        self._daemons = daemons
        self.agents = {name: _agent(name, daemons, cell_url) for name in NAMES}
        self._opened: dict[str, Any] = {}
        self.connect()

    def connect(self) -> None:
        """Connect to the daemons, again where one was killed."""
        library = libvirt_library()
        for opened in self._opened.values():
            with contextlib.suppress(library.libvirtError):
                opened.close()
        with unprivileged():
            self._opened = {
                name: library.open(self._daemons.options(name)["connection_uri"]) for name in NAMES
            }

    def close(self) -> None:
        """End the agents, and what their guests have left."""
        for agent in self.agents.values():
            agent.kill()
        for opened in self._opened.values():
            opened.close()
        for name in NAMES:
            shutil.rmtree(self._daemons.state_path(name), ignore_errors=True)

    def start(self, *hosts: str) -> None:
        """Start agents, and wait until their hosts are up."""
        for host in hosts:
            self.agents[host].start()
        wait_for(lambda: self.up_hosts() == len(NAMES), "both hosts are up", START_SECONDS_MAX)
        flavor = self.create_flavor("probe", vcpus=1, ram=1, disk=0)
        wait_for(lambda: self._are_mapped(flavor), "both hosts are mapped", START_SECONDS_MAX)
        self.request("DELETE", f"/flavors/{flavor}")

    def _are_mapped(self, flavor: str) -> bool:
        """Whether a request may name each host: it is discovered a moment after it is up."""
        zones = [f"nova:{host}" for host in NAMES]
        asked = [{"server": {"flavorRef": flavor, "availability_zone": zone}} for zone in zones]
        return all(self.request("POST", "/armillary/dry-run", json=one).ok for one in asked)

    def create_image(self) -> str:
        """Return the image that says hello when it boots."""
        body = {"name": "hello", "disk_format": "raw", "properties": {FILE_PROPERTY: IMAGE_NAME}}
        image: str = self.post("/images", {"image": body})["image"]["id"]
        return image

    def has_fetched(self, image: str) -> bool:
        """Whether the hosts have an image, which they keep in a directory of their own."""
        return (self._daemons.directory / "images" / f".fetched-{image}").exists()

    def server(self, uuid: str) -> dict[str, Any]:
        found: dict[str, Any] = self.get(f"/servers/{uuid}")["server"]
        return found

    def console(self, uuid: str) -> str:
        body: dict[str, Any] = {"os-getConsoleOutput": {}}
        return str(self.post(f"/servers/{uuid}/action", body)["output"])

    def serial_console(self, uuid: str) -> str:
        """Return a link to a server's serial console."""
        wanted = {"remote_console": {"protocol": "serial", "type": "serial"}}
        url: str = self.post(f"/servers/{uuid}/remote-consoles", wanted)["remote_console"]["url"]
        return url

    def guests(self) -> dict[str, dict[str, bool]]:
        """Return host -> UUID -> whether it runs, as the daemons tell it."""
        return {
            name: {each.UUIDString(): bool(each.isActive()) for each in opened.listAllDomains(0)}
            for name, opened in self._opened.items()
        }

    def memory_mb(self, host: str, uuid: str) -> int:
        """Return the memory of a guest, as its daemon tells it."""
        return int(self._opened[host].lookupByUUIDString(uuid).maxMemory()) // 1024

    def is_moving(self, host: str, uuid: str) -> bool:
        """Whether its daemon is sending a guest away."""
        job = self._opened[host].lookupByUUIDString(uuid).jobInfo()
        return bool(job[0] != libvirt_library().VIR_DOMAIN_JOB_NONE)

    def files(self) -> list[Path]:
        """Return the directories of all guests, on both hosts."""
        return [
            path
            for name in NAMES
            for path in (self._daemons.state_path(name) / "instances").glob("*")
        ]

    def logs(self) -> str:
        return "\n".join(
            f"==== {name}\n{agent.log.read_text(errors='replace')[-4000:]}"
            for name, agent in self.agents.items()
        )


@contextlib.contextmanager
def libvirt_system(folder: Path, daemons: Daemons) -> Iterator[LibvirtSystem]:
    """Lend a running system whose two hosts are up; nothing of it is left afterwards."""
    with contextlib.ExitStack() as lent:
        top_url, cell_url = (lent.enter_context(fresh_vhost()) for _ in range(2))
        proxy = _console_proxy(folder)
        lent.callback(proxy.kill)
        plane = _control_plane(folder, top_url, cell_url, _proxy_url(proxy))
        lent.callback(plane.kill)
        plane.start()
        system = LibvirtSystem(_address(plane), daemons, cell_url, folder / "images")
        lent.callback(system.close)
        system.start(*NAMES)
        yield system


def _console_proxy(folder: Path) -> Process:
    """Start the proxy of serial consoles, with a new key."""
    console_links.make_key(folder / KEY_NAME)
    words = ["--key-file", str(folder / KEY_NAME), "--port", "0"]
    proxy = Process(
        name="serialproxy",
        command=[str(BIN / "armillary-serialproxy"), *words],
        log=folder / "serialproxy.log",
        environment={"PYTHONUNBUFFERED": "1"},
    )
    proxy.start()
    return proxy


def _proxy_url(proxy: Process) -> str:
    def said() -> str:
        log = proxy.log.read_text(errors="replace")
        assert proxy.is_alive(), log
        return log.partition(" port ")[2].partition("\n")[0]

    return f"ws://127.0.0.1:{wait_for(said, 'the proxy listens', START_SECONDS_MAX)}/"


def _control_plane(folder: Path, top_url: str, cell_url: str, proxy_url: str) -> Process:
    config = folder / "control-plane.conf"
    config.write_text(
        CONTROL_PLANE.format(
            top_url=top_url,
            cell_url=cell_url,
            state_path=folder,
            cell_uuid=uuid.uuid4(),
            proxy_url=proxy_url,
            key_file=folder / KEY_NAME,
        )
    )
    program = [sys.executable, "-P", control_plane_program.__file__, "--config-file", str(config)]
    path = os.pathsep.join([str(Path.cwd()), *sys.path])
    return Process(
        name="control-plane",
        command=program,
        log=folder / "control-plane.log",
        environment={"PYTHONUNBUFFERED": "1", "PYTHONPATH": path},
    )


def _address(plane: Process) -> str:
    """Return where the API listens, once it does."""

    def said() -> str:
        log = plane.log.read_text(errors="replace")
        assert plane.is_alive(), log
        return log.partition(control_plane_program.READY)[2].partition("\n")[0]

    return str(wait_for(said, "the control plane listens", START_SECONDS_MAX))


def _agent(host: str, daemons: Daemons, cell_url: str) -> Process:
    directory = daemons.directory / host
    config = directory / "compute.conf"
    options = "\n".join(f"{name} = {value}" for name, value in daemons.options(host).items())
    with unprivileged():
        config.write_text(
            AGENT.format(
                url=cell_url, host=host, state_path=daemons.state_path(host), options=options
            )
        )
    command = [str(BIN / "armillary-compute"), "--config-file", str(config)]
    return Process(
        name=host,
        command=[*(_AS_NOBODY if os.geteuid() == 0 else ()), *command],
        log=directory / "compute.log",
        environment={"PYTHONUNBUFFERED": "1", "HOME": str(directory)},
    )


SECONDS_MAX = 90.0
HOST = "OS-EXT-SRV-ATTR:host"


@pytest.fixture(scope="module")
def system(
    both_daemons: Daemons, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LibvirtSystem]:
    """Lend the system to all these tests: to start it takes longer than what they do."""
    with libvirt_system(tmp_path_factory.mktemp("system"), both_daemons) as running:
        yield running


@pytest.fixture(autouse=True)
def nothing_is_left(system: LibvirtSystem) -> Iterator[None]:
    """Delete all servers; after that no daemon has a guest, and no host a file of one."""
    yield
    delete_everything(system)
    assert system.guests() == {"a": {}, "b": {}}
    assert system.files() == []


@pytest.fixture(scope="module")
def request_for(system: LibvirtSystem) -> dict[str, Any]:
    """Return what is asked for each time: a small guest of the image."""
    flavor = system.create_flavor("small", vcpus=1, ram=64, disk=0)
    return {"flavor": flavor, "count": 1, "imageRef": system.create_image()}


def wait_for_boots(system: LibvirtSystem, uuid: str, count: int) -> None:
    wait_for(lambda: system.console(uuid).count(GREETING) == count, "boots", SECONDS_MAX)
