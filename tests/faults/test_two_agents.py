"""Two agents with one host name: a copy of the state directory, and a machine without one."""

import dataclasses
import shutil

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import assert_all_active, delete_everything
from tests.fixtures.deployment import REPORT_INTERVAL_SECONDS, two_cells
from tests.fixtures.services import POSTGRESQL

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

AGENT = "cell2-agent-1"


@pytest.fixture(scope="module")
def deployment(tmp_path_factory):
    with two_cells(tmp_path_factory.mktemp("two-agents"), POSTGRESQL) as running:
        yield running


@pytest.fixture
def second(deployment):
    """Return a process that makes an agent of the same name, with a copy of the state directory."""
    first = deployment.processes[AGENT]
    state, config = deployment.folder / AGENT, deployment.folder / f"{AGENT}.conf"
    copied = deployment.folder / f"{AGENT}-copy"
    shutil.copytree(state, copied)
    text = config.read_text().replace(f"state_path = {state}", f"state_path = {copied}")
    other = deployment.folder / f"{AGENT}-copy.conf"
    other.write_text(text)
    made = dataclasses.replace(
        first, name=f"{AGENT}-copy", running=None, log=deployment.folder / f"{AGENT}-copy.log",
        command=[first.command[0], "--config-file", str(other)],
    )  # fmt: skip
    yield made
    made.stop()
    shutil.rmtree(copied)


def wait_for_text(process, text, seconds=30):
    wait_for(lambda: text in process.log.read_text(), f"{process.name} says {text!r}", seconds)


def test_one_of_two_acts_and_a_kill_of_it_lets_the_other_go_on(deployment, second):
    """The second is refused immediately; after the first one's death it is admitted, and back."""
    first, hosts = deployment.processes[AGENT], deployment.up_hosts()
    admitted_seconds_max = deployment.limits["down_seconds"] + 2 * REPORT_INTERVAL_SECONDS + 10
    flavor = deployment.create_flavor("two", vcpus=1, ram=512, disk=2)
    second.start()
    wait_for_text(second, "another agent of this name is alive")
    uuids = [uuid for _ in range(5) for uuid in deployment.create_servers(flavor, 4)]
    assert_all_active(deployment, uuids)
    assert "attempt 1" not in second.log.read_text()
    first.kill()
    wait_for_text(second, f"Agent {AGENT} is admitted now", admitted_seconds_max)
    first.start()
    wait_for_text(first, "another agent of this name is alive")
    second.kill()
    wait_for_text(first, f"Agent {AGENT} is admitted now", admitted_seconds_max)
    wait_for(lambda: deployment.up_hosts() == hosts, "the agent's hosts are up again")
    # While the copy was at work, it did not have these guests, and said that they had ended.
    assert_all_active(deployment, uuids)
    for uuid in uuids:
        deployment.act(uuid, "os-stop", None)
    found = deployment.at_rest(uuids, seconds=60)
    assert {server["status"] for server in found.values()} == {"SHUTOFF"}
    delete_everything(deployment)
