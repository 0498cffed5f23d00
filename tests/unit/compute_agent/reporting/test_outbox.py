"""Reports: delivered in order until they are answered, whatever the conductor does meanwhile."""

from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import RequestContext
from compute_agent.journal.journal import Journal, Kind, State
from compute_agent.reporting.outbox import BACKOFF
from tests import builders
from tests.fixtures.agent import AGENT, HOSTS, Agent, a_build

HOST = HOSTS[0]


def journal_of(agent: Agent) -> Journal:
    assert agent.journal is not None
    return agent.journal


def built(agent: Agent, host: str = HOST) -> str:
    """Build an instance, and return its UUID; its report waits."""
    instance, spec = a_build(host)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.queue.run()
    return instance.uuid


def waiting(agent: Agent) -> list[Kind]:
    return [report.kind for report in journal_of(agent).next_reports(100)]


def test_a_report_is_sent_once_and_then_gone(agent: Agent) -> None:
    """With agent, host, attempt and power state."""
    uuid = built(agent)
    agent.outbox.step()
    agent.outbox.step()
    assert agent.conductor.reported("build_succeeded") == [(HOST, uuid, 1, "running")]
    assert agent.conductor.agents == {AGENT}
    assert waiting(agent) == []


def test_a_fault_arrives_as_it_was_written_down(agent: Agent) -> None:
    """Message, details, attempt, host; and whether another host may try."""
    agent.conf.set_override("failing_hosts", [HOST], group="simulated")
    uuid = built(agent)
    agent.outbox.step()
    assert agent.conductor.reported("build_failed") == [(HOST, uuid, 1, True)]
    (fault,) = agent.conductor.faults
    assert (fault.instance_uuid, fault.attempt, fault.host) == (uuid, 1, HOST)
    assert fault.message == "The build failed: simulated failure."


@pytest.mark.parametrize(
    "error",
    [
        oslo_messaging.MessagingTimeout("no answer"),
        oslo_messaging.MessageDeliveryFailure("no broker"),
        exception.DatabaseUnavailable(name="cell", reason="down"),
    ],
    ids=["timeout", "broker", "database"],
)
def test_an_outage_is_waited_for(agent: Agent, error: Exception) -> None:
    """Nothing is lost; all reports wait, and come when it is over."""
    agent.bus.fail("builds_succeeded", error)
    first, second = built(agent), built(agent)
    agent.outbox.step()
    wait = agent.outbox.step()
    assert wait is not None
    assert 0 < wait < 1
    agent.now += wait
    agent.outbox.step()
    assert {report[1] for report in agent.conductor.reported("build_succeeded")} == {first, second}


def test_what_succeeded_meanwhile_is_told_in_one_message(agent: Agent) -> None:
    """Each gets its own answer: what came too late is destroyed, the others stay."""
    agent.bus.meanwhile("builds_succeeded", lambda: None)
    agent.bus.fail("builds_succeeded", exception.Invalid(reason="not in one message"), times=3)
    uuids = [built(agent) for _ in range(3)]
    agent.conductor.instances[uuids[1]].attempt = 2
    agent.settle()
    assert {report[1] for report in agent.conductor.reported("build_succeeded")} == set(uuids)
    assert waiting(agent) == []
    assert set(agent.states()) == {(HOST, uuids[0]), (HOST, uuids[2])}


def test_pauses_grow_to_a_bound(agent: Agent) -> None:
    """A conductor that is unreachable for long is not asked all the time."""
    agent.bus.fail("builds_succeeded", oslo_messaging.MessagingTimeout("no answer"), times=50)
    built(agent)
    waits = []
    for _ in range(20):
        agent.outbox.step()
        wait = agent.outbox.step()
        assert wait is not None
        waits.append(wait)
        agent.now += wait
    assert waits[0] <= 0.5
    assert BACKOFF.max_seconds / 2 <= waits[-1] <= BACKOFF.max_seconds


def test_an_answer_that_was_lost_is_asked_for_again(agent: Agent) -> None:
    """The conductor hears it twice, and says the same."""
    agent.bus.fail("builds_succeeded", oslo_messaging.MessagingTimeout("no answer"), when_done=True)
    uuid = built(agent)
    agent.settle()
    assert len(agent.conductor.reported("build_succeeded")) == 2
    assert agent.conductor.instances[uuid].vm_state == "active"


def test_a_report_under_way_is_not_sent_again(agent: Agent) -> None:
    """There are several senders: while one waits for the answer, the others leave it to that."""
    agent.conf.set_override("failing_hosts", [HOST], group="simulated")
    uuid = built(agent)
    agent.bus.meanwhile("build_failed", agent.outbox.step)
    agent.outbox.step()
    assert agent.conductor.reported("build_failed") == [(HOST, uuid, 1, True)]


def test_a_report_that_is_refused_keeps_no_other_back(agent: Agent) -> None:
    """It is tried again by itself, later."""
    agent.bus.fail("builds_succeeded", exception.Invalid(reason="not understood"), times=2)
    poison, healthy = built(agent), built(agent)
    agent.outbox.step()
    assert [report[1] for report in agent.conductor.reported("build_succeeded")] == [healthy]
    wait = agent.outbox.step()
    assert wait is not None
    agent.now += wait
    agent.outbox.step()
    assert poison in {report[1] for report in agent.conductor.reported("build_succeeded")}


