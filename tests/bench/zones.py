"""Cost and throughput of a tree of zones: Markdown tables, from real services on RabbitMQ.

``python -m tests.bench zones``: three levels, up to 50 zones of equal size, each whole (placement,
a cell with an agent of simulated hosts, a super conductor; the root with two schedulers and the
API), in a few processes. Each zone has two virtual hosts, for its top and its cell, on a RabbitMQ
of the bench's; parents reach children through a proxy that counts bytes and can be cut.

First zones are added at a fixed size, and requests are measured at each number of zones: such as
every zone can serve, and such as only the large hosts of one leaf can. Then parts die: hosts, one
of the root's schedulers, a child zone, a link.
"""

import argparse
import statistics
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from armillary import exception
from armillary.context import admin_context
from objects.allocations.fence import FIRST_FENCE
from objects.flavor import Flavor
from objects.instances.local_resources import local_resources_of
from objects.request_spec import RequestSpec
from objects.zones.zone_answer import ZoneOutcome
from programs.bus_factory import bus_maker
from rpc.signing.place import TOP
from scheduler.interface import SchedulerAPI
from tests.bench.markdown import machine, print_table
from tests.bench.zones_tree import MEMORY_MB, Tree, Zone, running_tree
from tests.fixtures.asking import wait_for
from tests.fixtures.embedded import embedded_conf

IDLE_SECONDS = 10.0
LATE = ("late", "failed")
LARGE_ROUNDS = 5
"""Requests that are sent to few zones take so little that more of them are asked."""


@dataclass(frozen=True)
class Decided:
    """Decisions that were asked of the root's schedulers over RPC, one after the other."""

    milliseconds: Sequence[float]
    zones_asked: float
    bytes_each: float
    """On all links between parents and children, less what flows without requests."""
    failed: int
    late: int
    """Zones that did not answer, over all requests."""

    @property
    def times(self) -> str:
        low, middle, high = (
            min(self.milliseconds), statistics.median(self.milliseconds), max(self.milliseconds)
        )  # fmt: skip
        return f"{low:.0f} / {middle:.0f} / {high:.0f}"

    def cells(self) -> list[str]:
        return [
            f"{self.zones_asked:.1f}",
            f"{2 * self.zones_asked:.0f}",
            f"{self.bytes_each / 1024:.1f}",
            self.times,
        ]


