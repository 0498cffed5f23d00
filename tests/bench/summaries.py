"""Cost of a zone's summaries for its scheduler while hosts change all the time.

``python -m tests.bench summaries``: one zone without children, its table of hosts filled and
changed as its cell's pushes do it, its summary checked and pushed as the service does it, in real
time. Placement answers from a constant; ``candidates-10000`` has its part.
"""

import itertools
import random
import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import objects
from objects.zones.zone_summary import ProviderCapabilities, ZoneSummary
from scheduler.zones.children import Children
from scheduler.zones.service import PUSHES_PER_SECOND_MAX, SummaryPusher
from scheduler.zones.summariser import Summariser
from tests.bench.decisions import fleet_of
from tests.bench.markdown import print_table
from tests.bench.measuring import milliseconds
from tests.fleets import Host, a_batch, a_fleet, scheduling_conf

SIZES = (1_000, 10_000, 100_000)
SECONDS = 60.0
CHANGES_PER_SECOND = 4
HOSTS_CHANGED = 250
"""With each change: 1,000 hosts a second."""
DOWN_SHARE = 0.01
INSTANCES = 5
_BATCH_SIZE = 1_000
_FILTERS = ("ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter")


@dataclass
class Check:
    """What one summary took, in seconds of the thread's processor time; what it was for."""

    seconds: float
    is_pushed: bool = False


@dataclass
class Zone:
    """A zone's table, and what makes and pushes its summary."""

    hosts: list[Host]
    checks: list[Check] = field(default_factory=list)

    def __post_init__(self) -> None:
        conf = scheduling_conf(zones__name="bench")
        self.fleet = a_fleet([], conf=conf)
        self._seqs = itertools.count(1)
        for start in range(0, len(self.hosts), _BATCH_SIZE):
            self.report(self.hosts[start : start + _BATCH_SIZE])
        children = Children(conf, clock=time.monotonic, now=_now)
        self._summariser = Summariser(
            conf,
            host_store=self.fleet,
            children=children,
            filters=_FILTERS,
            ask_placement=_placement,
            now=_now,
        )
        self.pushing = SummaryPusher(
            conf,
            make=self._make,
            send=self._send,
            is_ready=lambda: True,
            clock=time.monotonic,
            work_clock=time.thread_time,
        )

    def report(self, hosts: Sequence[Host]) -> float:
        """Take over states as a cell pushes them; return the seconds that the table took."""
        seq = next(self._seqs)
        batch = a_batch(hosts, first_seq=seq - 1, last_seq=seq)
        began = time.thread_time()
        self.fleet.apply(batch)
        return time.thread_time() - began

    def _make(self) -> ZoneSummary:
        began = time.thread_time()
        made = self._summariser.make()
        self.checks.append(Check(time.thread_time() - began))
        return made

    def _send(self, summary: ZoneSummary) -> None:
        self.checks[-1].is_pushed = True


def bench(sizes: Sequence[int] = SIZES, seconds: float = SECONDS) -> None:
    """Print what summaries take, for fleets of these sizes."""
    objects.register_all()
    rows = [_row(size, seconds) for size in sizes]
    print_table(
        f"Summaries of a zone, {CHANGES_PER_SECOND * HOSTS_CHANGED:,} hosts a second change, "
        f"{seconds:.0f} s",
        [
            "hosts", "a check, ms", "checks", "of these pushed", "longest pause, s",
            "share of a processor", "hosts reported after a check, ms", "others, ms",
        ],
        rows,
    )  # fmt: skip


def _row(size: int, seconds: float) -> list[str]:
    zone = Zone(_hosts(size))
    changes = _Changes(zone)
    changes.start()
    used, longest = _tick(zone, seconds)
    changes.stop()
    took = [check.seconds for check in zone.checks]
    first, others = changes.seconds_after_check, changes.seconds_otherwise
    return [
        f"{size:,}",
        " / ".join(map(milliseconds, (min(took), statistics.median(took), max(took)))),
        f"{len(took)}",
        f"{sum(check.is_pushed for check in zone.checks)}",
        f"{longest:.1f}",
        f"{used / seconds:.2%}",
        milliseconds(statistics.median(first)),
        milliseconds(statistics.median(others)),
    ]


def _tick(zone: Zone, seconds: float) -> tuple[float, float]:
    """Tick as the service does; return processor time, and the longest time without a check."""
    began, used_before = time.monotonic(), time.thread_time()
    checked_at, longest, number = began, 0.0, 0
    while (now := time.monotonic()) < began + seconds:
        before = len(zone.checks)
        zone.pushing.tick()
        if len(zone.checks) > before:
            longest, checked_at = max(longest, now - checked_at), now
        number += 1
        time.sleep(max(0.0, began + number / PUSHES_PER_SECOND_MAX - time.monotonic()))
    return time.thread_time() - used_before, longest


class _Changes(threading.Thread):
    """Reports changed hosts all the time, and notes what that takes."""

    def __init__(self, zone: Zone) -> None:
        super().__init__(daemon=True)
        self._zone = zone
        self._rng = random.Random(len(zone.hosts))
        self._end = threading.Event()
        self.seconds_after_check: list[float] = []
        self.seconds_otherwise: list[float] = []

    def stop(self) -> None:
        """Return when nothing changes any more."""
        self._end.set()
        self.join()

    def run(self) -> None:
        checks = 0
        while not self._end.wait(1 / CHANGES_PER_SECOND):
            some = self._rng.sample(self._zone.hosts, HOSTS_CHANGED)
            for host in some:
                host.values["free_ram_mb"] = self._rng.randrange(262_144)
                host.values["num_instances"] = self._rng.randrange(40)
            is_after_check = len(self._zone.checks) > checks
            checks = len(self._zone.checks)
            took = self._zone.report(some)
            (self.seconds_after_check if is_after_check else self.seconds_otherwise).append(took)
            self._zone.pushing.note_change()


def _hosts(count: int) -> list[Host]:
    made = fleet_of(count, INSTANCES)
    for host in made[: int(count * DOWN_SHARE)]:
        host.values["service_up"] = False
    return made


def _placement(excluded: Sequence[str]) -> ProviderCapabilities:
    return ProviderCapabilities(
        {"VCPU": 64, "MEMORY_MB": 262_144, "DISK_GB": 2_000},
        [f"CUSTOM_TRAIT_{number}" for number in range(50)],
        providers=0,
    )


def _now() -> datetime:
    return datetime.now(UTC)
