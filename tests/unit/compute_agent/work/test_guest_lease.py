"""When guests are held, and when they continue: after silences that may have had them given up."""

from pathlib import Path
from typing import Any

import pytest

from compute_agent.environment import Environment
from compute_agent.journal.command_log import NO_CHANGE, CommandLog
from compute_agent.journal.held_guests import HeldGuests
from compute_agent.journal.journal import Journal
from compute_agent.reporting.staleness_check import ConductorLease
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from compute_agent.virt.simulated.simulated_hosts import SimulatedHost
from compute_agent.virt.simulated.simulated_store import SimulatedStore
from compute_agent.work.guest_lease import GuestLease
from objects.instances.instance_command import InstanceCommand
from tests import builders
from tests.fixtures.agent import A_HOST, HOSTS, a_build, agent_conf

DOWN_SECONDS = 60


class World:
    """An agent's lease over simulated hosts, with clocks of the test's own."""

    def __init__(self, path: Path) -> None:
        self.now = 1000.0
        self.conf = agent_conf(path)
        self.conf.set_override("service_down_time", DOWN_SECONDS)
        store = SimulatedStore(path / "guests.sqlite")
        host = SimulatedHost(HOSTS[0], A_HOST, frozenset())
        driver = SimulatedDriver(self.conf, host, store, "192.0.2.1", lambda seconds: None)
        driver.init_host([])
        self.drivers = {HOSTS[0]: driver}
        self.journal = Journal(path / "journal.sqlite")
        self.journal.open()
        self.held = HeldGuests(self.journal)
        self.compared_at = float("-inf")
        self.doubts: set[tuple[str, str]] = set()
        self.requests = self.settled = 0
        self.begin()

    def begin(self) -> None:
        """Begin a run of the agent."""
        self.conductor_lease = ConductorLease(self.conf, clock=lambda: self.now)
        env = Environment(
            self.conf, "agent-1", self.drivers, self.journal,
            conductor=None,  # type: ignore[arg-type] # it is not asked
            is_admitted=lambda: True,
        )  # fmt: skip
        self.lease = GuestLease(
            env, conductor_lease=self.conductor_lease,
            held=self.held, is_settled=lambda since: self.compared_at >= since,
            is_corrected=lambda since: self.compared_at >= since,
            list_doubts=lambda: self.doubts,
            request_settlement=lambda: self._count("requests"),
            on_settled=lambda: self._count("settled"),
            clock=lambda: self.now,
        )  # fmt: skip
        self.answer()

    def _count(self, name: str) -> None:
        setattr(self, name, getattr(self, name) + 1)

    def answer(self, *, is_settled: bool = True) -> None:
        """Have a heartbeat answered, and what runs compared."""
        self.now += 1.0
        self.conductor_lease.answered(self.now)
        if is_settled:
            self.compared_at = self.now
        self.lease.step()

    def wait(self, seconds: float) -> None:
        """Let time pass, second by second, without an answer."""
        for _ in range(int(seconds)):
            self.now += 1.0
            self.lease.step()

    def stand_still(self, seconds: float) -> None:
        """Stop and continue the agent's process."""
        self.now += seconds
        self.lease.step()

    def build(self, **values: Any) -> str:
        """Build a guest, the report of which waits in the outbox."""
        instance, spec = a_build(**values)
        self.journal.accept_builds([(instance, spec)])
        self.drivers[HOSTS[0]].spawn(instance)
        self.journal.finish_build(HOSTS[0], instance.uuid, 1, power_state="running")
        return str(instance.uuid)

    def confirm(self) -> None:
        """Have all reports accepted."""
        self.journal.remove_reports(self.journal.next_reports(100))

    def power(self, uuid: str) -> str:
        (found,) = [g for g in self.drivers[HOSTS[0]].list_guests() if g.instance_uuid == uuid]
        return found.power_state


@pytest.fixture
def world(tmp_path: Path):
    made = World(tmp_path)
    yield made
    made.journal.close()


@pytest.fixture
def guest(world: World) -> str:
    """Return a guest that runs here, as the conductor knows."""
    uuid = world.build()
    world.confirm()
    return uuid


def test_guests_are_held_after_the_agent_stood_still(world: World, guest: str) -> None:
    """At the first step afterwards, before any message; and the comparison is asked for."""
    world.stand_still(DOWN_SECONDS / 2 + 1)
    assert world.power(guest) == "paused"
    assert world.requests == 1
    assert not world.lease.is_settled()


def test_they_continue_when_the_conductor_has_answered(world: World, guest: str) -> None:
    """An answer alone is not enough: what does not belong here is to be destroyed first."""
    world.stand_still(DOWN_SECONDS)
    world.answer(is_settled=False)
    assert world.power(guest) == "paused"
    world.answer()
    assert world.power(guest) == "running"
    assert world.lease.is_settled()
    assert world.settled == 2  # at the start, and now


