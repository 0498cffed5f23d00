"""An agent one RPC version older on a real broker: what works there, and what after an upgrade."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary.service_history import CURRENT_VERSION
from objects.request_spec import RequestSpec
from tests.fixtures import older_agent
from tests.fixtures.asking import wait_for
from tests.fixtures.brokers import fresh_vhost
from tests.fixtures.databases import fresh_database
from tests.fixtures.deployment import Cell, Deployment
from tests.fixtures.ledger import delete_everything
from tests.fixtures.services import POSTGRESQL

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql]

OLD, NEW = "cell1-old", "cell1-new"
OLD_HOST, NEW_HOSTS = "old-1", {"new-1", "new-2"}
SIZE = "vcpus=16:memory_mb=32768:disk_gb=500"
AUTO = "[upgrade_levels]\nscheduler = auto\nplacement = auto\nconductor = auto\n"
SECONDS_MAX = 120
LEVEL_OF_CELL = "cell_conductor = {}\n"


class Mixed(Deployment):
    """One cell with an agent of the release before and one of this."""

    def prepare(self) -> None:
        super().prepare()
        process = self.processes[OLD]
        self._present = process.command
        process.command = [sys.executable, older_agent.__file__, *process.command[1:]]
        with self.config(OLD).open("a") as config:
            config.write(LEVEL_OF_CELL.format("1.0"))

    def config(self, name: str) -> Path:
        return self.folder / f"{name}.conf"

    def upgrade_agent(self) -> None:
        """Replace the older agent by the present one."""
        process = self.processes[OLD]
        process.stop()
        process.command = self._present
        config = self.config(OLD)
        config.write_text(config.read_text().replace(LEVEL_OF_CELL.format("1.0"), ""))
        process.start()
        wait_for(
            lambda: self.versions()["armillary-compute", OLD_HOST] == CURRENT_VERSION,
            "the new agent has reported", SECONDS_MAX,
        )  # fmt: skip

    def versions(self) -> dict[tuple[str, str], int]:
        found = self.get("/os-services")["services"]
        return {(one["binary"], one["host"]): one["armillary:version"] for one in found}

    def create_on(self, flavor: str, host: str) -> str:
        (uuid,) = self.create_servers(flavor, 1, availability_zone=f"nova:{host}")
        server = self.settled([uuid], seconds=SECONDS_MAX)[uuid]
        assert (server["status"], server["OS-EXT-SRV-ATTR:host"]) == ("ACTIVE", host), server
        return uuid

    def refused(self, uuid: str, action: str, arguments: Any = None) -> str:
        answer = self.request("POST", f"/servers/{uuid}/action", json={action: arguments})
        assert answer.status_code == 409, f"{action}: {answer.status_code} {answer.text}"
        message: str = answer.json()["conflictingRequest"]["message"]
        return message

    def received(self) -> set[str]:
        """Return what the older agent said of the objects that it was sent."""
        lines = self.processes[OLD].log.read_text().splitlines()
        return {line for line in lines if line.startswith(older_agent.RECEIVED)}


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mixed]:
    folder = tmp_path_factory.mktemp("upgrade")
    with contextlib.ExitStack() as lent:

        def new_database() -> str:
            return lent.enter_context(fresh_database(POSTGRESQL))

        cell = Cell(
            name="cell1",
            transport_url=lent.enter_context(fresh_vhost()),
            database_url=new_database(),
            agents={
                OLD: [f"name={OLD_HOST}:{SIZE}"],
                NEW: [f"name={host}:{SIZE}" for host in sorted(NEW_HOSTS)],
            },
        )
        made = Mixed(
            folder,
            top_url=lent.enter_context(fresh_vhost()),
            databases={name: new_database() for name in ("api", "cell0", "placement")},
            cells=[cell],
            options=AUTO,
        )
        lent.callback(made.stop)
        made.prepare()
        made.start()
        made.wait_until_ready()
        yield made


@pytest.fixture(scope="module")
def small(deployment: Mixed) -> str:
    return deployment.create_flavor("small", vcpus=1, ram=512)


def test_an_agent_of_the_release_before_until_it_is_upgraded(deployment: Mixed, small: str) -> None:
    """Builds and deletes work on it; operations are refused with its host's name, until then."""
    wait_for(lambda: len(deployment.versions()) >= 9, "all services have reported", SECONDS_MAX)
    versions = deployment.versions()
    assert versions.pop(("armillary-compute", OLD_HOST)) == older_agent.SERVICE_VERSION
    assert set(versions.values()) == {CURRENT_VERSION}
    conductors = {name: deployment.processes[name].running for name in ("super", "cell1-conductor")}

    on_old, on_new = (deployment.create_on(small, host) for host in (OLD_HOST, "new-1"))
    assert f"{older_agent.RECEIVED} RequestSpec 1.0" in deployment.received()
    for action, arguments in [
        ("os-stop", None),
        ("reboot", {"type": "HARD"}),
        ("migrate", None),
        ("os-getConsoleOutput", {}),
    ]:
        message = deployment.refused(on_old, action, arguments)
        assert OLD_HOST in message
        assert "upgrade armillary-compute" in message
    assert OLD_HOST in deployment.refused(on_new, "migrate", {"host": OLD_HOST})
    for action, status in [("os-stop", "SHUTOFF"), ("os-start", "ACTIVE"),
                           ("migrate", "VERIFY_RESIZE")]:  # fmt: skip
        deployment.act(on_new, action)
        server = deployment.at_rest([on_new], seconds=SECONDS_MAX)[on_new]
        assert server["status"] == status, (action, deployment.why(on_new))
    assert server["OS-EXT-SRV-ATTR:host"] == "new-2"
    gone = deployment.create_on(small, OLD_HOST)
    assert deployment.request("DELETE", f"/servers/{gone}").status_code == 204
    wait_for(
        lambda: deployment.request("GET", f"/servers/{gone}").status_code == 404,
        "the server on the older agent is gone", SECONDS_MAX,
    )  # fmt: skip

    deployment.upgrade_agent()
    for action, status in [("os-stop", "SHUTOFF"), ("os-start", "ACTIVE"),
                           ("migrate", "VERIFY_RESIZE")]:  # fmt: skip
        deployment.act(on_old, action)
        server = deployment.at_rest([on_old], seconds=SECONDS_MAX)[on_old]
        assert server["status"] == status, (action, deployment.why(on_old))
    for name, running in conductors.items():
        assert deployment.processes[name].running is running
        assert deployment.processes[name].is_alive()
    delete_everything(deployment)


