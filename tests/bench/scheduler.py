"""How long a decision takes inside the scheduler, stage by stage, on fleets of thousands of hosts.

Placement is a stub that answers from arrays; its stages, ``candidates`` and ``claim``, are shown
but not counted in ``scheduler``. ``python -m tests.bench.scheduler`` runs both measurements.
"""

import random
import statistics
from collections.abc import Callable

from armillary.context import admin_context
from objects.instances.instance_group import InstanceGroup
from scheduler.drivers.filter_scheduler import FilterScheduler
from tests.builders import a_uuid
from tests.fleets import ArrayPlacement, Host, a_driver, a_group, a_host, a_request_spec

STAGES = ("request_filters", "hosts", "filters", "weigh", "choose", "alternates")
OF_PLACEMENT = ("candidates", "claim")
Timings = dict[str, float]


def bench_select(hosts: int, *, repeats: int = 50) -> None:
    """Print the stages of a decision for one instance."""
    driver = a_busy_driver(hosts)
    _report(f"1 instance, {hosts:,} hosts", repeats, lambda: _decide(driver, 1))


def bench_multi(hosts: int, instances: int, *, repeats: int = 5) -> None:
    """Print the stages of a decision for many instances together, alone and in a group."""
    for group in (None, a_group("anti-affinity")):
        driver = a_busy_driver(hosts)
        what = f" in a group with {group.policy}" if group else ""
        _report(
            f"{instances:,} instances{what}, {hosts:,} hosts",
            repeats,
            lambda driver=driver, group=group: _decide(driver, instances, group),  # type: ignore[misc]
        )


def a_busy_driver(hosts: int) -> FilterScheduler:
    """Return a driver over hosts of several sizes that are used to different parts."""
    rng = random.Random(hosts)
    fleet = [_a_busy_host(number, rng) for number in range(hosts)]
    placement = ArrayPlacement(fleet, ratio=2.0)
    for row in range(hosts):
        placement.used[row] = (rng.randrange(20), rng.randrange(100_000), rng.randrange(500))
    return a_driver(fleet, placement=placement)


def _a_busy_host(number: int, rng: random.Random) -> Host:
    return a_host(
        f"host{number}",
        vcpus_total=rng.choice([32, 64, 128]),
        total_usable_ram_mb=rng.choice([131_072, 262_144, 524_288]),
        total_usable_disk_gb=rng.choice([1000, 2000]),
        num_io_ops=rng.randrange(3),
        num_instances=10,
        instance_uuids=[a_uuid() for _ in range(10)],
    )


def _decide(driver: FilterScheduler, instances: int, group: InstanceGroup | None = None) -> Timings:
    found = driver.select_destinations(
        admin_context(),
        a_request_spec(instance_group=group),
        [a_uuid() for _ in range(instances)],
        fences=[1000] * instances,
        return_alternates=True,
        dry_run=False,
    )
    timings: Timings = found.trace.timings_ms
    return {**timings, "scheduler": timings["total"] - sum(timings[each] for each in OF_PLACEMENT)}


def _report(title: str, repeats: int, decide: Callable[[], Timings]) -> None:
    decide()  # what is done once only: imports, caches
    runs = [decide() for _ in range(repeats)]
    print(f"\n{title}, {repeats} times, milliseconds")
    print(f"  {'stage':<16}{'min':>10}{'median':>10}{'max':>10}")
    for stage in (*STAGES, "scheduler", *(f"({each})" for each in OF_PLACEMENT)):
        values = [run[stage.strip("()")] for run in runs]
        row = (min(values), statistics.median(values), max(values))
        print(f"  {stage:<16}" + "".join(f"{value:>10.2f}" for value in row))


if __name__ == "__main__":
    for size in (1_000, 10_000):
        bench_select(size)
    bench_multi(10_000, 1_000)
