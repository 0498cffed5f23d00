"""Commands of operations: journaled, executed once however often they come, answered."""

import contextlib
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from compute_agent.journal.command_log import Signal
from compute_agent.journal.held_guests import HeldGuests
from compute_agent.virt.driver import GuestInfo, LiveWatch
from objects.instance import Instance
from objects.instances.instance_command import InstanceCommand, Verb
from objects.instances.instance_fault import (
    FAILED,
    GUEST_ASIDE,
    GUEST_KEPT,
    GUEST_LOST,
    NUMBER_USED,
)
from objects.request_spec import RequestSpec
from tests import builders
from tests.fixtures.agent import HOSTS, Agent, a_build
from tests.fixtures.messages.direct_bus import Killed

HERE, THERE = HOSTS
ON = {"is_on": True}
COMES_FROM = {"driver": "simulated", "host": HERE}
GOES_TO = {"driver": "simulated", "host": THERE}
BIG = builders.a_flavor(flavorid="big", vcpus=4)


@dataclasses.dataclass(frozen=True)
class Told:
    """A command: what, where, as which attempt, with which flavor if it is not as built."""

    verb: Verb
    host: str
    arguments: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    attempt: int = 1
    is_big: bool = False


PATHS = {
    "in-place": (
        [Told(Verb.POWER_OFF, HERE), Told(Verb.POWER_ON, HERE), Told(Verb.REBOOT, HERE),
         Told(Verb.REBUILD, HERE, ON)],
        {HERE: "running"},
    ),
    "move": (
        [Told(Verb.CLAIM, THERE, attempt=2), Told(Verb.DETACH, HERE),
         Told(Verb.ATTACH, THERE, {"migration_payload": COMES_FROM, **ON}, 2),
         Told(Verb.DROP, HERE)],
        {THERE: "running"},
    ),
    "back": (
        [Told(Verb.CLAIM, THERE, attempt=2), Told(Verb.DETACH, HERE), Told(Verb.DROP, THERE),
         Told(Verb.KEEP, HERE, ON, attempt=3)],
        {HERE: "running"},
    ),
    "resize": (
        [Told(Verb.RESIZE, HERE, ON, 2, is_big=True), Told(Verb.SETTLE, HERE, {}, 2, is_big=True)],
        {HERE: "running"},
    ),
    "resize-back": (
        [Told(Verb.RESIZE, HERE, ON, 2, is_big=True), Told(Verb.KEEP, HERE, ON, attempt=3)],
        {HERE: "running"},
    ),
    "live": (
        [Told(Verb.DESCRIBE_LIVE, HERE), Told(Verb.PREPARE_LIVE, THERE, {"source": COMES_FROM}, 2),
         Told(Verb.LIVE_MIGRATE, HERE, {"destination": GOES_TO}),
         Told(Verb.COMPLETE_LIVE, THERE, {}, 2), Told(Verb.DROP, HERE)],
        {THERE: "running"},
    ),
    "spawn": (
        [Told(Verb.CLAIM, THERE, attempt=2), Told(Verb.SPAWN, THERE, ON, 2),
         Told(Verb.DROP, HERE)],
        {THERE: "running"},
    ),
}  # fmt: skip
"""Name -> commands one after the other, and the entries that are there at the end."""


def built(agent: Agent) -> tuple[Instance, RequestSpec]:
    instance, spec = a_build(HERE)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    agent.conductor.reports.clear()
    return instance, spec


def command(instance: Instance, spec: RequestSpec, told: Told, sequence: int) -> InstanceCommand:
    seen = instance.with_values(host=told.host, node=told.host, attempt=told.attempt)
    if told.is_big:
        seen.flavor = BIG
    return InstanceCommand.from_values(
        instance=seen, host=told.host, operation="resize", verb=told.verb.value,
        sequence=sequence, arguments=dict(told.arguments), request_spec=spec,
    )  # fmt: skip


def tell(agent: Agent, step: InstanceCommand) -> None:
    agent.command_work.take(admin_context().for_instance(step.instance.uuid), step)


