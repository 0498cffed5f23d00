"""Host outages: start, duration, and when they are detected."""

import fnmatch
import functools
import random

from simulator.events import Order, Timeline
from simulator.fleet.host_states import Host, HostStates
from simulator.load.instance_lifecycles import InstanceLifecycles
from simulator.results.outcome_counts import OutcomeCounts
from simulator.scenario.scenario import Outage, Scenario


class Outages:
    """Schedule the outages of a scenario; identical for every policy."""

    def __init__(
        self,
        scenario: Scenario,
        *,
        book: HostStates,
        lives: InstanceLifecycles,
        tally: OutcomeCounts,
        timeline: Timeline,
    ) -> None:
        self._failures = scenario.failures
        self._book = book
        self._lives = lives
        self._tally = tally
        self._timeline = timeline
        self._rng = random.Random(f"{scenario.seed}/failures")  # noqa: S311 - a simulation
        self._unnoticed: set[int] = set()

    def plan(self) -> None:
        """Schedule the known outages, and the first random one."""
        for outage in self._failures.outages:
            begin = functools.partial(self._begin, outage)
            self._timeline.plan(outage.at_seconds, Order.FAILURE, begin)
        self._plan_next()

    def _plan_next(self) -> None:
        mean = self._failures.mean_seconds_between
        if mean is None:
            return
        hosts = self._book.hosts
        pause = self._rng.expovariate(len(hosts) / mean)
        victim = hosts[self._rng.randrange(len(hosts))]
        seconds = self._failures.repair.draw(self._rng)
        self._timeline.plan(
            self._timeline.now + pause, Order.FAILURE, lambda: self._start_outage(victim, seconds)
        )

    def _start_outage(self, host: Host, seconds: float) -> None:
        self._down(host, seconds)
        self._plan_next()

    def _begin(self, outage: Outage) -> None:
        for host in self._book.hosts:
            if fnmatch.fnmatchcase(host.name, outage.hosts):
                self._down(host, outage.repair.draw(self._rng))

    def _down(self, host: Host, seconds: float) -> None:
        if host.is_down:
            return
        now = self._timeline.now
        self._tally.hosts_failed += 1
        self._tally.happened(now, "down", host.name)
        self._book.set_down(host, is_down=True)
        self._unnoticed.add(host.row)
        if self._failures.notice_seconds < seconds:
            self._timeline.plan(
                now + self._failures.notice_seconds, Order.FAILURE, lambda: self._notice(host)
            )
        self._timeline.plan(now + seconds, Order.FAILURE, lambda: self._up(host))

    def _notice(self, host: Host) -> None:
        self._unnoticed.discard(host.row)
        self._book.set_up(host, is_up=False)
        self._lives.lose(host, keeps_instances=self._failures.keeps_instances)

    def _up(self, host: Host) -> None:
        if host.row in self._unnoticed:
            self._unnoticed.discard(host.row)
            self._lives.lose(host, keeps_instances=self._failures.keeps_instances)
        self._book.set_down(host, is_down=False)
        self._book.set_up(host, is_up=True)
        self._tally.happened(self._timeline.now, "up", host.name)
