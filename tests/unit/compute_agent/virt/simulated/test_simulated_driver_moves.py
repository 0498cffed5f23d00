"""Simulated guests that move, between hosts of one agent and of two: never running twice."""

import concurrent.futures
from collections.abc import Callable
from typing import Any

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from objects.instance import Instance
from objects.instances.instance_command import NEEDS_SOURCE
from tests import builders
from tests.fixtures.agent.simulated import SimulatedHosts, power, spawned

FAILED = exception.OperationFailed


class Watch:
    """Notes the progress; wants to abort when less than ``abort_below_mb`` is left."""

    def __init__(self, abort_below_mb: int = 0, *, is_forced: bool = False) -> None:
        self.seen: list[tuple[int, int]] = []
        self.abort_below_mb = abort_below_mb
        self._is_forced = is_forced

    def progress(self, *, total_mb: int, remaining_mb: int) -> None:
        self.seen.append((total_mb, remaining_mb))

    def is_aborted(self) -> bool:
        return self.seen[-1][1] < self.abort_below_mb

    def is_forced(self) -> bool:
        return self._is_forced


class Killed(BaseException):
    """Stands for kill -9 while time passes."""


class Two:
    """A source and a destination, of one agent or of two; ``restart`` is a kill of both."""

    def __init__(self, simulated: SimulatedHosts, directories: tuple[str, str]) -> None:
        self.simulated = simulated
        self.directories = directories
        self.restart()

    def restart(self) -> None:
        if len(set(self.directories)) == 1:
            self.source, self.destination = self.simulated.agent(self.directories[0], "a", "b")
            return
        (self.source,) = self.simulated.agent(self.directories[0], "a")
        (self.destination,) = self.simulated.agent(self.directories[1], "b")

    def powers(self, instance: Instance) -> tuple[str | None, str | None]:
        return power(self.source, instance), power(self.destination, instance)

    def move_off(self, instance: Instance, *, is_on: bool = True) -> None:
        migration_payload = self.source.detach(instance.uuid, grace_seconds=1.0)
        self.destination.attach(instance, ANYWHERE, migration_payload, is_on=is_on)

    def prepare(self, instance: Instance) -> dict[str, Any]:
        told = self.source.describe_live(instance.uuid)
        return self.destination.prepare_live(instance, ANYWHERE, told)

    def move_live(self, instance: Instance) -> None:
        self.source.live_migrate(instance, self.prepare(instance), Watch())
        self.destination.complete_live(instance, ANYWHERE)


@pytest.fixture(params=[(".", "."), ("one", "two")], ids=["one_agent", "two_agents"])
def two(request: pytest.FixtureRequest, simulated: SimulatedHosts) -> Two:
    """Return two hosts."""
    return Two(simulated, request.param)


# Off ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_on", [True, False], ids=["on", "off"])
def test_a_guest_is_taken_over_with_its_new_size(two: Two, is_on: bool) -> None:
    """Every step twice; the source keeps it off until it is destroyed there."""
    instance = spawned(two.source)
    instance.flavor = builders.a_flavor(vcpus=4)
    for _ in range(2):
        migration_payload = two.source.detach(instance.uuid, grace_seconds=1.0)
    assert two.powers(instance) == ("moving", None)
    for _ in range(2):
        two.destination.attach(instance, ANYWHERE, migration_payload, is_on=is_on)
    assert two.powers(instance) == ("moving", "running" if is_on else "shutdown")
    guest = two.destination._store.find("b", instance.uuid)
    assert guest is not None
    assert guest.vcpus == 4
    two.source.destroy(instance.uuid)
    two.restart()
    assert two.powers(instance) == (None, "running" if is_on else "shutdown")


def test_a_move_is_taken_back(two: Two) -> None:
    """Destroyed where it came to, powered on where it was."""
    instance = spawned(two.source)
    two.move_off(instance)
    two.destination.destroy(instance.uuid)
    two.source.power_on(instance)
    two.restart()
    assert two.powers(instance) == ("running", None)


