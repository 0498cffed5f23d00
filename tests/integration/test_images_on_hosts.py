"""Hosts that share no directory with the image service, as real processes: images go over HTTP.

The agents have signing keys and state directories of their own. A workload's snapshot is sent to
the image service, and servers are built from it on the other host.
"""

import hashlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from objects.images.image_record import DRAFT_PREFIX
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.deployment import Cell, Deployment, deployed, running
from tests.fixtures.services import POSTGRESQL, RABBITMQ
from tests.fixtures.services.ports import free_port
from tests.integration.deployed_by_command import CommandDeployment, command_for
from tests.integration.trust.signed_deployment import SignedDeployment

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

HOSTS = ("machine-1", "machine-2")
SECONDS_MAX = 90
OPTIONS = """
[compute]
driver = process
[process]
stop_grace_seconds = 1
[image]
endpoint = {endpoint}/image
retry_seconds_max = 60
[image_cache]
manager_interval = -1
"""


class Workloads(Deployment):
    """Requests for workloads and snapshots of them."""

    flavor = ""

    def create(self, image: str, host: str) -> str:
        """Have a server built on a host; return its UUID."""
        body = {
            "name": "server", "flavorRef": self.flavor, "imageRef": image, "networks": "none",
            "availability_zone": f"nova:{host}",
        }  # fmt: skip
        return str(self.post("/servers", {"server": body})["server"]["id"])

    def program(self, command: str) -> str:
        """Return a new image that names a program."""
        body = {"name": "program", "process_command": command, "img_hv_type": "process"}
        answer = self._session.post(
            f"{self.api_url}/image/v2/images", json=body, timeout=waiting.seconds(30)
        )
        assert answer.ok, answer.text
        return str(answer.json()["id"])

    def snapshot(self, server: str) -> str:
        """Return the image of a new snapshot, which has its data."""
        asked = {"createImage": {"name": "snap"}}
        image = str(self.post(f"/servers/{server}/action", asked)["image_id"])
        wait_for(lambda: self.image(image)["status"] == "ACTIVE", "the snapshot", SECONDS_MAX)
        return image

    def image(self, image: str) -> dict[str, object]:
        found: dict[str, object] = self.get(f"/images/{image}")["image"]
        return found

    def state(self, service: str) -> Path:
        """Return the state directory of the API or an agent."""
        return self.folder / service

    def stored(self, service: str) -> list[str]:
        """Return the files of images that a service has, other than marks and empty drafts."""
        return sorted(
            path.name
            for path in (self.state(service) / "images").glob("*")
            if not path.name.startswith(".")
            or (path.name.startswith(DRAFT_PREFIX) and path.stat().st_size)
        )

    def home(self, host: str, server: str) -> Path:
        return self.state(host) / "processes" / server / "home"

    def snapshot_with_file(self, host: str) -> str:
        """Return a snapshot of a workload that has made a file."""
        program = self.program("sh -c 'echo made here > made; exec sleep 600'")
        server = self.create(program, host)
        self.wait_for_status(server, "ACTIVE", "ERROR")
        wait_for((self.home(host, server) / "made").exists, "the file", SECONDS_MAX)
        return self.snapshot(server)

    def assert_built(self, server: str, host: str) -> None:
        """Hold that a server of that snapshot runs on a host, with the file."""
        found = self.wait_for_status(server, "ACTIVE", "ERROR")
        assert found["status"] == "ACTIVE", self.why(server)
        assert (self.home(host, server) / "made").read_text() == "made here\n"


class Machines(Workloads, SignedDeployment):
    """Two machines with workloads, and the control plane on a third."""

    def prepare(self) -> None:
        self._options += OPTIONS.format(endpoint=self.api_url)
        super().prepare()


class DeployedMachines(Workloads, CommandDeployment):
    """Two machines: the first with the control plane, the second joined by its file."""

    def prepare(self) -> None:
        port, (first, second) = self.api_url.rpartition(":")[2], HOSTS
        root, bundles, machine = str(self.command.root), self.folder / "bundles", self.folder / "2"
        broker = f"{RABBITMQ.url.host}:{RABBITMQ.url.port}"
        self._run(
            self.command.single,
            "--api", f"127.0.0.1:{port}", "--placement", f"127.0.0.1:{free_port()}",
            "--host", first, "--driver", "process",
        )  # fmt: skip
        self._run(
            self.command.run, "add-host", "--root", root, "--bundles", str(bundles), second,
            "--broker", broker, "--api", self.api_url,
        )  # fmt: skip
        bundle = str(bundles / f"{second}.yaml")
        self._run(self.command.run, "join", "--root", str(machine), bundle)
        hosts = {host: [f"name={host}"] for host in HOSTS}
        self.cells.append(Cell("cell1", self._vhost("cell1"), "", hosts))
        files = {"super": "conductor", "placement": "placement", "scheduler": "scheduler"}
        files |= {"api": "api", "cell1-conductor": "cell-cell1", first: "compute"}
        for name, file in files.items():
            self._add_process(name, file, self.command.root)
        self._add_process(second, "compute", machine)
        self._take_token()

    def _simulated(self, agent: str) -> str:
        return "[process]\nstop_grace_seconds = 1\n"

    def state(self, service: str) -> Path:
        states = {"api": "root/var/lib/armillary/api", HOSTS[1]: "2/var/lib/armillary-compute"}
        root = self.command.folder
        return root / states.get(service, "root/var/lib/armillary-compute")


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    cells = {"cell1": {host: [f"name={host}"] for host in HOSTS}}
    folder = tmp_path_factory.mktemp("machines")
    with deployed(folder, cells, kind=Machines, schedulers=1) as made:
        made.flavor = made.create_flavor("tiny", vcpus=1, ram=64, disk=0)
        yield made
        delete_everything(made)  # workloads outlive their agents


