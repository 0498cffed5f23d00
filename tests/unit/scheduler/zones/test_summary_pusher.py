"""A summary is pushed every period, and immediately when there is news."""

import pytest

from armillary import exception
from objects.zones.zone_summary import ZoneSummary
from scheduler.zones.service import SummaryPusher
from tests.fixtures.zones.zone_trees import PUSH_SECONDS, Zone
from tests.fleets import a_host


class Pushed:
    """A zone that pushes here."""

    def __init__(self) -> None:
        self.sent: list[ZoneSummary] = []
        self.is_ready = True
        self.error: Exception | None = None
        self.work_seconds = 0.0
        self.cost_seconds = 0.001
        self.looks = 0
        self.host = a_host()
        self.zone = Zone("leaf", [self.host])
        self.pushing = SummaryPusher(
            self.zone.conf,
            make=self._make,
            send=self._send,
            is_ready=lambda: self.is_ready,
            clock=self.zone.clock,
            work_clock=lambda: self.work_seconds,
        )

    def _make(self) -> ZoneSummary:
        self.looks += 1
        self.work_seconds += self.cost_seconds
        return self.zone.summary()

    def change(self, **values: object) -> None:
        """Have the host say something else."""
        self.host.values.update(values)
        self.zone.report(self.host)
        self.pushing.note_change()

    def _send(self, summary: ZoneSummary) -> None:
        if self.error is not None:
            raise self.error
        self.sent.append(summary)

    def tick(self, seconds: float = 0.5) -> int:
        """Let time pass and a tick come; return how many pushes there were."""
        before = len(self.sent)
        self.zone.clock.seconds += seconds
        self.pushing.tick()
        return len(self.sent) - before


@pytest.fixture
def pushed() -> Pushed:
    return Pushed()


def test_a_summary_goes_out_every_period(pushed: Pushed) -> None:
    """BZ-27, BZ-71: one in each, when nothing happens."""
    ticks = int(10 * PUSH_SECONDS / 0.5)
    assert sum(pushed.tick() for _ in range(ticks)) == 10


def test_news_goes_out_with_the_next_tick(pushed: Pushed) -> None:
    """BZ-27, BZ-31: a capability that is gone."""
    pushed.tick()
    pushed.host.values["service_disabled"] = True
    pushed.zone.report(pushed.host)
    pushed.pushing.note_change()
    assert pushed.tick() == 1
    assert pushed.sent[-1].capabilities["hosts"] == 0


@pytest.mark.parametrize(
    ("cost_seconds", "looks_max"),
    [(0.001, 200), (0.01, 200), (0.02, 100), (0.06, 33), (0.5, 10)],
    ids=["every tick", "just so", "every second", "every three seconds", "once a period"],
)
def test_the_more_a_look_costs_the_fewer_there_are(
    pushed: Pushed, cost_seconds: float, looks_max: int
) -> None:
    """BZ-71: under load, hosts change all the time; no more than 2 % of it, once a period."""
    pushed.cost_seconds = cost_seconds
    for count in range(200):
        pushed.change(num_instances=count)
        pushed.tick()
    assert looks_max - 3 <= pushed.looks <= looks_max
    assert len(pushed.sent) == 10


def test_news_waits_for_the_next_look(pushed: Pushed) -> None:
    """It is not forgotten."""
    pushed.cost_seconds = 0.06
    pushed.tick()
    pushed.change(service_disabled=True)
    assert [pushed.tick() for _ in range(6)] == [0, 0, 0, 0, 0, 1]
    assert pushed.sent[-1].capabilities["hosts"] == 0


def test_a_summary_that_was_asked_for_comes_immediately(pushed: Pushed) -> None:
    """Whatever it costs."""
    pushed.cost_seconds = 0.5
    pushed.tick()
    pushed.pushing.push()
    assert len(pushed.sent) == 2


def test_a_change_that_is_not_news_waits_for_its_period(pushed: Pushed) -> None:
    """BZ-71."""
    pushed.tick()
    pushed.host.values["num_instances"] = 3
    pushed.zone.report(pushed.host)
    pushed.pushing.note_change()
    assert pushed.tick() == 0


def test_nothing_is_pushed_until_all_hosts_are_known(pushed: Pushed) -> None:
    """BZ-26: it would promise too little."""
    pushed.is_ready = False
    assert pushed.tick() == 0
    pushed.pushing.push()
    assert not pushed.sent
    pushed.is_ready = True
    assert pushed.tick() == 1


def test_a_push_can_be_asked_for(pushed: Pushed) -> None:
    """BZ-30: the full state is sent again."""
    pushed.tick()
    pushed.pushing.push()
    assert [each.seq for each in pushed.sent] == sorted({each.seq for each in pushed.sent})
    assert len(pushed.sent) == 2
    assert pushed.pushing.last is pushed.sent[-1]


def test_a_broker_that_is_away_is_tried_again(pushed: Pushed) -> None:
    """BZ-66: in its turn, without a traceback."""
    pushed.error = exception.RpcUnavailable(method="m", topic="t", reason="away")
    assert pushed.tick() == 0
    pushed.error = None
    assert pushed.tick(PUSH_SECONDS) == 1
