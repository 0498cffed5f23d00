"""Reconciliation for real: journal, drivers and a conductor that answers, or does not."""

from pathlib import Path
from typing import Any

import oslo_messaging
import pytest

from armillary.context import RequestContext
from compute_agent.journal.journal import State
from compute_agent.reporting import reconcile
from compute_agent.reporting.reconcile import RETRY_SECONDS
from objects.instance import Instance
from tests.fixtures.agent import HOSTS, Agent, a_build

HOST = HOSTS[0]


def running(agent: Agent, host: str = HOST) -> Instance:
    """Return an instance that runs, and the conductor knows so."""
    instance, spec = a_build(host)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    return instance


def lose_journal(agent: Agent) -> None:
    """Move the journal away, as the message about a corrupt one says, and restart."""
    agent.close()
    for path in Path(agent.state_path).glob("journal.sqlite*"):
        path.unlink()
    agent.restart()


def reconcile_all(agent: Agent) -> None:
    agent.reconciler.reconcile()
    agent.settle()


def test_a_guest_that_the_conductor_does_not_know_goes(agent: Agent) -> None:
    """It was deleted, or built elsewhere, while the agent was down. Nothing is reported."""
    stray, kept = running(agent), running(agent, HOSTS[1])
    del agent.conductor.instances[stray.uuid]
    agent.conductor.reports.clear()
    agent.restart()
    reconcile_all(agent)
    assert agent.guests() == {(HOSTS[1], kept.uuid)}
    assert agent.conductor.reports == []


@pytest.mark.parametrize("knows", ["all", "no journal", "that it ended"])
def test_a_guest_that_runs_is_not_left_as_stopped(agent: Agent, knows: str) -> None:
    """Whether another agent reported its end, or it was started past this one: in one round."""
    instance = running(agent)
    agent.conductor.instances[instance.uuid].vm_state = "stopped"
    agent.conductor.reports.clear()
    if knows == "no journal":
        lose_journal(agent)
    elif knows == "that it ended":
        assert agent.journal is not None
        agent.journal.end(HOST, instance.uuid, 1, 0)
        agent.settle()
        agent.conductor.reports.clear()
    reconcile_all(agent)
    reconcile_all(agent)
    assert agent.conductor.reports == [("power_changed", HOST, instance.uuid, 1, "running")]
    assert agent.states() == {(HOST, instance.uuid): State.RUNNING}
    assert agent.conductor.instances[instance.uuid].vm_state == "active"


def test_a_host_is_not_settled_while_a_stray_is_being_destroyed(agent: Agent) -> None:
    """However long that takes, also for the next run of the agent; its resources are in use."""
    stray = running(agent)
    del agent.conductor.instances[stray.uuid]
    agent.restart()
    assert not agent.reconciler.is_settled(0.0)  # not compared
    for _ in range(2):
        agent.reconciler.reconcile()
        assert not agent.reconciler.is_settled(0.0)
        agent.restart()
    agent.reconciler.reconcile()
    agent.settle()
    assert agent.reconciler.is_settled(0.0)


def test_other_guests_wait_half_a_minute_for_it(agent: Agent) -> None:
    """Then they continue, though it is not destroyed."""
    stray = running(agent)
    del agent.conductor.instances[stray.uuid]
    agent.reconciler.reconcile()
    agent.now += reconcile.DESTROY_SECONDS_MAX
    assert not agent.reconciler.is_corrected(0.0)
    agent.now += 1.0
    assert agent.reconciler.is_corrected(0.0)
    assert not agent.reconciler.is_settled(0.0)


def test_a_stray_is_kept_where_the_operator_wants_it(agent: Agent) -> None:
    """While a database is being restored."""
    agent.conf.set_override("stray_guest_action", "keep", group="compute")
    stray = running(agent)
    agent.conductor.instances.clear()
    reconcile_all(agent)
    assert agent.guests() == {(HOST, stray.uuid)}


@pytest.mark.parametrize("is_first", [True, False], ids=["first", "later"])
def test_nothing_is_destroyed_without_an_answer(agent: Agent, is_first: bool) -> None:
    """Silence is not an answer; it is asked again soon."""
    instance = running(agent)
    agent.conductor.instances.clear()
    agent.reconciler.request()
    if not is_first:
        agent.conductor.expect(instance)
        assert agent.reconciler.step() is not None
        agent.conductor.instances.clear()
    agent.bus.fail("list_host_instances", oslo_messaging.MessagingTimeout("no answer"))
    assert agent.reconciler.step() == RETRY_SECONDS
    agent.settle()
    assert agent.guests() == {(HOST, instance.uuid)}


