"""A rolling upgrade on a real broker: all but one agent are of a later release."""

import sys
from collections.abc import Iterator

import pytest

from armillary.service_history import CURRENT_VERSION
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.deployment import Deployment, deployed
from tests.integration import newer_release

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.sampled_file(every=3)]

OLD, NEW = "cell1-old", "cell1-new"
OLD_HOST, NEW_HOST = "old-1", "new-1"
SIZE = "vcpus=16:memory_mb=32768:disk_gb=500"
AUTO = "[upgrade_levels]\nscheduler = auto\nplacement = auto\nconductor = auto\n"
SECONDS_MAX = 120


class Mixed(Deployment):
    """One cell with an agent of this release; all other services are of the next one."""

    def prepare(self) -> None:
        super().prepare()
        for name in self.processes:
            if name != OLD:
                self.be_newer(name)

    def be_newer(self, name: str) -> None:
        process = self.processes[name]
        # -P: the fixtures' folder has modules of the same names as our packages
        process.command = [sys.executable, "-P", newer_release.__file__, *process.command]

    def versions(self) -> dict[tuple[str, str], int]:
        found = self.get("/os-services")["services"]
        return {(one["binary"], one["host"]): one["armillary:version"] for one in found}

    def rewritten(self) -> int:
        """Return how often the cell's conductor rewrote a request spec for its older agent."""
        log = self.processes["cell1-conductor"].log.read_text()
        return log.count(f"{newer_release.REWRITTEN} 1.0")

    def build_and_stop(self, flavor: str, host: str) -> None:
        (uuid,) = self.create_servers(flavor, 1, availability_zone=f"nova:{host}")
        server = self.settled([uuid], seconds=SECONDS_MAX)[uuid]
        assert (server["status"], server["OS-EXT-SRV-ATTR:host"]) == ("ACTIVE", host), server
        self.act(uuid, "os-stop")
        assert self.at_rest([uuid], seconds=SECONDS_MAX)[uuid]["status"] == "SHUTOFF"


@pytest.fixture
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    cells = {"cell1": {OLD: [f"name={OLD_HOST}:{SIZE}"], NEW: [f"name={NEW_HOST}:{SIZE}"]}}
    folder = tmp_path_factory.mktemp("upgrade")
    with deployed(folder, cells, kind=Mixed, options=AUTO) as made:
        yield made


def test_an_older_agent_works_until_it_is_upgraded(deployment: Mixed) -> None:
    """It asks its conductor for the request specs that it knows; upgraded, it no longer has to."""
    small = deployment.create_flavor("small", vcpus=1, ram=512)
    wait_for(lambda: len(deployment.versions()) >= 8, "all services have reported", SECONDS_MAX)
    versions = deployment.versions()
    assert versions.pop(("armillary-compute", OLD_HOST)) == CURRENT_VERSION
    assert set(versions.values()) == {newer_release.SERVICE_VERSION}

    deployment.build_and_stop(small, NEW_HOST)
    assert deployment.rewritten() == 0
    deployment.build_and_stop(small, OLD_HOST)
    rewritten = deployment.rewritten()
    assert rewritten > 0

    process = deployment.processes[OLD]
    process.stop()
    deployment.be_newer(OLD)
    process.start()
    wait_for(
        lambda: set(deployment.versions().values()) == {newer_release.SERVICE_VERSION},
        "the new agent has reported", SECONDS_MAX,
    )  # fmt: skip
    deployment.build_and_stop(small, OLD_HOST)
    assert deployment.rewritten() == rewritten
    delete_everything(deployment)
