"""Heartbeats and host records: what is sent when, in how many messages, and again after what."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import oslo_messaging
import pytest

from armillary import exception
from compute_agent.host.resource_tracker import ResourceTracker
from compute_agent.monitors import HostMonitors, Monitor, MonitorPlugin
from compute_agent.reporting import reporter as reporter_module
from compute_agent.reporting.reporter import (
    DEBOUNCE_SECONDS,
    DEFAULT_UPDATE_SECONDS,
    REST_SECONDS,
    Reporter,
)
from compute_agent.virt.driver import Readings
from conductor.cell_conductor.interface import CellConductorAPI
from objects.hosts.agent_run import AgentRun
from objects.hosts.compute_node import ComputeNode
from rpc.notifications import SILENT, Notifier
from tests import builders
from tests.fixtures.agent import AGENT, HOSTS, Agent, a_build
from tests.fixtures.stand_ins.told import Told

HOST, OTHER_HOST = HOSTS


class Contacts:
    """Counts the calls of ``on_connected``."""

    count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def contacts() -> Contacts:
    """Return what the reporter calls when the conductor is there (again)."""
    return Contacts()


@pytest.fixture
def reporter(agent: Agent, contacts: Contacts) -> Reporter:
    """Return the reporter of an agent with two hosts."""
    return make_reporter(agent, contacts)


def make_reporter(
    agent: Agent,
    contacts: Contacts,
    *,
    plugins: Sequence[MonitorPlugin] = (),
    notifier: Notifier = SILENT,
    run: AgentRun | None = None,
) -> Reporter:
    assert agent.journal is not None
    api = CellConductorAPI(agent.bus)
    trackers = [
        ResourceTracker(
            agent.conf,
            driver=driver,
            journal=agent.journal,
            ratios=agent.ratios,
            monitors=HostMonitors(agent.conf, plugins, driver),
            node_uuid=builders.a_uuid(),
        )
        for driver in agent.drivers.values()
    ]
    return Reporter(
        agent.conf, journal=agent.journal, trackers=trackers, heartbeats=api, conductor=api,
        agent=AGENT, on_connected=contacts, clock=lambda: agent.now, notifier=notifier,
        run=run,
    )  # fmt: skip


@pytest.fixture
def messages(agent: Agent, reporter: Reporter) -> list[list[str]]:
    """Return the hosts of each message of records from now on; all were sent once."""
    reporter.heartbeat()
    reporter.step()
    agent.conductor.node_messages.clear()
    return agent.conductor.node_messages


# Heartbeats ---------------------------------------------------------------------------------------


def test_a_heartbeat_names_all_hosts_and_builds_in_progress(
    agent: Agent, reporter: Reporter
) -> None:
    """In one message, however many hosts there are."""
    command = a_build()
    agent.build(*command)
    reporter.heartbeat()
    assert agent.conductor.heartbeats == [(sorted(HOSTS), {command[0].uuid: 1})]


def test_a_heartbeat_that_is_not_answered_is_not_an_error(agent: Agent, reporter: Reporter) -> None:
    """The next one comes in its turn."""
    agent.bus.fail("report_services", oslo_messaging.MessagingTimeout("x"))
    agent.bus.fail("report_services", exception.Forbidden(reason="not your host"))
    for _ in range(3):
        reporter.heartbeat()
    assert len(agent.conductor.heartbeats) == 1


def test_a_heartbeat_says_how_long_ago_the_last_answered_one_was_sent(
    agent: Agent, contacts: Contacts
) -> None:
    """So that the cell can tell one that came late; one that was not answered does not count."""
    reporter = make_reporter(agent, contacts, run=AgentRun("run-1"))
    reporter.heartbeat()
    agent.now += 10
    agent.bus.fail("report_services", oslo_messaging.MessagingTimeout("x"))
    reporter.heartbeat()
    agent.now += 15
    reporter.heartbeat()
    assert [run.answered_seconds_ago for run in agent.conductor.runs] == [None, 25.0]


def test_an_agent_whose_heartbeat_was_taken_for_a_late_one_sends_another(
    agent: Agent, contacts: Contacts
) -> None:
    """Without the time: the cell's records may be those of a backup."""
    reporter = make_reporter(agent, contacts, run=AgentRun("run-1"))
    reporter.heartbeat()
    agent.now += 10
    agent.bus.fail("report_services", exception.HeartbeatTooLate(agent=AGENT, seconds=3600))
    reporter.heartbeat()
    agent.now += 10
    reporter.heartbeat()
    told = [run.answered_seconds_ago for run in agent.conductor.runs]
    assert told == [None, None, 10.0]