def answers(agent: Agent) -> dict[int, list[Any]]:
    """Return sequence -> the answers to it, each once."""
    found: dict[int, list[Any]] = {}
    for command, answer, fault in agent.conductor.reported("command_answered"):
        of_it = found.setdefault(command.sequence, [])
        if (answer, fault) not in of_it:
            of_it.append((answer, fault))
    return found


def walk(agent: Agent, path: str) -> bool:
    """Tell all commands of a path, again after a kill; return whether there was one."""
    instance, spec = built_once(agent)
    is_killed = False
    for sequence, told in enumerate(PATHS[path][0], 1):
        step = command(instance, spec, told, sequence)
        try:
            tell(agent, step)
            agent.settle()
        except Killed:
            is_killed = True
            agent.breaker.mend()
            agent.restart()
            tell(agent, step)
            agent.settle()
    return is_killed


def built_once(agent: Agent) -> tuple[Instance, RequestSpec]:
    with agent.breaker.set_aside():
        return built(agent)


def state(agent: Agent) -> dict[str, str]:
    return {host: state for (host, _uuid), state in agent.states().items()}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.sampled(every=3)
def test_a_kill_at_any_moment_changes_no_answer(tmp_path: Path, path: str) -> None:
    """What was begun is taken up, what was done is not done again, and answered the same."""
    first = None
    for number in range(100):
        (tmp_path / str(number)).mkdir()
        agent = Agent(tmp_path / str(number))
        agent.breaker.kill_at(number - 0.5)  # in the first round no process is killed
        is_killed = walk(agent, path)
        first = first or answers(agent)
        assert all(answer[0][1] is None for answer in first.values())
        assert (answers(agent), state(agent)) == (first, PATHS[path][1])
        assert {host for host, _uuid in agent.guests()} == set(PATHS[path][1])
        agent.close()
        if number > 0 and not is_killed:
            break
    assert number > 6


@pytest.mark.parametrize("path", PATHS)
def test_a_command_that_comes_again_is_answered_again(agent: Agent, path: str) -> None:
    """An older one is refused, as its number was used; nothing is done for either."""
    walk(agent, path)
    instance, spec = next(iter(agent.conductor.instances.values())), a_build(HERE)[1]
    before = (answers(agent), agent.states())
    agent.conductor.reports.clear()
    agent.breaker.kill_at(float("inf"))
    last: dict[str, int] = {}
    for sequence, told in enumerate(PATHS[path][0], 1):
        last[told.host] = sequence
    for sequence, told in enumerate(PATHS[path][0], 1):
        tell(agent, command(instance, spec, told, sequence))
    agent.settle()
    given = answers(agent)
    assert (set(given), agent.states()) == (set(range(1, sequence + 1)), before[1])
    assert all(before[0][each] == given[each] for each in last.values())
    used = {each: answer[0][0].last_number for each, answer in given.items()}
    assert used == {
        each: last[told.host] if each < last[told.host] else None
        for each, told in enumerate(PATHS[path][0], 1)
    }
    assert set(agent.breaker.names) <= {"journal", "command_answered"}


def test_a_number_of_another_command_is_refused(agent: Agent) -> None:
    """The answer that it was given is not the answer to this one."""
    instance, spec = built(agent)
    tell(agent, command(instance, spec, Told(Verb.POWER_OFF, HERE), 5))
    agent.settle()
    tell(agent, command(instance, spec, Told(Verb.POWER_ON, HERE), 5))
    agent.settle()
    assert [answer.last_number for answer, _fault in answers(agent)[5]] == [None, 5]
    assert agent.conductor.faults[-1].code == NUMBER_USED


