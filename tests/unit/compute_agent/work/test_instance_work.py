"""Building and destroying: how failures end, what is undone, what is taken up again."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.journal.held_guests import HeldGuests
from compute_agent.virt.driver import GuestInfo
from compute_agent.work.instance_work import is_hosts_fault, make_fault
from objects.instance import Instance
from tests import builders
from tests.fixtures.agent import HOSTS, Agent, a_build

HOST, OTHER_HOST = HOSTS


def told_to_build(agent: Agent, host: str = HOST, **values: Any) -> Instance:
    """Return an instance that the agent was told to build."""
    instance, spec = a_build(host, **values)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    return instance


def running(agent: Agent, host: str = HOST) -> Instance:
    instance = told_to_build(agent, host)
    agent.settle()
    return instance


def spawn_raises(agent: Agent, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let the first host's driver begin a build and break."""
    driver = agent.drivers[HOST]
    spawn = type(driver).spawn

    def broken(instance: Instance) -> GuestInfo:
        spawn(driver, instance)
        if isinstance(error, exception.BuildFailed | exception.BuildAborted):
            driver.destroy(instance.uuid)
        raise error

    monkeypatch.setattr(driver, "spawn", broken)


def test_a_build_ends_with_a_guest_and_a_report(agent: Agent) -> None:
    """And the host is reported twice: with the build under way, and without."""
    instance = running(agent)
    assert agent.guests() == {(HOST, instance.uuid)}
    assert agent.conductor.instances[instance.uuid].vm_state == "active"
    assert agent.touched == [HOST, HOST]


@pytest.mark.parametrize(
    ("error", "retry", "counted", "message"),
    [
        (exception.BuildFailed(instance_uuid="u", host="h1", reason="disk full"), True, 1,
         "The build failed: disk full."),
        (exception.BuildAborted(instance_uuid="u", reason="no command"), False, 0,
         "The build failed: no command."),
        (exception.ImageUnsupported(instance_uuid="u", reason="no program"), True, 0,
         "The build failed: no program."),
        (OSError("h1 is broken"), True, 1, "The build failed: unexpected error on the host."),
    ],
    ids=["failed", "aborted", "unsupported", "unexpected"],
)  # fmt: skip
def test_a_failure_is_undone_and_reported(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, error: Exception, retry: bool, counted: int,
    message: str,
) -> None:  # fmt: skip
    """Another host may try unless none can; the user reads no host name."""
    spawn_raises(agent, monkeypatch, error)
    instance = told_to_build(agent)
    agent.settle()
    assert (agent.guests(), agent.states()) == (set(), {})
    assert agent.conductor.reported("build_failed") == [(HOST, instance.uuid, 1, retry)]
    assert agent.conductor.faults[0].message == message
    assert agent.journal is not None
    assert agent.journal.failed_builds(HOST) == counted