def test_an_older_agent_that_is_sent_newer_objects_asks_for_what_it_knows(
    deployment: Mixed, small: str
) -> None:
    """The newest object is sent; it asks its conductor for it again, as it knows it.

    The level is set, wrongly, while the conductor runs: it reads it again on SIGHUP.
    """
    conductor = deployment.processes["cell1-conductor"]
    with deployment.config("cell1-conductor").open("a") as config:
        config.write("compute = 1.1\n")
    conductor.signal(signal.SIGHUP)
    wait_for(
        lambda: b"reloaded its configuration" in conductor.log.read_bytes(), "it reads", SECONDS_MAX
    )
    process = deployment.processes[OLD]
    process.stop()
    process.command = [sys.executable, older_agent.__file__, *process.command[1:]]
    process.log.write_text("")
    with deployment.config(OLD).open("a") as older:
        older.write(LEVEL_OF_CELL.format("1.0"))
    process.start()
    wait_for(
        lambda: deployment.versions()["armillary-compute", OLD_HOST] == older_agent.SERVICE_VERSION,
        "the older agent has reported", SECONDS_MAX,
    )  # fmt: skip
    deployment.create_on(small, OLD_HOST)
    received = deployment.received()
    assert f"{older_agent.RECEIVED} RequestSpec {RequestSpec.VERSION}" in received
    assert f"{older_agent.RECEIVED} RequestSpec 1.0" in received