def test_an_agent_that_is_killed_meanwhile_lets_them_continue(world: World, guest: str) -> None:
    """Its next run knows which guests it holds."""
    world.stand_still(DOWN_SECONDS)
    world.begin()
    world.lease.start()
    world.lease.stop(5.0)
    world.answer()
    assert world.power(guest) == "running"
    assert world.held.list_held() == []


def test_a_short_pause_holds_nothing(world: World, guest: str) -> None:
    """The host cannot count as down yet."""
    world.stand_still(DOWN_SECONDS / 2 - 1)
    assert world.power(guest) == "running"


def test_an_outage_holds_no_guest_that_is_known_here(world: World, guest: str) -> None:
    """However long broker or conductors are unreachable, as long as the agent itself goes on."""
    world.wait(10 * DOWN_SECONDS)
    assert world.power(guest) == "running"


def test_an_outage_holds_a_guest_that_was_not_reported(world: World, guest: str) -> None:
    """The conductor gives this host up when it counts as down, and builds it elsewhere."""
    new = world.build()
    world.wait(DOWN_SECONDS / 2)
    assert world.power(new) == "running"
    world.wait(DOWN_SECONDS / 2 - 1)
    assert (world.power(new), world.power(guest)) == ("paused", "running")
    world.answer()
    assert world.power(new) == "paused"  # the conductor is back; it does not know of the guest yet
    world.confirm()
    world.answer()
    assert world.power(new) == "running"


def test_a_guest_whose_report_was_stale_is_held_until_it_is_compared(world: World) -> None:
    """It may run elsewhere by then, and be destroyed here."""
    new = world.build()
    world.wait(DOWN_SECONDS)
    world.doubts = {(HOSTS[0], new)}
    world.confirm()
    world.answer()
    assert world.power(new) == "paused"
    world.doubts = set()
    world.wait(1)
    assert world.power(new) == "running"


def test_a_stalled_agent_lets_only_confirmed_guests_continue(world: World, guest: str) -> None:
    new = world.build()
    world.stand_still(DOWN_SECONDS)
    world.answer()
    assert (world.power(new), world.power(guest)) == ("paused", "running")
    assert world.lease.is_settled()
    world.confirm()
    world.wait(1)
    assert world.power(new) == "running"


@pytest.mark.parametrize(("verb", "power"), [("attach", "paused"), ("power_on", "running")])
def test_an_outage_holds_a_guest_whose_arrival_was_not_answered(
    world: World, guest: str, verb: str, power: str
) -> None:
    """The conductor may let it go back to its source; no other command moves a guest."""
    instance = builders.an_instance(uuid=guest, host=HOSTS[0])
    command = InstanceCommand.from_values(
        instance=instance, host=HOSTS[0], operation="resize", verb=verb, sequence=1, arguments={}
    )
    log = CommandLog(world.journal)
    log.accept(command)
    log.finish(command, NO_CHANGE)
    world.wait(DOWN_SECONDS - 1)
    assert world.power(guest) == power


def test_a_user_s_paused_guest_stays_paused(world: World, guest: str) -> None:
    """Only what was held here continues."""
    world.drivers[HOSTS[0]].pause(guest)
    world.stand_still(DOWN_SECONDS)
    world.answer()
    assert world.power(guest) == "paused"


def test_a_user_s_paused_guest_that_was_not_reported_stays_paused(world: World) -> None:
    """An outage holds only what runs."""
    new = world.build()
    world.drivers[HOSTS[0]].pause(new)
    world.wait(DOWN_SECONDS - 1)
    world.answer()
    assert world.power(new) == "paused"


def test_a_guest_that_is_being_destroyed_does_not_continue(world: World, guest: str) -> None:
    """It may be the one that runs elsewhere."""
    world.stand_still(DOWN_SECONDS)
    world.journal.begin_forget(HOSTS[0], guest, 1)
    world.answer()
    assert world.power(guest) == "paused"
    assert world.held.list_held() == []


def test_a_strict_lease_holds_guests_during_an_outage(world: World, guest: str) -> None:
    """Before this host counts as down."""
    world.conf.set_override("guest_lease", "strict", group="compute")
    world.wait(DOWN_SECONDS / 2)
    assert world.power(guest) == "running"
    world.wait(DOWN_SECONDS / 2 - 1)
    assert world.power(guest) == "paused"
    world.answer()
    assert world.power(guest) == "running"


def test_no_lease_holds_nothing(world: World, guest: str) -> None:
    """Where the option is off."""
    world.conf.set_override("guest_lease", "off", group="compute")
    world.stand_still(10 * DOWN_SECONDS)
    assert world.power(guest) == "running"