def test_what_a_build_left_is_removed_before_it_is_repeated(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its daemon ended: the room stays claimed until it is back, and nothing is reported."""
    driver = agent.drivers[HOST]
    spawn, destroy = driver.spawn, driver.destroy
    left = exception.BuildNotUndone(instance_uuid="u", host=HOST, reason="the daemon has ended")
    down = exception.OperationFailed(operation="d", instance_uuid="u", host=HOST, reason="down")
    outcomes: list[Exception] = [left, down, down]
    claimed: list[int] = []

    def fails(work: Any) -> Any:
        def tried(*arguments: Any) -> Any:
            assert agent.journal is not None
            entry = agent.journal.find(HOST, instance.uuid)
            claimed.append(entry.vcpus if entry is not None and entry.is_claimed else 0)
            if outcomes:
                raise outcomes.pop(0)
            return work(*arguments)

        return tried

    monkeypatch.setattr(driver, "spawn", fails(spawn))
    monkeypatch.setattr(driver, "destroy", fails(destroy))
    instance = told_to_build(agent)
    agent.settle()
    assert claimed == [instance.flavor.vcpus] * 5
    assert agent.states() == {(HOST, instance.uuid): "running"}
    assert agent.conductor.reported("build_failed") == []


def test_a_group_s_veto_is_not_the_host_s_fault(agent: Agent) -> None:
    """It is tried elsewhere, and no scheduler keeps away from this host."""
    group = builders.an_instance_group(policy="affinity")
    agent.conductor.members = {builders.a_uuid(): OTHER_HOST}
    told_to_build(agent, instance_group=group)
    agent.settle()
    assert agent.conductor.reported("build_failed")[0][-1] is True
    assert agent.conductor.faults[0].message.endswith("policy affinity.")
    assert agent.journal is not None
    assert agent.journal.failed_builds(HOST) == 0


def test_details_are_for_administrators() -> None:
    """Class and full text, with host names."""
    error = exception.BuildFailed(instance_uuid="u", host="h1", reason="disk full")
    fault = make_fault(builders.a_uuid(), 2, "h1", error)
    assert (fault.attempt, fault.host, fault.code) == (2, "h1", 500)
    assert fault.details is not None
    assert fault.details.startswith("BuildFailed: Build of instance u failed on h1")
    assert "h1" not in fault.message


def test_only_some_failures_say_something_about_the_host() -> None:
    """What the image or the group is to blame for does not."""
    assert is_hosts_fault(RuntimeError())
    assert not is_hosts_fault(exception.BuildAborted(instance_uuid="u", reason="r"))


def test_a_delete_during_the_build_wins(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guest is built, not reported, and destroyed."""
    driver = agent.drivers[HOST]
    spawn = type(driver).spawn

    def overtaken(instance: Instance) -> GuestInfo:
        guest = spawn(driver, instance)
        agent.work.delete(instance.uuid, HOST)
        return guest

    monkeypatch.setattr(driver, "spawn", overtaken)
    told_to_build(agent)
    agent.settle()
    assert (agent.guests(), agent.states()) == (set(), {})
    assert [report[0] for report in agent.conductor.reports] == ["instance_deleted"]


def test_a_later_attempt_on_the_same_host_begins_from_nothing(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What an older attempt left is destroyed first."""
    instance = running(agent)
    destroyed: list[str] = []
    driver = agent.drivers[HOST]
    monkeypatch.setattr(driver, "destroy", destroyed.append)
    told_to_build(agent, uuid=instance.uuid, attempt=2)
    agent.settle()
    assert destroyed == [instance.uuid]
    assert agent.states() == {(HOST, instance.uuid): "running"}


def test_a_destroy_that_fails_is_taken_up_again(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is reported when it is done, not before."""
    instance = running(agent)

    def stuck(instance_uuid: str) -> None:
        raise TimeoutError("it does not end")

    with monkeypatch.context() as patch:
        patch.setattr(agent.drivers[HOST], "destroy", stuck)
        agent.work.delete(instance.uuid, HOST)
        with pytest.raises(TimeoutError):
            agent.queue.run()
        agent.queue.line.clear()
    assert agent.conductor.reported("instance_deleted") == []
    agent.settle()
    assert agent.conductor.reported("instance_deleted") == [(HOST, instance.uuid)]


def test_what_is_in_progress_is_not_taken_up_twice(agent: Agent) -> None:
    """However often it is looked for."""
    told_to_build(agent)
    agent.work.resume()
    agent.work.resume()
    assert len(agent.queue.line) == 1


def test_builds_of_a_host_that_was_taken_away_go_elsewhere(agent: Agent) -> None:
    """They are reported as failed; what was being deleted there waits for the host."""
    deleted = running(agent, OTHER_HOST)
    agent.work.delete(deleted.uuid, OTHER_HOST)
    gone = told_to_build(agent, OTHER_HOST)
    agent.hosts = (HOST,)
    agent.restart()
    agent.work.resume()
    agent.outbox.step()
    assert agent.conductor.reported("build_failed") == [(OTHER_HOST, gone.uuid, 1, True)]
    assert agent.states() == {(OTHER_HOST, deleted.uuid): "deleting"}


# Ends ---------------------------------------------------------------------------------------------


def test_a_guest_that_ends_is_noticed_and_reported(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its exit code; others are not."""
    ended, alive = running(agent), running(agent)
    guests = [GuestInfo(ended.uuid, "shutdown", 3), GuestInfo(alive.uuid, "running")]
    monkeypatch.setattr(agent.drivers[HOST], "list_guests", lambda: guests)
    agent.power_reports.report()
    agent.settle()
    assert agent.conductor.reported("instance_ended") == [(HOST, ended.uuid, 1, 3)]
    assert agent.states()[HOST, alive.uuid] == "running"


def test_a_guest_that_runs_again_is_compared_immediately(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ended for a moment, or another program started it: once, and not every second."""
    instance = running(agent)
    assert agent.journal is not None
    agent.journal.end(HOST, instance.uuid, 1, 3)
    agent.settle()
    doubts: list[tuple[str, str]] = []
    monkeypatch.setattr(agent.reconciler, "doubt", lambda *key: doubts.append(key))
    agent.power_reports.report()
    agent.power_reports.report()
    assert doubts == [(HOST, instance.uuid)]


def test_a_guest_that_is_paused_or_goes_on_by_itself_is_reported_once(agent: Agent) -> None:
    """Not when its conductor has asked for it, nor while the agent holds it."""
    instance = running(agent)
    driver = agent.drivers[HOST]
    look = agent.power_reports.report
    look()
    for power_state, change in (("paused", driver.pause), ("running", driver.unpause)):
        change(instance.uuid)
        look()
        look()
        agent.settle()
        last = agent.conductor.reported("power_changed")[-1]
        assert last == (HOST, instance.uuid, 1, power_state)
    assert agent.journal is not None
    held = HeldGuests(agent.journal)
    held.add(HOST, instance.uuid)
    driver.pause(instance.uuid)
    look()
    agent.settle()
    assert len(agent.conductor.reported("power_changed")) == 2


def test_a_guest_that_vanished_has_ended_without_an_exit_code(agent: Agent) -> None:
    """Another program removed it behind the agent's back."""
    instance = running(agent)
    agent.drivers[HOST].destroy(instance.uuid)
    agent.power_reports.report()
    agent.settle()
    assert agent.conductor.reported("instance_ended") == [(HOST, instance.uuid, 1, None)]


def test_what_is_being_built_or_deleted_has_not_ended(agent: Agent) -> None:
    """No guest is there yet, or any more."""
    told_to_build(agent)
    agent.work.delete(told_to_build(agent).uuid, HOST)
    agent.power_reports.report()
    assert sorted(agent.states().values()) == ["building", "deleting"]


def test_a_host_that_cannot_be_looked_at_has_no_ended_guests(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other hosts' are noticed all the same."""

    def broken() -> list[GuestInfo]:
        raise OSError("no such disk")

    running(agent)
    other = running(agent, OTHER_HOST)
    monkeypatch.setattr(agent.drivers[HOST], "list_guests", broken)
    agent.drivers[OTHER_HOST].destroy(other.uuid)
    agent.power_reports.report()
    assert sorted(agent.states().values()) == ["ended", "running"]


# A journal that comes from an older copy


def older_copy(agent: Agent) -> Path:
    """Copy the journal as it is now."""
    path = agent.state_path / "copy.sqlite"
    journal = sqlite3.connect(agent.state_path / "journal.sqlite")
    copy = sqlite3.connect(path)
    with contextlib.closing(journal), contextlib.closing(copy):
        journal.backup(copy)
    return path


def restore(agent: Agent, copy: Path) -> None:
    """Restart the agent with a copy of its journal; it was unreachable, so all is in doubt."""
    agent.close()
    for path in agent.state_path.glob("journal.sqlite*"):
        path.unlink()
    shutil.copy(copy, agent.state_path / "journal.sqlite")
    agent.restart()
    agent.conductor_lease.in_doubt = True


def test_a_build_of_an_older_copy_does_not_undo_itself(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The copy was made while the instance was being built; it has run since."""
    instance, spec = a_build()
    agent.conductor.expect(instance)
    assert agent.journal is not None
    agent.journal.accept_builds([(instance, spec)])
    copy = older_copy(agent)
    agent.settle()
    instance.vm_state, instance.task_state, instance.power_state = "active", None, "running"
    restore(agent, copy)
    monkeypatch.setattr(agent.conductor, "is_build_wanted", lambda *_given, **_named: False)
    agent.settle()
    assert agent.guests() == {(HOST, instance.uuid)}
    assert agent.states() == {(HOST, instance.uuid): "running"}


def test_what_an_older_copy_was_to_forget_is_compared_first(agent: Agent) -> None:
    """Another attempt of the instance may have come to this host since."""
    instance, spec = a_build()
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.settle()
    assert agent.journal is not None
    agent.journal.begin_forget(HOST, instance.uuid, 1)
    copy = older_copy(agent)
    instance.vm_state, instance.task_state, instance.attempt = "active", None, 3
    restore(agent, copy)
    agent.work._is_compared = lambda: agent.reconciler.is_compared
    agent.work.resume()
    agent.queue.run()
    assert agent.guests() == {(HOST, instance.uuid)}
    agent.reconciler.reconcile()
    agent.settle()
    assert agent.states() == {(HOST, instance.uuid): "running"}