@pytest.fixture(scope="module")
def image(machines: Machines) -> str:
    return machines.snapshot_with_file(HOSTS[0])


def test_a_snapshot_goes_to_the_image_service(machines: Machines, image: str) -> None:
    """Whole, and nothing of it stays on the host."""
    data = (machines.folder / "api" / "images" / image).read_bytes()
    assert machines.image(image)["OS-EXT-IMG-SIZE:size"] == len(data)
    assert (machines.stored("api"), machines.stored(HOSTS[0])) == ([image], [])


def test_a_server_is_built_from_it_on_another_machine(machines: Machines, image: str) -> None:
    """Which fetches the data once, and has nothing else of the image service."""
    servers = [machines.create(image, HOSTS[1]) for _ in range(2)]
    for server in servers:
        machines.assert_built(server, HOSTS[1])
    assert machines.stored(HOSTS[1]) == [image]
    fetched = (machines.folder / HOSTS[1] / "images" / image).read_bytes()
    stored = (machines.folder / "api" / "images" / image).read_bytes()
    assert hashlib.sha512(fetched).digest() == hashlib.sha512(stored).digest()
    log = machines.processes[HOSTS[1]].log.read_text()
    assert log.count(f"Fetched image {image}") == 1


def test_an_image_is_fetched_before_a_server_is_built_from_it(machines: Machines) -> None:
    """By the hosts of an aggregate; the build then fetches nothing."""
    image = machines.snapshot_with_file(HOSTS[0])
    rack = machines.post("/os-aggregates", {"aggregate": {"name": "rack"}})["aggregate"]["id"]
    machines.post(f"/os-aggregates/{rack}/action", {"add_host": {"host": HOSTS[1]}})
    asked = {"cache": [{"id": image}]}
    answer = machines.request("POST", f"/os-aggregates/{rack}/images", json=asked)
    assert answer.status_code == 202, answer.text
    wait_for(lambda: image in machines.stored(HOSTS[1]), "it is fetched", SECONDS_MAX)
    machines.assert_built(machines.create(image, HOSTS[1]), HOSTS[1])
    log = machines.processes[HOSTS[1]].log.read_text()
    assert log.count(f"Fetched image {image}") == 1


def test_a_transfer_that_was_killed_is_repeated(machines: Machines, image: str) -> None:
    """The API is killed before it, the agent within its retries: the build goes on with both."""
    agent, api = machines.processes[HOSTS[0]], machines.processes["api"]
    agent.signal(signal.SIGSTOP)
    server = machines.create(image, HOSTS[0])
    api.kill()
    agent.signal(signal.SIGCONT)
    wait_for(
        lambda: f"Image {image}: the transfer is tried again" in agent.log.read_text(),
        "the agent tries again", SECONDS_MAX,
    )  # fmt: skip
    agent.kill()
    assert machines.stored(HOSTS[0]) == []
    machines.start(api.name, agent.name)
    wait_for(machines.answers, "the API answers", SECONDS_MAX)
    found = machines.wait_for_status(server, "ACTIVE", "ERROR")
    assert found["status"] == "ACTIVE", machines.why(server)
    assert machines.stored(HOSTS[0]) == [image]


def test_data_that_changed_is_refused(machines: Machines) -> None:
    """The server is in error, with the reason; the host keeps nothing of it."""
    server = machines.create(machines.program("sleep 600"), HOSTS[0])
    machines.wait_for_status(server, "ACTIVE")
    image = machines.snapshot(server)
    path = machines.folder / "api" / "images" / image
    with path.open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read(1)
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last[0] ^ 1]))
    spoilt = machines.create(image, HOSTS[1])
    found = machines.wait_for_status(spoilt, "ACTIVE", "ERROR")
    assert found["status"] == "ERROR"
    assert "SHA-512" in str(machines.why(spoilt)) + str(found["fault"])
    assert image not in machines.stored(HOSTS[1])


@pytest.mark.long
def test_a_host_that_was_joined_needs_no_shared_directory(tmp_path: Path) -> None:
    """What deploy writes is enough, for the first machine's own agent, too."""
    with (
        command_for(tmp_path, POSTGRESQL) as command,
        running(DeployedMachines(tmp_path, command)) as made,
    ):
        made.flavor = made.create_flavor("tiny", vcpus=1, ram=64, disk=0)
        for host, other in (HOSTS, HOSTS[::-1]):
            image = made.snapshot_with_file(host)
            made.assert_built(made.create(image, other), other)
            assert image in made.stored("api")
            assert image in made.stored(other)
            assert image not in made.stored(host)
        delete_everything(made)
