"""Staleness check: commands given up while an agent was down are not executed."""

from armillary import exception
from armillary.context import admin_context
from compute_agent.journal.command_log import CommandLog
from objects.instance import Instance
from objects.instances.instance_command import InstanceCommand, Verb
from objects.request_spec import RequestSpec
from tests.fixtures.agent import HOSTS, Agent, a_build

HERE, THERE = HOSTS


def commanded(instance: Instance, spec: RequestSpec, verb: Verb, sequence: int) -> InstanceCommand:
    """Return a command that is for an instance's own host."""
    return InstanceCommand.from_values(
        instance=instance, host=HERE, operation="test", verb=verb.value, sequence=sequence,
        arguments={}, request_spec=spec,
    )  # fmt: skip


def a_server(agent: Agent) -> tuple[Instance, RequestSpec]:
    """Return a server that was built, whose agent is in doubt of what comes."""
    instance, spec = a_build(HERE)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    agent.conductor_lease.in_doubt = True
    return instance, spec


def test_an_attempt_that_went_on_elsewhere_is_not_built(agent: Agent) -> None:
    """It leaves nothing, and says nothing."""
    instance, spec = a_build(HERE)
    agent.conductor.expect(instance.with_values(host="another", attempt=2))
    agent.conductor_lease.in_doubt = True
    agent.build(instance, spec)
    agent.settle()
    assert (agent.guests(), agent.conductor.reports) == (set(), [])


def test_an_attempt_that_is_wanted_is_built_in_doubt_too(agent: Agent) -> None:
    """The conductor says that it is."""
    instance, spec = a_build(HERE)
    agent.conductor.expect(instance)
    agent.conductor_lease.in_doubt = True
    agent.build(instance, spec)
    agent.settle()
    assert agent.guests() == {(HERE, instance.uuid)}


def test_an_attempt_waits_while_no_conductor_says_whether_it_is_wanted(agent: Agent) -> None:
    """It is built when a conductor does."""
    instance, spec = a_build(HERE)
    agent.conductor.expect(instance)
    agent.conductor_lease.in_doubt = True
    agent.bus.fail("is_build_wanted", exception.RpcTimeout(reason="no answer"))
    agent.build(instance, spec)
    agent.queue.run()
    before = agent.guests()
    agent.settle()
    assert (before, agent.guests()) == (set(), {(HERE, instance.uuid)})


def test_a_command_that_was_given_up_is_not_executed(agent: Agent) -> None:
    """Nothing is answered; what earlier ones left is looked at soon."""
    instance, spec = a_server(agent)
    agent.conductor.given_up.add(4)
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.POWER_OFF, 4))
    agent.settle()
    assert agent.states() == {(HERE, instance.uuid): "running"}
    assert agent.conductor.reported("command_answered") == []
    assert agent.reconciler.step() is not None


def test_a_command_that_is_wanted_is_executed_in_doubt_too(agent: Agent) -> None:
    """The conductor says that it waits."""
    instance, spec = a_server(agent)
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.POWER_OFF, 4))
    agent.settle()
    assert agent.states() == {(HERE, instance.uuid): "ended"}


def test_a_command_before_one_that_was_given_up_is_late(agent: Agent) -> None:
    """Its number is remembered, in no doubt too."""
    instance, spec = a_server(agent)
    agent.conductor.given_up.add(4)
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.POWER_OFF, 4))
    agent.settle()
    agent.conductor_lease.in_doubt = False
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.POWER_OFF, 3))
    agent.settle()
    assert agent.states() == {(HERE, instance.uuid): "running"}


def test_a_command_before_one_that_was_forgotten_is_late(agent: Agent) -> None:
    """To forget an instance does not forget how far its commands were."""
    instance, spec = a_server(agent)
    agent.conductor_lease.in_doubt = False
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.POWER_OFF, 4))
    agent.settle()
    agent.work.forget(instance.uuid, HERE, instance.attempt)
    agent.settle()
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.SPAWN, 3))
    agent.settle()
    assert agent.journal is not None
    assert (agent.guests(), CommandLog(agent.journal).list_open()) == (set(), [])


def test_what_an_operation_may_leave_behind_is_looked_at_until_it_is_over(agent: Agent) -> None:
    """It may end without this host, which was given up meanwhile: no message tells it then."""
    instance, spec = a_server(agent)
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.DETACH, 1))
    agent.settle()
    under_way = instance.with_values(vm_state="shelved", task_state="shelving_offloading")
    agent.conductor.instances[instance.uuid] = under_way
    agent.reconciler.request()
    pauses = [agent.reconciler.step(), agent.reconciler.step()]
    agent.settle()
    before = agent.states()
    del agent.conductor.instances[instance.uuid]
    agent.reconciler.step()
    agent.settle()
    assert (before, agent.guests()) == ({(HERE, instance.uuid): "leaving"}, set())
    assert pauses == [1, 2]


def test_a_move_that_waits_for_its_user_is_looked_at_less_and_less(agent: Agent) -> None:
    """A migration may be confirmed after days; its source is compared as often as others then."""
    instance, spec = a_server(agent)
    agent.command_work.take(admin_context(), commanded(instance, spec, Verb.DETACH, 1))
    agent.settle()
    agent.conductor.moving = [{"instance_uuid": instance.uuid, "host": HERE}]
    del agent.conductor.instances[instance.uuid]
    agent.reconciler.request()
    pauses = [agent.reconciler.step() for _time in range(12)]
    assert (pauses[:3], pauses[-2:]) == ([1, 2, 4], [300, 300])
