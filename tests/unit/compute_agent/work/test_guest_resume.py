"""Guests that ran when their host ended run again."""

import pytest

from armillary import exception
from objects.instance import Instance
from tests.fixtures.agent import HOSTS, Agent, a_build

HOST = HOSTS[0]


def running(agent: Agent) -> Instance:
    instance, spec = a_build(HOST)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    return instance


def power(agent: Agent, instance: Instance) -> str:
    guests = agent.drivers[HOST].list_guests()
    return next(each.power_state for each in guests if each.instance_uuid == instance.uuid)


def rebooted(agent: Agent, *instances: Instance, is_on: bool = True) -> None:
    """End guests as a host does that ends, and start the agent again."""
    agent.conf.set_override("resume_guests_state_on_host_boot", is_on)
    for instance in instances:
        agent.drivers[HOST].power_off(instance.uuid, grace_seconds=0)
    agent.restart()
    agent.guest_resume.begin()


def test_guests_that_ran_run_again_once_the_records_were_compared(agent: Agent) -> None:
    """Meanwhile they do not count as stopped; one that was stopped before stays off."""
    guest, stopped = running(agent), running(agent)
    agent.drivers[HOST].power_off(stopped.uuid, grace_seconds=0)
    agent.power_reports.report()
    agent.settle()
    rebooted(agent, guest)
    agent.guest_resume.run()
    agent.power_reports.report()
    agent.settle()
    assert power(agent, guest) == "shutdown"
    agent.reconciler.reconcile()
    agent.guest_resume.run()
    agent.settle()
    agent.power_reports.report()
    agent.settle()
    assert (power(agent, guest), power(agent, stopped)) == ("running", "shutdown")
    reported = [each[1] for each in agent.conductor.reported("instance_ended")]
    assert reported == [stopped.uuid]


def test_without_the_option_they_are_reported_as_stopped(agent: Agent) -> None:
    guest = running(agent)
    rebooted(agent, guest, is_on=False)
    agent.reconciler.reconcile()
    agent.guest_resume.run()
    agent.power_reports.report()
    agent.settle()
    assert [each[1] for each in agent.conductor.reported("instance_ended")] == [guest.uuid]


def test_one_that_cannot_be_started_is_reported_as_stopped(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    guest = running(agent)
    rebooted(agent, guest)

    def fail(*_arguments: object) -> None:
        raise exception.OperationFailed(
            operation="Start", instance_uuid=guest.uuid, host=HOST, reason="no memory"
        )

    monkeypatch.setattr(agent.drivers[HOST], "power_on", fail)
    agent.reconciler.reconcile()
    agent.guest_resume.run()
    agent.settle()
    agent.power_reports.report()
    agent.settle()
    assert [each[1] for each in agent.conductor.reported("instance_ended")] == [guest.uuid]


def test_a_guest_that_was_evacuated_meanwhile_is_not_started(agent: Agent) -> None:
    guest = running(agent)
    rebooted(agent, guest)
    agent.conductor.instances[guest.uuid].host = "elsewhere"
    agent.reconciler.reconcile()
    agent.guest_resume.run()
    agent.settle()
    assert agent.guests() == set()