def test_an_agent_whose_hosts_are_not_approved_says_so_once(
    agent: Agent, reporter: Reporter, caplog: pytest.LogCaptureFixture
) -> None:
    """It goes on asking, so an approval needs no restart."""
    refusal = exception.HostsNotApproved(agent=AGENT, hosts=[HOST], named=HOST)
    for _ in range(2):
        agent.bus.fail("report_services", refusal)
        reporter.heartbeat()
    said = [record for record in caplog.records if record.levelname == "ERROR"]
    assert [HOST in record.getMessage() for record in said] == [True]
    reporter.heartbeat()
    assert len(agent.conductor.heartbeats) == 1


@pytest.mark.parametrize(
    ("seconds", "expected"), [(10.0, 1), (30.0, 1), (31.0, 2)], ids=["soon", "in-time", "late"]
)
def test_contact_is_the_first_answer_and_the_first_after_long(
    agent: Agent, reporter: Reporter, contacts: Contacts, seconds: float, expected: int
) -> None:
    """When the conductor may have thought the host dead, everything is compared again."""
    reporter.heartbeat()
    agent.now += seconds
    reporter.heartbeat()
    assert contacts.count == expected


# Records ------------------------------------------------------------------------------------------


def test_records_wait_for_the_first_heartbeat(agent: Agent, reporter: Reporter) -> None:
    """Which makes the records of the services that they belong to."""
    assert reporter.step() is None
    reporter.heartbeat()
    reporter.step()
    assert agent.conductor.node_messages == [sorted(HOSTS)]


def test_changes_travel_together_after_a_moment(
    agent: Agent, reporter: Reporter, messages: list[list[str]]
) -> None:
    """Each host once, whatever changed in between."""
    for host in (HOST, OTHER_HOST, HOST):
        reporter.touch(host)
    assert reporter.step() == pytest.approx(DEBOUNCE_SECONDS)
    assert messages == []
    agent.now += DEBOUNCE_SECONDS
    reporter.step()
    assert messages == [sorted(HOSTS)]


def test_what_changes_all_the_time_is_sent_once_in_a_while(
    agent: Agent, reporter: Reporter, messages: list[list[str]]
) -> None:
    """What changes soon after a message waits for the next one, the later the sooner."""
    reporter.touch(HOST)
    agent.now += DEBOUNCE_SECONDS
    reporter.step()
    reporter.touch(HOST)
    agent.now += DEBOUNCE_SECONDS
    reporter.touch(OTHER_HOST)
    assert reporter.step() == pytest.approx(REST_SECONDS - DEBOUNCE_SECONDS)
    agent.now += REST_SECONDS - DEBOUNCE_SECONDS
    reporter.step()
    assert messages == [[HOST], sorted(HOSTS)]


def test_only_what_changed_is_sent(
    agent: Agent, reporter: Reporter, messages: list[list[str]]
) -> None:
    """And with what it is by now."""
    agent.build(*a_build())
    reporter.touch(HOST)
    agent.now += DEBOUNCE_SECONDS
    reporter.step()
    assert messages == [[HOST]]
    assert agent.conductor.nodes[HOST].attributes["num_io_ops"] == 1


@pytest.mark.parametrize(
    ("interval", "after", "expected"),
    [(0, DEFAULT_UPDATE_SECONDS, 1), (0, 59.0, 0), (5, 5.0, 1), (-1, 10**6, 0)],
    ids=["default", "not-yet", "given", "off"],
)
def test_all_hosts_are_sent_in_their_interval(
    agent: Agent, reporter: Reporter, interval: int, after: float, expected: int
) -> None:
    """0 means a minute, a negative one never."""
    agent.conf.set_override("update_resources_interval", interval)
    reporter.heartbeat()
    reporter.step()
    agent.now += after
    reporter.step()
    assert len(agent.conductor.node_messages) == 1 + expected


@pytest.mark.parametrize("again", ["touch_all", "contact"])
def test_all_hosts_are_sent_on_demand(
    agent: Agent, reporter: Reporter, messages: list[list[str]], again: str
) -> None:
    """After a reload, and when the conductor was unreachable for long."""
    if again == "touch_all":
        reporter.touch_all()
    else:
        agent.now += 61
        reporter.heartbeat()
    reporter.step()
    assert messages == [sorted(HOSTS)]


@pytest.mark.parametrize(
    "fail",
    [
        lambda agent: agent.bus.fail(
            "report_compute_nodes", oslo_messaging.MessagingTimeout("no answer")
        ),
        lambda agent: agent.bus.fail("report_compute_nodes", exception.Invalid(reason="no")),
    ],
    ids=["outage", "refused"],
)
def test_what_was_not_taken_is_sent_again(
    agent: Agent, reporter: Reporter, messages: list[list[str]], fail: Callable[[Agent], None]
) -> None:
    """After a pause."""
    fail(agent)
    reporter.touch(HOST)
    agent.now += DEBOUNCE_SECONDS
    wait = reporter.step()
    assert wait == pytest.approx(1.0)
    agent.now += 1.0
    reporter.step()
    assert messages == [[HOST]]