def test_reports_of_an_instance_keep_their_order(agent: Agent) -> None:
    """Its end is not told before its beginning was answered."""
    uuid = built(agent)
    journal_of(agent).end(HOST, uuid, 1, exit_code=7)
    agent.settle()
    assert [report[0] for report in agent.conductor.reports] == [
        "build_succeeded",
        "instance_ended",
    ]
    assert agent.conductor.reported("instance_ended") == [(HOST, uuid, 1, 7)]


def test_a_build_that_came_too_late_is_destroyed_and_forgotten(agent: Agent) -> None:
    """Another attempt owns the instance: nothing of it stays, and nothing more is said."""
    uuid = built(agent)
    agent.conductor.answers["build_succeeded"] = "stale"
    agent.settle()
    assert (agent.guests(), agent.states(), waiting(agent)) == (set(), {}, [])
    assert agent.conductor.reported("instance_deleted") == []
    assert agent.conductor.reported("build_succeeded") == [(HOST, uuid, 1, "running")]


@pytest.mark.parametrize("is_moving", [True, False])
def test_a_guest_whose_end_came_too_late_is_compared(agent: Agent, *, is_moving: bool) -> None:
    """A move that failed here and is to be repeated needs it; else it is another's by now."""
    uuid = built(agent)
    agent.settle()
    journal_of(agent).end(HOST, uuid, 1, exit_code=0)
    del agent.conductor.instances[uuid]  # the record names another attempt
    if is_moving:
        agent.conductor.moving.append({"instance_uuid": uuid, "host": HOST})
    agent.conductor.answers["instance_ended"] = "stale"
    agent.settle()
    assert agent.guests() == {(HOST, uuid)}
    agent.reconciler.step()
    agent.settle()
    assert agent.guests() == ({(HOST, uuid)} if is_moving else set())
    assert waiting(agent) == []


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_delete_that_crosses_a_stale_report_is_still_told(
    agent: Agent, *, has_ended: bool
) -> None:
    """The delete ends while the report is on its way: its own report is not taken with it."""
    uuid = built(agent)
    journal = journal_of(agent)
    if has_ended:
        agent.outbox.step()
        journal.end(HOST, uuid, 1, exit_code=0)
    (crossing,) = journal.next_reports(10)
    agent.work.delete(uuid, HOST)
    agent.queue.run()
    agent.work.forget_stale(crossing)  # the answer to the crossing report
    journal.remove_reports([crossing])
    agent.settle()
    assert agent.conductor.reported("instance_deleted") == [(HOST, uuid)]
    assert (agent.guests(), agent.states(), waiting(agent)) == (set(), {}, [])


def test_a_failure_that_came_too_late_is_just_forgotten(agent: Agent) -> None:
    """Nothing is left that could be destroyed."""
    agent.conf.set_override("failing_hosts", [HOST], group="simulated")
    agent.conductor.answers["build_failed"] = "stale"
    built(agent)
    agent.outbox.step()
    assert (agent.states(), agent.queue.line) == ({}, [])


def test_a_later_attempt_is_not_destroyed_by_a_stale_report_of_an_earlier(agent: Agent) -> None:
    """The earlier one's report is dropped when the later command comes."""
    uuid = built(agent)
    later, spec = a_build(uuid=uuid, attempt=2)
    agent.conductor.expect(later)
    agent.build(later, spec)
    agent.settle()
    assert agent.states() == {(HOST, uuid): State.RUNNING}
    assert agent.conductor.reported("build_succeeded") == [(HOST, uuid, 2, "running")]


def test_what_happens_again_is_not_taken_for_a_report_that_comes_twice(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The conductor answers a request ID that it has seen from its record."""
    instance, spec = a_build(HOST)
    instance.request_id = f"req-{builders.a_uuid()}"
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.queue.run()
    agent.outbox.step()
    power_changed = agent.conductor.power_changed
    seen: list[tuple[str, str]] = []

    def watched(context: RequestContext, *arguments: Any, **named: Any) -> str:
        seen.append((str(context.request_id), named["power_state"]))
        return power_changed(context, *arguments, **named)

    monkeypatch.setattr(agent.conductor, "power_changed", watched)
    for power_state in ("paused", "running", "paused"):
        journal_of(agent).note_power(HOST, instance.uuid, 1, power_state, None)
        agent.outbox.step()
    assert [power_state for _request_id, power_state in seen] == ["paused", "running", "paused"]
    assert len({request_id for request_id, _power_state in seen}) == len(seen)


def test_deliveries_of_one_report_have_one_request_id(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late one would else undo what came after it."""
    instance, spec = a_build(HOST)
    agent.conductor.expect(instance)
    agent.build(instance, spec)
    agent.queue.run()
    agent.outbox.step()
    seen: list[str] = []

    def lost(context: RequestContext, *_arguments: Any, **_named: Any) -> str:
        seen.append(str(context.request_id))
        raise exception.RpcTimeout(method="power_changed", topic="conductor", timeout_seconds=1)

    monkeypatch.setattr(agent.conductor, "power_changed", lost)
    journal_of(agent).note_power(HOST, instance.uuid, 1, "paused", None)
    for _ in range(3):
        agent.outbox.step()
        agent.now += BACKOFF.seconds(10) * 2
    assert len(seen) == 3
    assert len(set(seen)) == 1
