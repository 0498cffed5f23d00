"""Live migrations wait for their turn on a host, and can be aborted while they do."""

import dataclasses
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from armillary.context import admin_context
from compute_agent.environment import Environment
from compute_agent.journal.command_log import CommandLog, Signal
from compute_agent.journal.journal import Journal, State
from compute_agent.work.command_execution import CommandExecution
from compute_agent.work.work_queue import WorkQueue
from conductor.cell_conductor.interface import CellConductorAPI
from objects.instance import Instance
from objects.instances.instance_command import InstanceCommand, Verb
from tests.fixtures.agent import AGENT, HOSTS, Agent, a_build, image_services
from tests.fixtures.asking import wait_for

HOST = HOSTS[0]
SECONDS_MAX = 60.0


class Copying:
    """Stands in the place of a driver's copying: holds each guest until it is let go."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.begun: list[str] = []
        self._free: set[str] = set()
        self.is_over = False

    def live_migrate(self, instance: Instance, _destination: Any, _watch: Any) -> None:
        with self.changed:
            self.begun.append(instance.uuid)
            self.changed.notify_all()
            may_end = self.changed.wait_for(
                lambda: self.is_over or instance.uuid in self._free, SECONDS_MAX
            )
            assert may_end

    def let_go(self, *uuids: str) -> None:
        with self.changed:
            self._free.update(uuids)
            self.changed.notify_all()

    def end(self) -> None:
        """Hold no copy any more."""
        with self.changed:
            self.is_over = True
            self.changed.notify_all()

    def wait_begun(self, uuid: str) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: uuid in self.begun, SECONDS_MAX)


@dataclasses.dataclass
class Source:
    """An agent whose host has guests that are to leave."""

    agent: Agent
    journal: Journal
    copying: Copying
    work: CommandExecution
    queue: WorkQueue

    def guests(self) -> tuple[Instance, Instance]:
        """Return two that run."""
        made = []
        for _ in range(2):
            instance, spec = a_build(HOST)
            self.agent.conductor.expect(instance)
            self.agent.build(instance, spec)
            made.append(instance)
        self.agent.settle()
        return made[0], made[1]

    def migrate(self, *guests: Instance) -> None:
        for guest in guests:
            command = InstanceCommand.from_values(
                instance=guest, host=HOST, operation="live_migrate", verb=Verb.LIVE_MIGRATE,
                sequence=1, arguments={"destination": {}},
            )  # fmt: skip
            self.work.take(admin_context(), command)

    def state(self, guest: Instance) -> str:
        return self.agent.states()[HOST, guest.uuid]

    def answers(self) -> list[str]:
        """Return the faults of the answers that wait to be sent, empty for a success."""
        return [str(report.result.fault or "") for report in self.journal.next_reports(10)]

    def wait_for_answer(self) -> str:
        """Return the first."""
        first: str = wait_for(self.answers, "an answer", SECONDS_MAX, 0.01)[0]
        return first


@pytest.fixture
def make_source(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Source]]:
    """Return a function that starts the agent's work; all that copies is let go in the end."""
    copying = Copying()
    for driver in agent.drivers.values():
        monkeypatch.setattr(driver, "live_migrate", copying.live_migrate)
    made: list[Source] = []

    def make() -> Source:
        assert agent.journal is not None
        queue = WorkQueue(
            size=5, name="test", builds_per_host_max=lambda: 0,
            copies_per_host_max=lambda: agent.conf.max_concurrent_live_migrations,
        )  # fmt: skip
        work = CommandExecution(
            Environment(
                agent.conf, AGENT, agent.drivers, agent.journal, CellConductorAPI(agent.bus),
                lambda: True,
            ),
            image_services=image_services(agent.conf, agent.hosts), claims=agent.claims,
            queue=queue, outbox=agent.outbox,
            staleness_check=agent.staleness_check, on_change=agent.touched.append,
            on_unwanted=agent.reconciler.doubt,
        )  # fmt: skip
        made.append(Source(agent, agent.journal, copying, work, queue))
        return made[-1]

    yield make
    copying.end()
    for source in made:
        source.queue.shutdown(SECONDS_MAX)


@pytest.fixture
def source(make_source: Callable[[], Source]) -> Source:
    return make_source()


def test_the_second_migration_waits_for_the_first(source: Source) -> None:
    """By default there is one at a time; what waits has not begun to leave."""
    first, second = source.guests()
    source.migrate(first, second)
    source.copying.wait_begun(first.uuid)
    assert (source.state(first), source.state(second)) == (State.LEAVING, State.RUNNING)
    source.copying.let_go(first.uuid)
    source.copying.wait_begun(second.uuid)


def test_one_that_waits_can_be_aborted(source: Source) -> None:
    """It is answered while the other one still copies, and its driver was never asked."""
    first, second = source.guests()
    source.migrate(first, second)
    source.copying.wait_begun(first.uuid)
    source.work.signal(second.uuid, HOST, 1, Signal.ABORT)
    assert "LiveMigrationAborted" in source.wait_for_answer()
    assert (source.copying.begun, source.state(second)) == ([first.uuid], State.RUNNING)


def test_an_abort_is_remembered_by_the_next_agent(make_source: Callable[[], Source]) -> None:
    """It takes up both commands, and the one that was to be aborted waits for no other."""
    source = make_source()
    first, second = source.guests()
    source.migrate(first, second)
    source.copying.wait_begun(first.uuid)
    CommandLog(source.journal).signal(HOST, second.uuid, 1, Signal.ABORT)
    make_source().work.resume()
    assert "LiveMigrationAborted" in source.wait_for_answer()


@pytest.mark.parametrize("limit", [0, 2])
def test_the_option_says_how_many(source: Source, limit: int) -> None:
    """0 means unlimited."""
    source.agent.conf.set_override("max_concurrent_live_migrations", limit)
    guests = source.guests()
    source.migrate(*guests)
    for guest in guests:
        source.copying.wait_begun(guest.uuid)


def test_a_wait_that_is_over_is_told(source: Source) -> None:
    """So the conductor shows that it runs; of one that waits it hears nothing."""
    first, second = source.guests()
    source.migrate(first, second)
    source.copying.wait_begun(first.uuid)
    told = list(source.agent.conductor.progress)
    memory_mb = first.flavor.memory_mb
    assert told == [(memory_mb, memory_mb)]