def test_what_a_failed_command_did_nevertheless_is_reported(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice: the conductor does not listen while it ends the operation. No check saw it before."""
    instance, spec = built(agent)
    driver = agent.drivers[HERE]
    pause = driver.pause

    def cut_off(uuid: str) -> GuestInfo:
        pause(uuid)
        raise exception.OperationFailed(
            operation="Pause", instance_uuid=uuid, host=HERE, reason="the daemon has ended"
        )

    monkeypatch.setattr(driver, "pause", cut_off)
    tell(agent, command(instance, spec, Told(Verb.PAUSE, HERE), 1))
    agent.settle()
    for _ in range(4):
        agent.power_reports.report()
        agent.settle()
    told = agent.conductor.reported("power_changed")
    assert told == [(HERE, instance.uuid, 1, "paused")] * 2


def test_a_failure_is_answered_with_its_reason(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For users without the host's name, for administrators with all."""
    instance, spec = built(agent)

    def broken(*_args: object, **_kwargs: object) -> GuestInfo:
        raise exception.OperationFailed(
            operation="power_off", instance_uuid=instance.uuid, host=HERE, reason="it is stuck"
        )

    monkeypatch.setattr(agent.drivers[HERE], "power_off", broken)
    tell(agent, command(instance, spec, Told(Verb.POWER_OFF, HERE), 1))
    agent.settle()
    ((_answer, details),) = answers(agent)[1]
    assert "it is stuck" in details
    assert details.startswith("OperationFailed")
    assert state(agent) == {HERE: "running"}


def test_a_guest_has_the_time_to_shut_down_that_its_image_asks_for(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else that of the agent's configuration."""
    instance, spec = built(agent)
    driver, graces = agent.drivers[HERE], []
    power_off = driver.power_off

    def watched(uuid: str, *, grace_seconds: float) -> GuestInfo:
        graces.append(grace_seconds)
        return power_off(uuid, grace_seconds=grace_seconds)

    monkeypatch.setattr(driver, "power_off", watched)
    for sequence, properties in enumerate(({}, {"os_shutdown_timeout": "7"}), 1):
        asked = instance.with_values(image=builders.an_image(properties=properties))
        tell(agent, command(asked, spec, Told(Verb.POWER_OFF, HERE), sequence))
        agent.settle()
    assert graces == [agent.conf.compute.shutdown_timeout_seconds, 7.0]


@pytest.mark.parametrize("is_on", [True, False])
def test_a_guest_that_is_gone_cannot_be_kept_and_the_fault_says_so(
    agent: Agent, *, is_on: bool
) -> None:
    """With a code of its own: a conductor would repeat any other failure."""
    instance, spec = built(agent)
    agent.drivers[HERE].destroy(instance.uuid)
    tell(agent, command(instance, spec, Told(Verb.KEEP, HERE, {"is_on": is_on}, 2), 1))
    agent.settle()
    ((_answer, details),) = answers(agent)[1]
    assert details.startswith("GuestLost")
    assert [fault.code for fault in agent.conductor.faults] == [GUEST_LOST]


@pytest.mark.parametrize("is_on", [True, False])
def test_a_guest_that_cannot_be_replaced_is_put_back(agent: Agent, *, is_on: bool) -> None:
    """As it was; the conductor is told that it is there, the user that it was started again."""
    instance, spec = built(agent)
    driver = agent.drivers[HERE]
    if not is_on:
        tell(agent, command(instance, spec, Told(Verb.POWER_OFF, HERE), 1))
        agent.settle()
    agent.conf.set_override("failure_rate", 1.0, group="simulated")
    image = builders.an_image("other")
    told = Told(Verb.REBUILD, HERE, {"is_on": is_on})
    tell(agent, command(instance.with_values(image=image), spec, told, 2))
    agent.settle()
    (fault,) = agent.conductor.faults
    again = ", and started again" if is_on else ""
    assert fault.code == GUEST_KEPT
    assert fault.message == (
        f"The resize failed: simulated failure; the former guest was put back{again}."
    )
    assert [guest.is_off for guest in driver.list_guests()] == [not is_on]
    assert state(agent) == {HERE: "running" if is_on else "ended"}
    assert agent.journal is not None
    assert agent.journal.get_build(HERE, instance.uuid)[0].image == instance.image


@pytest.mark.parametrize("away", [1, 2, 3, 4])
def test_a_rebuild_waits_for_a_hypervisor_that_is_away(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, away: int
) -> None:
    """Nothing is answered meanwhile, as it is unknown what there is; then it is begun again."""
    instance, spec = built(agent)
    driver = agent.drivers[HERE]
    driver_can = {name: getattr(driver, name) for name in ("spawn", "put_back", "list_guests")}
    asked: list[str] = []

    def away_at_first(name: str) -> Callable[..., Any]:
        def run(*arguments: Any, **named: Any) -> Any:
            asked.append(name)
            if len(asked) <= away:
                raise exception.Unavailable(reason="the daemon has ended")
            return driver_can[name](*arguments, **named)

        return run

    for name in driver_can:
        monkeypatch.setattr(driver, name, away_at_first(name))
    image = builders.an_image("other")
    told = Told(Verb.REBUILD, HERE, {"is_on": True})
    tell(agent, command(instance.with_values(image=image), spec, told, 1))
    agent.settle()
    (((_answer, fault),),) = answers(agent).values()
    is_back_in_time = away % 2 == 1  # to put the former guest back
    assert (fault is not None) is is_back_in_time
    assert asked.count("spawn") == 1 + away // 2
    assert [guest.power_state for guest in driver.list_guests()] == ["running"]


@pytest.mark.parametrize("name", ["live_migrate", "complete_live"])
def test_a_live_migration_waits_for_a_hypervisor_that_is_away(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It may be over: after a failure its conductor would have the copy destroyed, or lost."""
    instance, spec = built(agent)
    told, _entries = PATHS["live"]
    at = {"live_migrate": 2, "complete_live": 3}[name]
    for number, one in enumerate(told[:at], 1):
        tell(agent, command(instance, spec, one, number))
        agent.settle()
    driver = agent.drivers[told[at].host]
    can, asked = getattr(driver, name), []

    def away_at_first(*arguments: Any) -> Any:
        asked.append(name)
        if len(asked) == 1:
            raise exception.Unavailable(reason="the daemon has ended")
        return can(*arguments)

    monkeypatch.setattr(driver, name, away_at_first)
    tell(agent, command(instance, spec, told[at], at + 1))
    agent.settle()
    ((_answer, fault),) = answers(agent)[at + 1]
    assert (fault, len(asked)) == (None, 2)


def test_a_guest_that_cannot_be_put_back_is_kept_for_a_hard_reboot(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conductor is told so, to keep its record."""
    instance, spec = built(agent)
    driver = agent.drivers[HERE]

    def broken(*_args: object, **_kwargs: object) -> Any:
        raise exception.OperationFailed(
            operation="Rebuild", instance_uuid=instance.uuid, host=HERE, reason="it is stuck"
        )

    monkeypatch.setattr(driver, "spawn", broken)
    monkeypatch.setattr(driver, "put_back", broken)
    told = Told(Verb.REBUILD, HERE, {"is_on": True})
    tell(agent, command(instance, spec, told, 1))
    agent.settle()
    (fault,) = agent.conductor.faults
    assert fault.code == GUEST_ASIDE
    assert "a hard reboot of the server tries again" in fault.message


@pytest.mark.parametrize(
    ("is_here", "code"), [(True, GUEST_KEPT), (False, FAILED)], ids=["here", "destroyed before"]
)
def test_a_guest_whose_new_image_cannot_be_had_is_kept(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, *, is_here: bool, code: int
) -> None:
    """If an earlier try has destroyed it, the conductor is told nothing else."""
    instance, spec = built(agent)
    driver = agent.drivers[HERE]

    def refuse(instance: Instance) -> contextlib.AbstractContextManager[None]:
        raise exception.BuildAborted(instance_uuid=instance.uuid, reason="the image is gone")

    monkeypatch.setattr(driver, "ready_to_rebuild", refuse)
    if not is_here:
        driver.destroy(instance.uuid)
    tell(agent, command(instance, spec, Told(Verb.REBUILD, HERE, ON), 1))
    agent.settle()
    ((_answer, details),) = answers(agent)[1]
    assert "the image is gone" in details
    assert [fault.code for fault in agent.conductor.faults] == [code]
    assert ("the guest was not changed" in agent.conductor.faults[0].message) is is_here
    assert agent.guests() == ({(HERE, instance.uuid)} if is_here else set())
    assert state(agent) == {HERE: "running"}


@pytest.mark.parametrize("change", [{"host": "elsewhere"}, {"verb": "paint"}], ids=["host", "verb"])
def test_what_an_agent_cannot_do_it_refuses(agent: Agent, change: dict[str, Any]) -> None:
    """So that the conductor does not wait."""
    instance, spec = built(agent)
    step = command(instance, spec, Told(Verb.POWER_OFF, HERE), 1)
    tell(agent, step.with_values(**change))
    agent.settle()
    ((_answer, details),) = answers(agent)[1]
    assert "does not" in details


def test_a_command_that_a_delete_overtakes_changes_nothing(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it is being executed or comes after it: nothing is answered, nothing is left."""
    instance, spec = built(agent)
    driver = agent.drivers[THERE]

    def overtaken(*args: Any, **kwargs: Any) -> GuestInfo:
        agent.work.delete(instance.uuid, THERE)
        agent.work.delete(instance.uuid, HERE)
        return type(driver).spawn(driver, *args, **kwargs)

    monkeypatch.setattr(driver, "spawn", overtaken)
    tell(agent, command(instance, spec, Told(Verb.CLAIM, THERE, attempt=2), 1))
    agent.settle()
    for sequence in (2, 3):  # the second after all is gone
        tell(agent, command(instance, spec, Told(Verb.SPAWN, THERE, ON, 2), sequence))
        agent.settle()
        assert (agent.guests(), agent.states()) == (set(), {})
        monkeypatch.undo()
    assert set(answers(agent)) == {1}


@pytest.mark.parametrize("is_told", ["before", "with the command"])
def test_a_copy_that_was_aborted_before_its_command_came_does_not_begin(
    agent: Agent, is_told: str
) -> None:
    """Messages may overtake each other, or the abort may be lost: the guest stays."""
    instance, spec = built(agent)
    arguments: dict[str, Any] = {"destination": GOES_TO}
    if is_told == "before":
        agent.command_work.signal(instance.uuid, HERE, 1, Signal.ABORT)
    else:
        arguments["is_aborted"] = True
    copy = Told(Verb.LIVE_MIGRATE, HERE, arguments)
    tell(agent, command(instance, spec, copy, 1))
    agent.settle()
    ((_answer, details),) = answers(agent)[1]
    assert "LiveMigrationAborted" in details
    assert state(agent) == {HERE: "running"}


@pytest.mark.parametrize("is_told", ["before", "with the command", "while queued", "not at all"])
def test_a_copy_is_forced_whenever_its_administrator_said_so(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, is_told: str
) -> None:
    """Before its command came, with a repeat of it, or before the agent restarted."""
    instance, spec = built(agent)
    arguments: dict[str, Any] = {"destination": GOES_TO}
    if is_told == "before":
        agent.command_work.signal(instance.uuid, HERE, 1, Signal.FORCE)
    elif is_told == "with the command":
        arguments["is_forced"] = True
    tell(agent, command(instance, spec, Told(Verb.LIVE_MIGRATE, HERE, arguments), 1))
    if is_told == "while queued":
        agent.command_work.signal(instance.uuid, HERE, 1, Signal.FORCE)
    agent.restart()
    seen: list[bool] = []

    def live_migrate(_instance: Instance, _destination: Any, watch: LiveWatch) -> None:
        seen.append(watch.is_forced())
        assert not watch.is_aborted()

    monkeypatch.setattr(agent.drivers[HERE], "live_migrate", live_migrate)
    agent.settle()
    assert seen == [is_told != "not at all"]


def test_what_an_earlier_attempt_claimed_is_not_taken_for_this_one_s(agent: Agent) -> None:
    """A move that was given up while its destination was unreachable left it there."""
    instance, spec = built(agent)
    tell(agent, command(instance, spec, Told(Verb.CLAIM, THERE, attempt=2), 1))
    agent.settle()
    tell(agent, command(instance, spec, Told(Verb.CLAIM, THERE, {}, 4, is_big=True), 2))
    agent.settle()
    assert agent.journal is not None
    entry = agent.journal.find(THERE, instance.uuid)
    assert entry is not None
    assert (entry.attempt, entry.vcpus) == (4, BIG.vcpus)


def test_a_guest_that_came_back_without_a_word_is_of_its_new_attempt(agent: Agent) -> None:
    """Else the conductor would have its end be that of another guest, and it destroyed."""
    instance, spec = built(agent)
    tell(agent, command(instance, spec, Told(Verb.POWER_OFF, HERE, attempt=3), 1))
    agent.settle()
    assert agent.journal is not None
    entry = agent.journal.find(HERE, instance.uuid)
    assert entry is not None
    assert entry.attempt == 3


def test_a_guest_that_ends_while_a_command_is_open_has_not_ended_by_itself(agent: Agent) -> None:
    """What is done to it is why; when nothing is, it has."""
    instance, spec = built(agent)
    agent.command_work.take(admin_context(), command(instance, spec, Told(Verb.REBOOT, HERE), 1))
    agent.drivers[HERE].power_off(instance.uuid, grace_seconds=0.0)
    agent.power_reports.report()
    assert state(agent) == {HERE: "running"}
    agent.settle()
    agent.drivers[HERE].power_off(instance.uuid, grace_seconds=0.0)
    agent.power_reports.report()
    agent.settle()
    assert len(agent.conductor.reported("instance_ended")) == 1


@pytest.mark.parametrize("is_at", [HERE, THERE], ids=["stays", "goes"])
def test_what_moves_is_left_alone_until_it_does_not(agent: Agent, is_at: str) -> None:
    """Then it is settled where the conductor has it, and destroyed elsewhere."""
    instance, spec = built(agent)
    for sequence, told in enumerate(PATHS["move"][0][:2], 1):
        tell(agent, command(instance, spec, told, sequence))
        agent.settle()
    agent.conductor.moving = [
        {"instance_uuid": instance.uuid, "host": host} for host in (HERE, THERE)
    ]
    agent.reconciler.reconcile()
    agent.settle()
    assert state(agent) == {HERE: "leaving", THERE: "arriving"}
    agent.conductor.moving = []
    agent.conductor.instances[instance.uuid] = instance.with_values(host=is_at, vm_state="active")
    for _time in HOSTS:  # it leaves alone what it has just touched on another host
        agent.reconciler.reconcile()
        agent.settle()
    assert state(agent) == {is_at: "ended"}


@pytest.mark.parametrize("verb", [Verb.PAUSE, Verb.SUSPEND])
def test_a_pause_ends_that_the_agent_holds_the_guest(agent: Agent, verb: Verb) -> None:
    """It would continue, against its user's wish, when the conductor has answered."""
    instance, spec = built(agent)
    assert agent.journal is not None
    held = HeldGuests(agent.journal)
    held.add(HERE, instance.uuid)
    tell(agent, command(instance, spec, Told(verb, HERE), 1))
    agent.settle()
    assert held.list_held() == []


@pytest.mark.parametrize("is_on", [True, False])
def test_a_guest_that_was_held_as_it_was_copied_runs_at_its_destination(
    agent: Agent, is_on: bool
) -> None:
    """Its source's agent cannot let it continue there; one that its user paused stays paused."""
    instance, spec = built(agent)
    agent.drivers[HERE].pause(instance.uuid)
    steps, _end = PATHS["live"]
    arguments: dict[Verb, Mapping[str, Any]] = {
        Verb.PREPARE_LIVE: {"source": {**COMES_FROM, "power_state": "paused"}},
        Verb.COMPLETE_LIVE: {"is_on": is_on},
    }
    for number, step in enumerate(steps, 1):
        given = arguments.get(step.verb, step.arguments)
        step = dataclasses.replace(step, arguments=given)
        tell(agent, command(instance, spec, step, number))
        agent.settle()
    [guest] = agent.drivers[THERE].list_guests()
    assert guest.power_state == ("running" if is_on else "paused")


def test_a_guest_that_was_held_as_it_was_suspended_runs_when_it_is_resumed(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hypervisor saved it as it was then."""
    instance, spec = built(agent)
    driver = agent.drivers[HERE]
    monkeypatch.setattr(driver, "resume", lambda *_given: driver.pause(instance.uuid))
    for number, verb in enumerate((Verb.SUSPEND, Verb.RESUME), 1):
        tell(agent, command(instance, spec, Told(verb, HERE), number))
        agent.settle()
    [guest] = driver.list_guests()
    assert guest.power_state == "running"