def test_nothing_is_compared_before_it_was_asked_for(agent: Agent) -> None:
    """The first request comes with the first contact."""
    assert agent.reconciler.step() is None
    assert agent.conductor.agents == set()


def test_it_is_repeated_in_its_interval(agent: Agent) -> None:
    """With some jitter, so that a fleet does not ask together."""
    agent.reconciler.request()
    wait = agent.reconciler.step()
    assert wait is not None
    assert 300 <= wait <= 330


def test_a_build_that_came_after_the_question_is_not_touched(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conductor's answer is older than the guest."""
    instance, spec = a_build()
    answer = agent.conductor.list_host_instances

    def late(context: RequestContext, **arguments: Any) -> list[Instance]:
        known = list(answer(context, **arguments))
        agent.conductor.expect(instance)
        agent.build(instance, spec)
        agent.settle()
        return known

    monkeypatch.setattr(agent.conductor, "list_host_instances", late)
    reconcile_all(agent)
    assert agent.guests() == {(HOST, instance.uuid)}
    assert agent.conductor.instances[instance.uuid].vm_state == "active"


def test_what_changed_since_the_question_is_left_alone(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delete that was finished meanwhile does not come back as an instance to be taken over."""
    instance = running(agent)
    lose_journal(agent)
    answer = agent.conductor.list_host_instances

    def late(context: RequestContext, **arguments: Any) -> list[Instance]:
        known = list(answer(context, **arguments))
        agent.work.delete(instance.uuid, HOST)
        agent.settle()
        return known

    monkeypatch.setattr(agent.conductor, "list_host_instances", late)
    reconcile_all(agent)
    assert (agent.states(), agent.guests()) == ({}, set())
    assert agent.conductor.reported("instance_ended") == []


def test_a_lost_delete_is_done_and_reported(agent: Agent) -> None:
    """The command was sent while the agent was down."""
    instance = running(agent)
    agent.conductor.instances[instance.uuid].task_state = "deleting"
    reconcile_all(agent)
    assert agent.guests() == set()
    assert agent.conductor.reported("instance_deleted") == [(HOST, instance.uuid)]


def test_a_lost_journal_is_made_good(agent: Agent) -> None:
    """Running guests are taken over without a word, those that are gone are reported as ended."""
    alive, dead = running(agent), running(agent)
    agent.drivers[HOST].destroy(dead.uuid)
    lose_journal(agent)
    agent.conductor.reports.clear()
    reconcile_all(agent)
    assert agent.states() == {(HOST, alive.uuid): "running", (HOST, dead.uuid): "ended"}
    assert agent.conductor.reports == [("instance_ended", HOST, dead.uuid, 1, None)]


def test_a_report_that_the_conductor_has_lost_is_made_again(agent: Agent) -> None:
    """Its database was set back: it still waits for the build."""
    instance = running(agent)
    agent.conductor.instances[instance.uuid].vm_state = "building"
    reconcile_all(agent)
    assert agent.conductor.instances[instance.uuid].vm_state == "active"


def test_a_host_whose_guests_cannot_be_listed_is_left_out(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its instances are not asked for, its journal is not touched; the other host's are."""

    def broken() -> None:
        raise OSError("no such disk")

    here, there = running(agent), running(agent, HOSTS[1])
    agent.conductor.instances.clear()
    monkeypatch.setattr(agent.drivers[HOST], "list_guests", broken)
    agent.reconciler.reconcile()
    monkeypatch.undo()
    agent.settle()
    assert agent.guests() == {(HOST, here.uuid)}
    assert (HOSTS[1], there.uuid) not in agent.states()


def test_many_hosts_are_asked_for_in_several_messages(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message has a bound; only guests that none of them names are unknown."""
    monkeypatch.setattr(reconcile, "HOSTS_PER_MESSAGE_MAX", 1)
    instances = [running(agent), running(agent, HOSTS[1])]
    reconcile_all(agent)
    assert agent.guests() == {(instance.host, instance.uuid) for instance in instances}