def test_a_guest_may_be_taken_over_by_its_own_host(two: Two) -> None:
    """Then it is resized."""
    instance = spawned(two.source)
    migration_payload = two.source.detach(instance.uuid, grace_seconds=1.0)
    instance.flavor = builders.a_flavor(vcpus=4)
    assert (
        two.source.attach(instance, ANYWHERE, migration_payload, is_on=True).power_state
        == "running"
    )
    assert power(two.source, instance) == "running"


def test_a_failed_attach_leaves_nothing(two: Two) -> None:
    """And the source as it was."""
    instance = spawned(two.source)
    two.simulated.set_options(failing_operations=["b:attach"])
    with pytest.raises(FAILED, match=r"Attach of instance .* on host b: simulated failure"):
        two.move_off(instance)
    assert two.powers(instance) == ("moving", None)


def test_a_failed_detach_leaves_it_running(two: Two) -> None:
    """As it was."""
    instance = spawned(two.source)
    two.simulated.set_options(failing_operations=["detach"])
    with pytest.raises(FAILED):
        two.move_off(instance)
    assert two.powers(instance) == ("running", None)


def test_migration_payload_of_another_driver_is_refused(two: Two) -> None:
    """A process does not become a simulated guest."""
    with pytest.raises(FAILED, match="a different driver: process"):
        two.destination.attach(builders.an_instance(), ANYWHERE, {"driver": "process"}, is_on=True)


# Running ------------------------------------------------------------------------------------------


def test_a_running_guest_moves(two: Two) -> None:
    """At no moment both say that it runs; every step twice."""
    instance = spawned(two.source)
    for _ in range(2):
        destination = two.prepare(instance)
    assert two.powers(instance) == ("running", "moving")
    for _ in range(2):
        two.source.live_migrate(instance, destination, Watch())
    assert two.powers(instance) == ("moving", "moving")
    for _ in range(2):
        two.destination.complete_live(instance, ANYWHERE)
    assert two.powers(instance) == ("moving", "running")
    two.source.destroy(instance.uuid)
    assert "after a live migration" in two.destination.get_console_output(instance.uuid, lines=1)


def test_a_paused_guest_stays_paused(two: Two) -> None:
    """At its destination, after a kill of both, until it is told to go on; every step twice."""
    instance = spawned(two.source)
    two.source.pause(instance.uuid)
    for _ in range(2):
        destination = two.prepare(instance)
    assert two.powers(instance) == ("paused", "moving")
    two.restart()
    for _ in range(2):
        two.source.live_migrate(instance, destination, Watch())
    for _ in range(2):
        arrived = two.destination.complete_live(instance, ANYWHERE)
    assert arrived.power_state == "paused"
    assert two.powers(instance) == ("moving", "paused")
    console = two.destination.get_console_output(instance.uuid, lines=1)
    assert "paused on b after a live migration" in console
    assert two.destination.unpause(instance.uuid).power_state == "running"


def test_a_guest_without_memory_on_its_host_is_not_moved_live(two: Two) -> None:
    """A suspended one has it in a file."""
    instance = spawned(two.source)
    two.source.suspend(instance.uuid)
    with pytest.raises(FAILED, match="not running on the host, and not paused"):
        two.prepare(instance)


def test_a_guest_comes_back(two: Two) -> None:
    """Also without a cleanup where it was before."""
    instance = spawned(two.source)
    two.move_live(instance)
    two.source, two.destination = two.destination, two.source
    two.move_live(instance)
    assert two.powers(instance) == ("moving", "running")


def test_its_memory_is_copied_at_the_speed_that_is_set(two: Two) -> None:
    """Told step by step, from all to nothing."""
    instance = spawned(two.source, memory_mb=1000)
    two.simulated.set_options(live_migration_mib_per_second=800.0)
    destination = two.prepare(instance)
    two.simulated.slept.clear()
    watch = Watch()
    two.source.live_migrate(instance, destination, watch)
    assert watch.seen == [(1000, 1000), (1000, 600), (1000, 200), (1000, 0)]
    assert sum(two.simulated.slept) == pytest.approx(1.25)


