"""Hosts that go down: when, for how long, and when anybody notices."""

from __future__ import annotations

import fnmatch
import functools
import random

from armillary.cli.simulate.events import Order, Timeline
from armillary.cli.simulate.host_book import Host, HostBook
from armillary.cli.simulate.lives import Lives
from armillary.cli.simulate.scenario import Outage, Scenario
from armillary.cli.simulate.tally import Tally


class Outages:
    """Plans what a scenario says of failing hosts; the same for every policy."""

    def __init__(
        self, scenario: Scenario, *, book: HostBook, lives: Lives, tally: Tally, timeline: Timeline
    ) -> None:
        self._failures = scenario.failures
        self._book = book
        self._lives = lives
        self._tally = tally
        self._timeline = timeline
        self._dice = random.Random(f"{scenario.seed}/failures")  # noqa: S311 - a simulation
        self._unnoticed: set[int] = set()

    def plan(self) -> None:
        """Plan the known outages, and the first of those by chance."""
        for outage in self._failures.outages:
            begin = functools.partial(self._begin, outage)
            self._timeline.plan(outage.at_seconds, Order.FAILURE, begin)
        self._plan_next()

    def _plan_next(self) -> None:
        mean = self._failures.mean_seconds_between
        if mean is None:
            return
        hosts = self._book.hosts
        pause = self._dice.expovariate(len(hosts) / mean)
        victim = hosts[self._dice.randrange(len(hosts))]
        seconds = self._failures.repair.draw(self._dice)
        self._timeline.plan(
            self._timeline.now + pause, Order.FAILURE, lambda: self._strike(victim, seconds)
        )

    def _strike(self, host: Host, seconds: float) -> None:
        self._down(host, seconds)
        self._plan_next()

    def _begin(self, outage: Outage) -> None:
        for host in self._book.hosts:
            if fnmatch.fnmatchcase(host.name, outage.hosts):
                self._down(host, outage.repair.draw(self._dice))

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
