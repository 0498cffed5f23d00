"""Simulated guests that stay where they are: off, on, another size, another agent."""

import concurrent.futures
from collections.abc import Callable

import pytest

from armillary import exception
from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.driver import Feature, GuestInfo
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from objects.instance import Instance
from tests import builders
from tests.fixtures.agent.simulated import SimulatedHosts, power, spawned

Operation = Callable[[SimulatedDriver, Instance], object]


def off(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.power_off(instance.uuid, grace_seconds=1.0)


def on(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.power_on(instance)


def reboot(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.reboot(instance, ANYWHERE, is_hard=False, grace_seconds=1.0)


def resize_on(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.resize(instance, ANYWHERE, is_on=True)


def resize_off(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.resize(instance, ANYWHERE, is_on=False)


def console(driver: SimulatedDriver, instance: Instance) -> str:
    return driver.get_console_output(instance.uuid, lines=None)


def pause(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.pause(instance.uuid)


def suspend(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.suspend(instance.uuid)


def rescue(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.rescue(instance, ANYWHERE, builders.an_image("rescue"), grace_seconds=1.0)


def unrescue(driver: SimulatedDriver, instance: Instance) -> GuestInfo:
    return driver.unrescue(instance, ANYWHERE)


OPERATIONS: dict[str, tuple[Operation, str]] = {
    "power_off": (off, "shutdown"),
    "power_on": (on, "running"),
    "reboot": (reboot, "running"),
    "resize_on": (resize_on, "running"),
    "resize_off": (resize_off, "shutdown"),
    "rescue": (rescue, "running"),
    "unrescue": (unrescue, "running"),
}
by_operation = pytest.mark.parametrize(
    ("operate", "after"), list(OPERATIONS.values()), ids=list(OPERATIONS)
)
from_either_state = pytest.mark.parametrize("before", [on, off], ids=["from_on", "from_off"])


def test_it_can_do_everything(simulated: SimulatedHosts) -> None:
    """Whatever there is to try; it has no data of images, and no kernel."""
    without = {Feature.SERIAL_CONSOLE, Feature.IMAGE_CACHE, Feature.CRASH_DUMP}
    assert simulated.agent()[0].features == frozenset(Feature) - without


@by_operation
@from_either_state
def test_each_operation_may_be_called_twice(
    simulated: SimulatedHosts, before: Operation, operate: Operation, after: str
) -> None:
    """It ends the same, and the answer says what the list says."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    before(driver, instance)
    for _ in range(2):
        assert operate(driver, instance) == GuestInfo(instance.uuid, after)
        assert power(driver, instance) == after


@by_operation
def test_what_was_done_is_remembered(
    simulated: SimulatedHosts, operate: Operation, after: str
) -> None:
    """By an agent that was killed right after."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    operate(driver, instance)
    assert power(simulated.agent()[0], instance) == after


class Killed(BaseException):
    """Stands for kill -9 while time passes."""


def killed(_seconds: float) -> None:
    raise Killed


@by_operation
@from_either_state
def test_a_kill_in_the_middle_changes_nothing_and_it_can_be_done_again(
    simulated: SimulatedHosts, before: Operation, operate: Operation, after: str
) -> None:
    """Another agent, on the same file."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    before(driver, instance)
    state = power(driver, instance)
    simulated.sleep = killed
    instance.flavor = builders.a_flavor(vcpus=4)
    try:
        operate(driver, instance)
    except Killed:
        again = simulated.agent()[0]
        assert power(again, instance) == state
    simulated.sleep = simulated.slept.append
    again = simulated.agent()[0]
    operate(again, instance)
    assert power(again, instance) == after


@pytest.mark.parametrize(
    "operate",
    [*(operate for operate, _ in OPERATIONS.values()), console],
    ids=[*OPERATIONS, "console"],
)
def test_a_guest_that_is_not_there_is_an_error(
    simulated: SimulatedHosts, operate: Operation
) -> None:
    """Nothing comes into being by it."""
    driver = simulated.agent()[0]
    with pytest.raises(exception.OperationFailed, match="the guest does not exist"):
        operate(driver, builders.an_instance())
    assert driver.list_guests() == []


@pytest.mark.parametrize(
    ("pattern", "operate"),
    [("power_off", off), ("reboot", reboot), ("resize", resize_on), ("sim-*:power_*", off)],
    ids=["power_off", "reboot", "resize", "globs"],
)
def test_what_fails_leaves_the_guest_as_it_was(
    simulated: SimulatedHosts, pattern: str, operate: Operation
) -> None:
    """Power state and size."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    before = driver._store.find(driver.host, instance.uuid)
    simulated.set_options(failing_operations=["sim-9:*", pattern])
    instance.flavor = builders.a_flavor(vcpus=4)
    with pytest.raises(exception.OperationFailed, match="simulated failure"):
        operate(driver, instance)
    assert driver._store.find(driver.host, instance.uuid) == before


def test_a_guest_has_the_sizes_of_its_flavor(simulated: SimulatedHosts) -> None:
    """Those of its build, then those of its resize, and back."""
    driver = simulated.agent()[0]
    instance = spawned(driver, vcpus=2, memory_mb=1024, root_gb=10)
    former, larger = instance.flavor, builders.a_flavor(vcpus=4, memory_mb=2048, root_gb=20)
    for flavor, sizes in ((larger, (4, 2048, 20)), (former, (2, 1024, 10))):
        instance.flavor = flavor
        resize_off(driver, instance)
        guest = simulated.agent()[0]._store.find(driver.host, instance.uuid)
        assert guest is not None
        assert (guest.vcpus, guest.memory_mb, guest.disk_gb) == sizes


def test_a_resize_that_is_done_takes_no_time(simulated: SimulatedHosts) -> None:
    """A repeated step finds it so."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    simulated.slept.clear()
    resize_on(driver, instance)
    assert simulated.slept == []


def test_building_what_is_off_leaves_it_off(simulated: SimulatedHosts) -> None:
    """A late command to build starts nothing that a user stopped."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    off(driver, instance)
    assert driver.spawn(instance).power_state == "shutdown"


def test_the_console_tells_what_happened(simulated: SimulatedHosts) -> None:
    """Oldest first, the last lines on request, the same again."""
    driver = simulated.agent()[0]
    instance = spawned(driver, vcpus=2)
    off(driver, instance)
    text = console(driver, instance)
    assert f"booting simulated guest {instance.uuid}" in text
    assert "2 vCPUs" in text
    assert text.endswith("power off\n")
    assert driver.get_console_output(instance.uuid, lines=2) == "".join(
        text.splitlines(keepends=True)[-2:]
    )
    assert driver.get_console_output(instance.uuid, lines=0) == ""
    assert console(simulated.agent()[0], instance) == text


def test_many_threads_at_a_time(simulated: SimulatedHosts) -> None:
    """Each command is whole: at the end file and memory agree on one state."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    operations = [operate for operate, _ in OPERATIONS.values()] * 20
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = [pool.submit(operate, driver, instance) for operate in operations]
    assert [future.exception() for future in done] == [None] * len(done)
    assert simulated.agent()[0].list_guests() == driver.list_guests()


@pytest.mark.parametrize(
    ("hold", "state", "release"),
    [
        (pause, "paused", lambda driver, instance: driver.unpause(instance.uuid)),
        (suspend, "suspended", lambda driver, instance: driver.resume(instance, ANYWHERE)),
    ],
    ids=["pause", "suspend"],
)
def test_a_guest_waits_and_continues(
    simulated: SimulatedHosts, hold: Operation, state: str, release: Operation
) -> None:
    """Also for the next agent; a hard reboot ends it, and one that is off can not wait."""
    driver = simulated.agent()[0]
    instance = spawned(driver)
    for _ in range(2):
        assert hold(driver, instance) == GuestInfo(instance.uuid, state)
    driver = simulated.agent()[0]
    assert power(driver, instance) == state
    for _ in range(2):
        assert release(driver, instance) == GuestInfo(instance.uuid, "running")
    hold(driver, instance)
    assert reboot(driver, instance).power_state == "running"
    off(driver, instance)
    with pytest.raises(exception.OperationFailed, match="not running"):
        hold(driver, instance)