def test_a_forced_one_is_copied_immediately(two: Two) -> None:
    """Whatever is left to copy."""
    instance = spawned(two.source, memory_mb=1000)
    two.simulated.set_options(live_migration_mib_per_second=1.0)
    destination = two.prepare(instance)
    watch = Watch(is_forced=True)
    two.source.live_migrate(instance, destination, watch)
    assert watch.seen[-1] == (1000, 0)
    assert len(watch.seen) == 2
    assert two.powers(instance)[0] == "moving"


@pytest.mark.parametrize("abort_below_mb", [2000, 300, 1], ids=["begin", "middle", "end"])
def test_an_abort_is_honoured_between_two_steps(two: Two, abort_below_mb: int) -> None:
    """Until it has left; then it runs on where it was, and can be moved again."""
    instance = spawned(two.source, memory_mb=1000)
    two.simulated.set_options(live_migration_mib_per_second=800.0)
    destination = two.prepare(instance)
    with pytest.raises(exception.LiveMigrationAborted):
        two.source.live_migrate(instance, destination, Watch(abort_below_mb))
    assert two.powers(instance) == ("running", "moving")
    two.destination.destroy(instance.uuid)
    two.move_live(instance)
    assert two.powers(instance) == ("moving", "running")


@pytest.mark.parametrize("operation", ["prepare_live", "live_migrate"])
def test_a_failure_leaves_it_running_at_its_source(two: Two, operation: str) -> None:
    """Of the copy, in its middle."""
    instance = spawned(two.source)
    two.simulated.set_options(failing_operations=[operation])
    with pytest.raises(FAILED):
        two.move_live(instance)
    assert power(two.source, instance) == "running"
    assert power(two.destination, instance) != "running"


def test_a_failure_to_arrive_can_be_repeated(two: Two) -> None:
    """No host runs it meanwhile."""
    instance = spawned(two.source)
    two.simulated.set_options(failing_operations=["complete_live"])
    with pytest.raises(FAILED):
        two.move_live(instance)
    assert two.powers(instance) == ("moving", "moving")
    two.simulated.set_options(failing_operations=[])
    two.destination.complete_live(instance, ANYWHERE)
    assert two.powers(instance) == ("moving", "running")


