"""The last checks before a build: limits of the host, policy of the group."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import admin_context
from compute_agent.host.claims import GROUP_TRIES
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.work.named_locks import NamedLocks
from objects.instance import Instance
from objects.instances.instance_group import InstanceGroup
from objects.request_spec import RequestSpec, SchedulerLimits
from tests import builders
from tests.fixtures.agent import HOSTS, Agent, a_build

HOST, OTHER_HOST = HOSTS


def commanded(agent: Agent, command: tuple[Instance, RequestSpec]) -> tuple[Instance, RequestSpec]:
    """Write a command down without working on it."""
    assert agent.journal is not None
    agent.journal.accept_builds([command])
    return command


def claim(agent: Agent, command: tuple[Instance, RequestSpec]) -> bool:
    return agent.claims.claim(admin_context(), *commanded(agent, command)) is not None


def a_member(agent: Agent, group: InstanceGroup, host: str = HOST) -> tuple[Instance, RequestSpec]:
    """Return a member of a group that the conductor has sent to a host."""
    command = a_build(host, instance_group=group)
    agent.conductor.members[command[0].uuid] = host
    return command


def is_awaited(locks: NamedLocks) -> bool:
    """Return whether one thread waits for a lock that another one holds."""
    return any(users > 1 for _lock, users in list(locks._locks.values()))


def test_without_limits_and_group_nothing_is_checked(agent: Agent) -> None:
    """CPU, memory and disk are placement's; the conductor is not asked."""
    assert claim(agent, a_build(flavor=builders.a_flavor(vcpus=999)))
    assert agent.conductor.agents == set()


def test_what_is_not_to_be_built_any_more_is_not_claimed(agent: Agent) -> None:
    """It was deleted while it waited."""
    command = commanded(agent, a_build())
    agent.work.delete(command[0].uuid, HOST)
    assert not agent.claims.claim(admin_context(), *command)


# Limits -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"memory_mb": 511 + 512 + 512}, "512 MiB of memory requested, 511 free"),
        ({"vcpu": 1}, "1 vCPUs requested, 0 free"),
        ({"disk_gb": 1}, "1 GiB of disk requested, 0 free"),
    ],
    ids=["memory", "vcpus", "disk"],
)
def test_limits_hold_with_what_is_claimed_already(
    agent: Agent, limits: dict[str, int], reason: str
) -> None:
    """Reserve and the other instances count; the reason says how much was free."""
    assert claim(agent, a_build())
    command = a_build(limits=SchedulerLimits.from_values(limits))
    with pytest.raises(exception.ComputeResourcesUnavailable, match=reason):
        claim(agent, command)


def test_limits_hold_with_the_overhead_of_each_guest(agent: Agent) -> None:
    """K04: that of the guests that are there, and of the one that comes."""
    agent.conf.set_override("guest_overhead_memory_mb", 200, group="compute")
    assert claim(agent, a_build())
    enough = 512 + 2 * (512 + 200)
    for limit, fits in ((enough - 1, False), (enough, True)):
        command = a_build(limits=SchedulerLimits.from_values(memory_mb=limit))
        if fits:
            assert claim(agent, command)
        else:
            with pytest.raises(exception.ComputeResourcesUnavailable, match="511 free"):
                claim(agent, command)


def test_claims_of_one_host_wait_for_each_other(agent: Agent) -> None:
    """Of two instances together the second sees what the first one takes."""
    limits = SchedulerLimits.from_values(memory_mb=512 + 512)
    first, second = (commanded(agent, a_build(limits=limits)) for _ in range(2))
    others: list[Future[InstancePlacement | None]] = []

    def write(place: InstancePlacement) -> bool:
        other = pool.submit(agent.claims.claim, admin_context(), *second)
        others.append(other)
        while not other.done() and not is_awaited(agent.claims._locks):
            threading.Event().wait(0.001)
        assert agent.journal is not None
        return agent.journal.claim(HOST, first[0].uuid, first[0].attempt, place)

    with ThreadPoolExecutor(1) as pool:
        assert agent.claims.claim_arrival(admin_context(), *first, write) is not None
        with pytest.raises(exception.ComputeResourcesUnavailable):
            others[0].result(60)