class Bench:
    """Questions and creates at the root of a tree."""

    def __init__(self, tree: Tree, folder: Path, rounds: int) -> None:
        self.tree = tree
        self._rounds = rounds
        conf = embedded_conf(folder / "asking", {(None, "host"): "bench"})
        self._bus = bus_maker(conf, "bench")(tree.root.top_url, TOP)
        self._scheduler = SchedulerAPI(self._bus, timeout_seconds=60)
        self._small, self._large = _spec("small", 512), _spec("large", MEMORY_MB + 1)
        self._flavor = tree.api.create_flavor("small", vcpus=1, ram=512)

    def close(self) -> None:
        self._bus.close()

    def idle_bytes_per_second(self) -> float:
        """Return what flows on the links without requests: summaries and heartbeats."""
        before, began = self.tree.bytes_of_links(), time.perf_counter()
        time.sleep(IDLE_SECONDS)
        return (self.tree.bytes_of_links() - before) / (time.perf_counter() - began)

    def decide(self, idle_bytes_per_second: float = 0.0, *, is_large: bool = False) -> Decided:
        """Ask for a host again and again; nothing is claimed where zones are asked.

        ``is_large``: for more than a host has anywhere but in one leaf.
        """
        spec = self._large if is_large else self._small
        rounds = self._rounds * (LARGE_ROUNDS if is_large else 1)
        times, asked, failed, late = [], [], 0, 0
        claims = not self.tree.known()  # a root alone would claim
        before, began = self.tree.bytes_of_links(), time.perf_counter()
        for _ in range(rounds):
            started = time.perf_counter()
            try:
                zones = self._decide(spec, dry_run=claims)
                asked.append(sum(zone["outcome"] == "asked" for zone in zones))
                late += sum(zone["outcome"] in LATE for zone in zones)
            except exception.ArmillaryError:
                failed += 1
            times.append((time.perf_counter() - started) * 1000)
        elapsed = time.perf_counter() - began
        more = self.tree.bytes_of_links() - before - idle_bytes_per_second * elapsed
        return Decided(times, statistics.mean(asked or [0]), max(0.0, more / rounds), failed, late)

    def create(self, count: int) -> tuple[int, float]:
        """Create servers one by one; return how many became ACTIVE, and the median seconds."""
        active, times = 0, []
        for _ in range(count):
            started = time.perf_counter()
            (server,) = self.tree.api.create_servers(self._flavor, 1)
            status = wait_for(partial(self._status, server), "a server is idle", 120)
            times.append(time.perf_counter() - started)
            active += status == "ACTIVE"
        return active, statistics.median(times)

    def _decide(self, spec: RequestSpec, *, dry_run: bool) -> list[ZoneOutcome]:
        found = self._scheduler.select_destinations(
            admin_context(), spec, [str(uuid.uuid4())], fences=[int(FIRST_FENCE)],
            takes_zones=True, dry_run=dry_run,
        )  # fmt: skip
        return found.trace.zones

    def _status(self, server: str) -> str | None:
        status = str(self.tree.api.get(f"/servers/{server}")["server"]["status"])
        return None if status == "BUILD" else status


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = time.perf_counter()
        with running_tree(
            folder,
            widths=(options.regions, options.leaves),
            hosts=options.hosts,
            processes=options.processes,
            pace=options.pace,
        ) as tree:
            hosts = options.hosts * len(tree.zones)
            print(f"\n{len(tree.zones)} zones of {options.hosts} hosts ({hosts:,} in all) served "
                  f"after {time.perf_counter() - started:.0f} s.")  # fmt: skip
            bench = Bench(tree, folder, options.rounds)
            try:
                _grow(bench, options)
                if not options.grow_only:
                    _fail(bench, options)
            finally:
                bench.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench zones", description=__doc__)
    parser.add_argument("--regions", type=int, default=7, help="children of the root")
    parser.add_argument("--leaves", type=int, default=6, help="children of each region")
    parser.add_argument("--hosts", type=int, default=200, help="of each zone")
    parser.add_argument("--processes", type=int, default=4, help="that share most zones")
    parser.add_argument("--rounds", type=int, default=30, help="requests at each point")
    parser.add_argument("--creates", type=int, default=5, help="servers at each point")
    parser.add_argument("--grow-only", action="store_true", help="let no part die")
    parser.add_argument("--partition-seconds", type=float, default=120.0)
    parser.add_argument(
        "--pace", type=float, default=1.0,
        help="times as long from one sign of life, look or push to the next (%(default)s)",
    )  # fmt: skip
    return parser


# Adding zones -------------------------------------------------------------------------------------