def test_a_kill_at_any_moment_is_made_good_by_taking_the_steps_again(
    simulated: SimulatedHosts,
) -> None:
    """For each time that passes, and in between; it never runs twice."""
    simulated.set_options(live_migration_mib_per_second=800.0)
    for number in range(20):
        simulated.sleep = simulated.slept.append
        two = Two(simulated, (f"one-{number}", f"two-{number}"))
        instance = spawned(two.source, memory_mb=1000)
        left = [number]

        def pass_or_kill(_seconds: float, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        simulated.sleep = pass_or_kill
        try:
            two.move_live(instance)
        except Killed:
            two.restart()
            assert two.powers(instance).count("running") <= 1
            simulated.sleep = simulated.slept.append
            repeat(two, instance)
        assert two.powers(instance) == ("moving", "running")
        if left[0] >= 0:
            return
    raise AssertionError("it has more steps than this test thinks")


def repeat(two: Two, instance: Instance) -> None:
    """Take the steps again that the state calls for, as the conductor of the move does."""
    if power(two.source, instance) == "running":
        destination = two.prepare(instance)
    else:
        destination = {"driver": "simulated", "host": "b"}
    two.source.live_migrate(instance, destination, Watch())
    two.destination.complete_live(instance, ANYWHERE)


def test_a_guest_that_goes_away_while_it_is_copied_does_not_arrive(two: Two) -> None:
    """A user deleted it meanwhile."""
    instance = spawned(two.source, memory_mb=4096)
    destination = two.prepare(instance)
    two.simulated.sleep = lambda _seconds: two.source.destroy(instance.uuid)
    with pytest.raises(FAILED, match="is not running"):
        two.source.live_migrate(instance, destination, Watch())
    assert two.powers(instance) == (None, "moving")


def test_several_threads_move_it_once(two: Two) -> None:
    """A command that came twice."""
    instance = spawned(two.source)
    destination = two.prepare(instance)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(4):
            pool.submit(two.source.live_migrate, instance, destination, Watch())
    assert two.powers(instance) == ("moving", "moving")


# Wrong order --------------------------------------------------------------------------------------

Step = Callable[[SimulatedDriver, Instance], object]
HERE = {"driver": "simulated", "host": "elsewhere"}


def test_what_left_cannot_be_started_where_it_was(two: Two) -> None:
    """It would run twice."""
    instance = spawned(two.source)
    two.move_live(instance)
    with pytest.raises(FAILED, match="not here: left"):
        two.source.power_on(instance)
    with pytest.raises(FAILED, match="the guest does not exist"):
        two.source.detach(instance.uuid, grace_seconds=1.0)
    assert two.powers(instance) == ("moving", "running")


def test_what_is_arriving_cannot_be_started(two: Two) -> None:
    """Nor can it be stopped."""
    instance = spawned(two.source)
    two.prepare(instance)
    with pytest.raises(FAILED, match="not here: arriving"):
        two.destination.power_on(instance)
    with pytest.raises(FAILED, match="not here: arriving"):
        two.destination.power_off(instance.uuid, grace_seconds=1.0)


def test_it_has_not_arrived_before_it_left(simulated: SimulatedHosts) -> None:
    """One agent can tell for its own hosts."""
    two = Two(simulated, (".", "."))
    instance = spawned(two.source)
    two.prepare(instance)
    with pytest.raises(FAILED, match="runs on a"):
        two.destination.complete_live(instance, ANYWHERE)
    assert two.powers(instance) == ("running", "moving")


@pytest.mark.parametrize(
    "step",
    [
        lambda driver, instance: driver.describe_live(instance.uuid),
        lambda driver, instance: driver.live_migrate(instance, HERE, Watch()),
        lambda driver, instance: driver.complete_live(instance, ANYWHERE),
        lambda driver, instance: driver.detach(instance.uuid, grace_seconds=1.0),
    ],
    ids=["describe_live", "live_migrate", "complete_live", "detach"],
)
def test_a_guest_that_is_not_there_does_not_move(two: Two, step: Step) -> None:
    """Nothing comes into being."""
    with pytest.raises(FAILED):
        step(two.source, builders.an_instance())
    assert two.source.list_guests() == []


def test_a_guest_that_is_off_does_not_move_live(two: Two) -> None:
    """There is a move for those, too."""
    instance = spawned(two.source)
    two.source.power_off(instance.uuid, grace_seconds=1.0)
    with pytest.raises(FAILED, match="is not running"):
        two.source.describe_live(instance.uuid)


def test_a_host_takes_no_guest_that_it_has(two: Two) -> None:
    """Neither its own nor one of the same instance."""
    instance = spawned(two.source)
    with pytest.raises(FAILED, match="already runs on this host"):
        two.source.prepare_live(instance, ANYWHERE, {"driver": "simulated", "host": "a"})
    with pytest.raises(FAILED, match="already has this guest"):
        two.source.prepare_live(instance, ANYWHERE, HERE)


def test_a_late_command_to_prepare_does_not_undo_the_arrival(two: Two) -> None:
    """It came twice, the second time after everything."""
    instance = spawned(two.source)
    told = two.source.describe_live(instance.uuid)
    two.move_live(instance)
    two.destination.prepare_live(instance, ANYWHERE, told)
    assert two.powers(instance) == ("moving", "running")


def test_what_was_shelved_and_offloaded_comes_back_whole(simulated: SimulatedHosts) -> None:
    """What is kept is complete: the host may forget the guest."""
    (host,) = simulated.agent("one", "a")
    instance = spawned(host)
    payload = host.detach(instance.uuid, grace_seconds=1.0)
    assert not payload.get(NEEDS_SOURCE)
    host.destroy(instance.uuid)
    assert power(host, instance) is None
    assert host.attach(instance, ANYWHERE, payload, is_on=True).power_state == "running"
