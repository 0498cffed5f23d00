"""Commands: twice, late, for the wrong host; and an agent killed at every moment of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fixtures.agent import HOSTS, Agent, a_build
from tests.fixtures.messages.direct_bus import Killed, moments

HOST, OTHER_HOST = HOSTS


def running(agent: Agent, host: str = HOST) -> str:
    """Return the UUID of an instance that runs, and the conductor knows so."""
    instance, spec = a_build(host)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    return instance.uuid


def test_the_same_command_twice_is_built_once_and_reported_twice(agent: Agent) -> None:
    """The second answer is the same as the first."""
    command = a_build()
    agent.conductor.expect(command[0])
    agent.build(*command)
    agent.build(*command)
    assert len(agent.queue.line) == 1
    agent.settle()
    agent.build(*command)
    agent.settle()
    assert (
        agent.conductor.reported("build_succeeded") == [(HOST, command[0].uuid, 1, "running")] * 2
    )


def test_a_command_without_a_worker_is_resumed(agent: Agent) -> None:
    """The conductor's lease ran out before the agent looked itself."""
    command = a_build()
    agent.build(*command)
    agent.queue.line.clear()
    agent.build(*command)
    assert len(agent.queue.line) == 1


def test_an_attempt_that_failed_before_is_said_to_have_failed(agent: Agent) -> None:
    """It is not built, and the conductor does not wait for ever."""
    agent.conf.set_override("failing_hosts", [HOST], group="simulated")
    command = a_build()
    agent.build(*command)
    agent.settle()
    agent.build(*command)
    agent.settle()
    assert len(agent.conductor.reported("build_failed")) == 2


def test_a_lower_attempt_does_nothing(agent: Agent) -> None:
    """Its instance has moved on."""
    later, spec = a_build(OTHER_HOST, attempt=2)
    agent.conductor.expect(later)
    agent.build(later, spec)
    agent.build(*a_build(HOST, uuid=later.uuid, attempt=1))
    agent.settle()
    assert agent.guests() == {(OTHER_HOST, later.uuid)}


@pytest.mark.parametrize(
    ("host", "node"), [("unknown", "unknown"), (HOST, "another-node")], ids=["host", "node"]
)
def test_what_the_agent_does_not_carry_is_refused(agent: Agent, host: str, node: str) -> None:
    """The next host is tried immediately, instead of when a lease runs out."""
    agent.build(*a_build(host, node=node))
    agent.settle()
    assert agent.conductor.reported("build_failed")[0][-1] is True
    assert "does not manage" in agent.conductor.faults[0].message
    assert agent.guests() == set()


def test_a_delete_is_reported_also_when_nothing_is_there(agent: Agent) -> None:
    """The conductor waits for it."""
    instance, spec = a_build()
    agent.work.delete(instance.uuid, HOST)
    agent.build(instance, spec)
    agent.settle()
    assert agent.conductor.reported("instance_deleted") == [(HOST, instance.uuid)]
    assert agent.guests() == set()


def test_a_delete_twice_is_fine(agent: Agent) -> None:
    """While it is under way, and when it is done."""
    uuid = running(agent)
    agent.work.delete(uuid, HOST)
    agent.work.delete(uuid, HOST)
    agent.settle()
    agent.work.delete(uuid, HOST)
    agent.settle()
    assert agent.conductor.reported("instance_deleted") == [(HOST, uuid)] * 2


def test_a_command_for_a_host_that_is_not_carried_is_left_alone(agent: Agent) -> None:
    """Nothing is said about a host that cannot be looked at."""
    agent.work.delete(a_build()[0].uuid, "unknown")
    agent.work.forget(a_build()[0].uuid, "unknown", 1)
    agent.settle()
    assert agent.conductor.reports == []


def test_a_forgotten_attempt_goes_without_a_word(agent: Agent) -> None:
    """Its instance lives on another host."""
    uuid = running(agent)
    agent.conductor.reports.clear()
    agent.work.forget(uuid, HOST, 1)
    agent.settle()
    assert (agent.guests(), agent.states(), agent.conductor.reports) == (set(), {}, [])


# Killed at any moment -----------------------------------------------------------------------------

Act = Callable[[Agent, str], None]


def build(agent: Agent, uuid: str) -> None:
    instance, spec = a_build(uuid=uuid)
    if uuid not in agent.conductor.instances:
        agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()


def build_that_fails(agent: Agent, uuid: str) -> None:
    agent.conf.set_override("failing_hosts", [HOST], group="simulated")
    build(agent, uuid)


def delete(agent: Agent, uuid: str) -> None:
    if uuid in agent.conductor.instances:
        agent.conductor.instances[uuid].task_state = "deleting"
    agent.work.delete(uuid, HOST)
    agent.settle()


def lose_guest(agent: Agent, uuid: str) -> None:
    if agent.states().get((HOST, uuid)) == "running":
        agent.drivers[HOST].destroy(uuid)
    agent.power_reports.report()
    agent.settle()


def give_away(agent: Agent, uuid: str) -> None:
    """The conductor has given the instance to another agent's host."""
    if agent.conductor.instances[uuid].host == HOST:
        moved = agent.conductor.instances[uuid].with_values(host="elsewhere", attempt=2)
        agent.conductor.instances[uuid] = moved
    agent.work.forget(uuid, HOST, 1)
    agent.settle()


STORIES: dict[str, tuple[list[Act], str | None, bool]] = {
    "build": ([build], "active", True),
    "build-fails": ([build_that_fails], "error", False),
    "build-and-delete": ([build, delete], None, False),
    "delete-of-nothing": ([delete], None, False),
    "build-and-end": ([build, lose_guest], "stopped", False),
    "build-and-forget": ([build, give_away], "active", False),
}


@pytest.mark.parametrize("story", STORIES)
def test_an_agent_killed_at_any_moment_ends_like_one_that_was_not(
    story: str, tmp_path: Path
) -> None:
    """Before and after writes, changes by the driver, and messages; commands come again."""
    acts, vm_state, has_guest = STORIES[story]
    for count, moment in enumerate(moments(story)):
        state_path = tmp_path / str(count)
        state_path.mkdir()
        agent = Agent(state_path)
        uuid = a_build()[0].uuid
        agent.breaker.kill_at(moment)
        is_killed = False
        for act in acts:
            try:
                act(agent, uuid)
            except Killed:
                is_killed = True
                agent.breaker.mend()
                agent.restart()
                agent.settle()
                agent.reconciler.reconcile()
                agent.settle()
                act(agent, uuid)
        instance = agent.conductor.instances.get(uuid)
        assert (instance.vm_state if instance else None) == vm_state, moment
        assert agent.guests() == ({(HOST, uuid)} if has_guest else set()), moment
        assert not agent.is_anything_left(), moment
        agent.close()
        if not is_killed:
            assert moment > 2, "the story has effects"
            return