def test_a_host_that_placement_refused_is_sent_again_alone(
    agent: Agent, reporter: Reporter, messages: list[list[str]]
) -> None:
    """The others were taken."""
    agent.conductor.node_errors[HOST] = "the name is taken"
    reporter.touch_all()
    reporter.step()
    agent.conductor.node_errors.clear()
    agent.now += 1.0
    reporter.step()
    assert messages == [sorted(HOSTS), [HOST]]


def test_a_tree_may_take_another_shape_until_it_was_taken_once(
    agent: Agent, reporter: Reporter
) -> None:
    """That is at the agent's start; a host that was refused is still at its own."""
    agent.conductor.node_errors[HOST] = "placement does not answer"
    reporter.heartbeat()
    reporter.step()
    uuids = {host: agent.conductor.nodes[host].uuid for host in HOSTS}
    agent.conductor.node_errors.clear()
    for _ in range(2):
        reporter.touch_all()
        reporter.step()
    assert agent.conductor.reshapes == [
        [uuids[host] for host in sorted(HOSTS)], [uuids[HOST]], []
    ]  # fmt: skip


def test_a_host_that_cannot_be_read_does_not_stop_the_others(
    agent: Agent, reporter: Reporter, messages: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is tried again later."""

    def broken() -> None:
        raise OSError("no such disk")

    monkeypatch.setattr(agent.drivers[HOST], "get_resources", broken)
    reporter.touch_all()
    reporter.step()
    monkeypatch.undo()
    agent.now += 1.0
    reporter.step()
    assert messages == [[OTHER_HOST], [HOST]]


def test_many_hosts_travel_in_several_messages(
    reporter: Reporter, messages: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message has a bound."""
    monkeypatch.setattr(reporter_module, "NODES_PER_MESSAGE_MAX", 1)
    reporter.touch_all()
    reporter.step()
    assert messages == [[HOST], [OTHER_HOST]]


def test_a_ratio_set_in_placement_comes_back_with_the_next_record(
    agent: Agent, reporter: Reporter, messages: list[list[str]]
) -> None:
    """Schedulers see the ratio that holds."""
    agent.conductor.ratios = {"VCPU": 16.0}
    reporter.touch_all()
    reporter.step()
    agent.now += DEBOUNCE_SECONDS
    reporter.step()
    assert agent.conductor.nodes[HOST].attributes["cpu_allocation_ratio"] == 16.0
    assert len(messages) == 2


# Notifications ------------------------------------------------------------------------------------


class OneHostMonitor(Monitor):
    """Measures one of both hosts."""

    def measure(self) -> Readings | None:
        if self._driver.host != HOST:
            return None
        return Readings({"cpu.percent": 0.25}, datetime(2030, 1, 31, tzinfo=UTC))


def test_a_driver_that_is_lost_is_told_once(
    agent: Agent, contacts: Contacts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once more when it is lost again."""
    told = Told()
    reporter = make_reporter(agent, contacts, notifier=told.notifier)
    reporter.heartbeat()

    def look(*, is_lost: bool) -> int:
        def read(_self: ResourceTracker) -> ComputeNode:
            raise exception.Unavailable(reason="qemu:///system: no socket")

        with monkeypatch.context() as patch:
            if is_lost:
                patch.setattr(ResourceTracker, "compute_node", read)
            reporter.touch_all()
            reporter.step()
        return len(told.told)

    counts = [look(is_lost=is_lost) for is_lost in (True, True, False, True)]
    hosts = counts[0]
    assert counts == [hosts, hosts, hosts, 2 * hosts]
    assert {(one.event_type, one.priority) for one in told.told} == {
        ("virt_driver.connect.error", "ERROR")
    }
    assert "no socket" in told.told[0].line()["reason"]


@pytest.mark.parametrize("is_measured", [True, False], ids=["measured", "without monitors"])
def test_what_is_measured_is_told(agent: Agent, contacts: Contacts, is_measured: bool) -> None:
    """With each record, of the host that was measured; without monitors nothing is sent."""
    told = Told()
    plugins = [MonitorPlugin("cpu.test", OneHostMonitor)] if is_measured else []
    reporter = make_reporter(agent, contacts, plugins=plugins, notifier=told.notifier)
    reporter.heartbeat()
    reporter.step()
    found = [(one.event_type, one.facts["host"]) for one in told.told]
    assert found == ([("metrics.update", HOST)] if is_measured else [])
    for one in told.told:
        [metric] = one.facts["metrics"]
        assert (metric["name"], metric["value"]) == ("cpu.percent", 0.25)