def test_a_claim_may_be_made_twice(agent: Agent) -> None:
    """After a crash; an instance does not stand in its own way."""
    limits = SchedulerLimits.from_values(memory_mb=512 + 512, vcpu=1, disk_gb=1)
    command = a_build(limits=limits)
    assert claim(agent, command)
    assert claim(agent, command)


# Groups -------------------------------------------------------------------------------------------


def test_anti_affinity_lets_one_member_on_a_host(agent: Agent) -> None:
    """The first that was sent here may stay, the second has to go elsewhere."""
    group = builders.an_instance_group(policy="anti-affinity")
    first, second = a_member(agent, group), a_member(agent, group)
    assert claim(agent, first)
    with pytest.raises(exception.GroupPolicyViolation):
        claim(agent, second)


def test_of_two_members_sent_here_together_one_stays(agent: Agent) -> None:
    """The conductor names both as soon as they are sent; they must not drive each other away."""
    group = builders.an_instance_group(policy="anti-affinity")
    first, second = a_member(agent, group), a_member(agent, group)
    commanded(agent, second)
    assert claim(agent, first)


def test_a_member_that_is_gone_makes_room(agent: Agent) -> None:
    """It is being deleted here, or the conductor knows that it is dead."""
    group = builders.an_instance_group(policy="anti-affinity")
    first, second = a_member(agent, group), a_member(agent, group)
    assert claim(agent, first)
    del agent.conductor.members[first[0].uuid]
    assert claim(agent, second)


def test_a_rule_allows_more_members_on_a_host(agent: Agent) -> None:
    """max_server_per_host of the group."""
    group = builders.an_instance_group(rules={"max_server_per_host": "2"})
    members = [a_member(agent, group) for _ in range(3)]
    assert claim(agent, members[0])
    assert claim(agent, members[1])
    with pytest.raises(exception.GroupPolicyViolation):
        claim(agent, members[2])


def test_the_check_can_be_turned_off(agent: Agent) -> None:
    """Where cell conductors cannot say where the others are: none is asked."""
    agent.conf.set_override("disable_group_policy_check_upcall", True, group="workarounds")
    group = builders.an_instance_group(policy="anti-affinity")
    assert claim(agent, a_member(agent, group))
    assert claim(agent, a_member(agent, group))
    assert agent.conductor.agents == set()


def test_affinity_refuses_a_host_without_the_others(agent: Agent) -> None:
    """One member is elsewhere."""
    group = builders.an_instance_group(policy="affinity")
    a_member(agent, group, OTHER_HOST)
    with pytest.raises(exception.GroupPolicyViolation):
        claim(agent, a_member(agent, group))


def test_affinity_is_content_alone_and_together(agent: Agent) -> None:
    """The first member, and those that follow it."""
    group = builders.an_instance_group(policy="affinity")
    assert claim(agent, a_member(agent, group))
    assert claim(agent, a_member(agent, group))


@pytest.mark.parametrize("policy", ["soft-affinity", "soft-anti-affinity"])
def test_soft_policies_are_a_wish(agent: Agent, policy: str) -> None:
    """They were weighed, and forbid nothing."""
    group = builders.an_instance_group(policy=policy)
    a_member(agent, group, OTHER_HOST)
    assert claim(agent, a_member(agent, group))
    assert claim(agent, a_member(agent, group))


def test_an_outage_while_asking_for_members_is_waited_for(agent: Agent) -> None:
    """The build goes on when the conductor is back."""
    agent.bus.fail(
        "list_group_members", oslo_messaging.MessagingTimeout("x"), times=GROUP_TRIES - 1
    )
    assert claim(agent, a_member(agent, builders.an_instance_group()))


def test_a_group_that_cannot_be_read_fails_the_build(agent: Agent) -> None:
    """After so many tries; another host may do better."""
    agent.bus.fail("list_group_members", oslo_messaging.MessagingTimeout("x"), times=GROUP_TRIES)
    with pytest.raises(exception.ComputeResourcesUnavailable, match="server group"):
        claim(agent, a_member(agent, builders.an_instance_group()))