def _grow(bench: Bench, options: argparse.Namespace) -> None:
    tree, rows = bench.tree, []
    _wait_for_hosts(tree, options.hosts)
    steps = sorted({0, 1, 2, max(1, options.regions // 2), options.regions})
    joined = 0
    for step in steps:
        while joined < step:
            region = tree.root.children[joined]
            for zone in (region, *region.children):
                tree.join(zone)
            joined += 1
        zones = 1 + joined * (1 + options.leaves)
        _wait_for_hosts(tree, zones * options.hosts)
        idle = bench.idle_bytes_per_second()
        bench.decide()
        decided = bench.decide(idle)
        few = bench.decide(is_large=True) if joined else None
        active, seconds = bench.create(options.creates)
        rows.append(
            [
                f"{zones}", f"{zones * options.hosts:,}", *decided.cells(),
                f"{few.zones_asked:.1f}" if few else "", few.times if few else "",
                f"{idle / 1024 / max(zones - 1, 1):.2f}",
                f"{active} of {options.creates}", f"{seconds:.2f}",
            ]
        )  # fmt: skip
    print_table(
        f"Zones are added, {options.hosts} hosts each, {options.rounds} requests",
        [
            "zones", "hosts", "asked", "messages", "KiB a request", "decision, ms",
            "asked, if one leaf can serve it", "decision, ms",
            "KiB/s a link, idle", "ACTIVE", "s to ACTIVE",
        ],
        rows,
    )  # fmt: skip


def _wait_for_hosts(tree: Tree, hosts: int) -> None:
    wait_for(
        lambda: (tree.own()["hosts_up"] or 0) >= hosts,
        f"{hosts} hosts are known at the root",
        300,
        1.0,
    )


# Failures -----------------------------------------------------------------------------------------


def _fail(bench: Bench, options: argparse.Namespace) -> None:
    tree = bench.tree
    rows = [_row("all is well", bench, options)]
    zones = [zone for zone in tree.zones if zone.parent and zone.process is not None]
    dead = zones[: round(0.3 * len(tree.zones))]
    for zone in dead:
        assert zone.process is not None
        zone.process.stop_agent(zone.name)
    noticed = _seconds_until(
        lambda: tree.own()["hosts_up"] <= options.hosts * (len(tree.zones) - len(dead))
    )
    rows.append(
        _row(f"30 % of hosts dead, known at the root {noticed:.0f} s later", bench, options)
    )
    tree.second.kill()
    rows.append(_row("one of the root's two schedulers killed, immediately", bench, options))
    rows.append(_dead_zone(bench, options))
    rows += _partition(bench, options)
    print_table(
        "Parts die",
        ["what", "ACTIVE", "s to ACTIVE", "asked", "messages", "KiB", "decision, ms", "failed",
         "late"],
        rows,
    )  # fmt: skip


def _row(what: str, bench: Bench, options: argparse.Namespace) -> list[str]:
    decided = bench.decide()
    active, seconds = bench.create(options.creates)
    return [
        what, f"{active} of {options.creates}", f"{seconds:.2f}", *decided.cells(),
        str(decided.failed), str(decided.late),
    ]  # fmt: skip


def _dead_zone(bench: Bench, options: argparse.Namespace) -> list[str]:
    zone = bench.tree.zones[-1]
    assert zone.process is not None
    zone.process.kill()
    return _row(f"child zone {zone.name} killed, immediately", bench, options)


def _partition(bench: Bench, options: argparse.Namespace) -> list[list[str]]:
    """Cut the link to the first region, go on meanwhile, heal it, and see how soon all is true."""
    tree = bench.tree
    region = tree.root.children[0]
    assert region.link is not None
    before = tree.known()[region.name]["hosts_up"]
    tree.links.cut(region.link)
    began = time.monotonic()
    rows = [_row(f"link to {region.name} cut, immediately", bench, options)]
    stale = _seconds_until(lambda: tree.known()[region.name]["state"] != "online")
    rows.append(
        _row(f"… its summary has expired, noticed {stale:.0f} s after that", bench, options)
    )
    time.sleep(max(0.0, options.partition_seconds - (time.monotonic() - began)))
    cut_seconds = time.monotonic() - began
    tree.links.heal(region.link)
    healed = _seconds_until(lambda: _is_back(tree, region, before))
    periods = f"{healed / tree.push_seconds:.1f} push periods"
    rows.append(
        _row(f"healed after {cut_seconds:.0f} s, true again {healed:.1f} s ({periods}) later",
             bench, options)
    )  # fmt: skip
    return rows


def _is_back(tree: Tree, region: Zone, hosts_up: int) -> bool:
    known = tree.known()[region.name]
    return bool(known["state"] == "online" and known["hosts_up"] == hosts_up)


def _seconds_until(condition: Any) -> float:
    began = time.monotonic()
    wait_for(condition, "the root knows", 300, 0.1)
    return time.monotonic() - began


def _spec(name: str, memory_mb: int) -> RequestSpec:
    flavor = Flavor.from_values(
        flavorid=name, name=name, vcpus=1, memory_mb=memory_mb, root_gb=1, extra_specs={}
    )
    return RequestSpec.from_values(
        local_resources_of(flavor, None, {}), project_id="p", user_id="u", flavor=flavor,
        num_instances=1,
    )  # fmt: skip
