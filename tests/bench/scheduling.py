"""The scheduler alone beside the reference, and as it is deployed: Markdown tables.

``python -m tests.bench scheduling --peers DIR``: DIR holds the scripts that install and measure the
reference. What is printed goes into ``docs/benchmarks.md``.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from armillary.context import admin_context
from tests.bench import decisions, throughput
from tests.bench.markdown import machine, print_table, ratio, reference_cell
from tests.bench.measuring import measured_apart, repeated, three
from tests.bench.placement.placement_clients import QUESTIONS, query_of
from tests.bench.placement.placement_service import require_servers
from tests.bench.reference import Reference, Result
from tests.bench.scheduling_service import Deployment, deployed
from tests.bench.throughput import Went
from tests.builders import a_uuid
from tests.fleets import a_request_spec

PARTS = ("decisions", "round_trips", "throughput", "signing", "collisions", "memory")
HOSTS_OF_REFERENCE = (1_000, 10_000)
COLLIDING = 1_000
FENCE = 1000


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    print(machine())
    if "decisions" in options.parts:
        _decisions(options)
    if "memory" in options.parts:
        _memory(max(options.hosts))
    if {"round_trips", "throughput"}.intersection(options.parts):
        require_servers()
        with deployed(options.fleet) as running:
            if "round_trips" in options.parts:
                _round_trips(running, options)
            if "throughput" in options.parts:
                _throughput(running, options)
    if "signing" in options.parts:
        require_servers()
        _signing(options)
    if "collisions" in options.parts:
        require_servers()
        _collisions(options)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench scheduling", description=__doc__)
    parser.add_argument("--peers", type=Path, help="directory of the reference's scripts")
    parser.add_argument("--work", type=Path, help="where the reference is, or is to be, installed")
    parser.add_argument("--hosts", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--fleet", type=int, default=throughput.HOSTS, help="hosts as deployed")
    parser.add_argument("--requests", type=int, default=throughput.REQUESTS)
    parser.add_argument("--callers", type=int, default=throughput.CALLERS)
    parser.add_argument("--rounds", type=int, default=30, help="of ours; the reference: --runs")
    parser.add_argument("--runs", type=int, default=5, help="of the reference, one instance")
    parser.add_argument(
        "--batch-runs", type=int, default=1,
        help="of the reference, 100 instances; minutes on 10,000 hosts; 0: none",
    )  # fmt: skip
    parser.add_argument("--signing-rounds", type=int, default=3, help="of part signing, each mode")
    parser.add_argument("--quiet-wait", type=int, default=60, metavar="SECONDS")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    return parser


# Inside the scheduler -----------------------------------------------------------------------------


def _decisions(options: argparse.Namespace) -> None:
    reference = None
    if options.peers:
        work = options.work or Path(tempfile.mkdtemp(prefix="reference-"))
        reference = Reference(options.peers, work, quiet_wait_seconds=options.quiet_wait)
    rows = []
    for hosts in options.hosts:
        theirs: Mapping[str, Any] = {}
        if reference and hosts in HOSTS_OF_REFERENCE:
            theirs = reference.scheduler(hosts, options.runs, options.batch_runs)
        for instances, group in ((1, None), (100, None), (1_000, None), (1_000, "anti-affinity")):
            if instances > hosts // 2:
                continue
            rounds = options.rounds if instances < 1_000 else max(3, options.rounds // 5)
            ours = decisions.measured(hosts, instances, group, rounds)
            found = theirs.get(f"instances_{instances}") if group is None else None
            peer = Result.of(found) if found else None
            what = f"{instances:,}" + (f", {group}" if group else "")
            rows.append([f"{hosts:,}", what, reference_cell(peer), str(ours), ratio(peer, ours)])
    print_table(
        "A decision inside the scheduler, ms",
        ["hosts", "instances", "reference", "ours", "times"],
        rows,
    )


def _memory(hosts: int) -> None:
    rows = []
    for instances in (0, 10):
        found = measured_apart("tests.bench.scheduler_memory", str(hosts), str(instances))
        rows.append([str(instances), f"{found / hosts:,.0f} bytes"])
    print_table(f"Memory a host, {hosts:,} hosts", ["instances a host", "memory"], rows)


# As it is deployed --------------------------------------------------------------------------------


def _round_trips(running: Deployment, options: argparse.Namespace) -> None:
    """One request at a time, beside the messages that it takes."""
    api, placement, context = running.api(), running.placement_api(), admin_context()
    query = query_of(QUESTIONS["no_limit"])
    works: dict[str, Callable[[], object]] = {
        "select, with candidates and claim": lambda: api.select_destinations(
            context, a_request_spec(), [a_uuid()], fences=[FENCE]
        ),
        "ping of the scheduler": lambda: api.ping(context),
        "candidates from placement": lambda: placement.get_allocation_candidates(context, query),
        "a claim in placement": lambda: running.claim_one(placement),
    }
    times = {
        name: repeated(work, options.rounds, pids=running.pids()) for name, work in works.items()
    }
    floor = sum(found.median for name, found in times.items() if "select" not in name)
    rows = [[name, str(found), f"{found.median / floor:.1f}"] for name, found in times.items()]
    rows.append(["the bare round trips together (medians)", f"{floor * 1e3:.1f}", "1.0"])
    print_table(f"One request over RPC, {options.fleet:,} hosts, ms", ["what", "ms", "times"], rows)


def _throughput(running: Deployment, options: argparse.Namespace) -> None:
    throughput.run(running, throughput.small_requests(throughput.ALREADY_THERE))
    loads = {
        "small requests": throughput.small_requests(options.requests),
        "half of them refused": throughput.requests_with_refusals(options.requests // 2),
        "required anti-affinity": throughput.requests_apart(min(1_000, options.requests)),
    }
    rows = []
    for name, specs in loads.items():
        went = throughput.run(running, specs, callers=options.callers)
        rows.append(
            [
                name, f"{len(specs):,}", f"{went.per_second:.0f}", three(went.seconds),
                _answers(went), _processors(went),
            ]
        )  # fmt: skip
    title = (
        f"Requests a second, {options.fleet:,} hosts, {throughput.ALREADY_THERE:,} instances there "
        f"already, {options.callers} callers"
    )
    columns = ["load", "requests", "a second", "ms", "answers", "ms of processors a request"]
    print_table(title, columns, rows)


def _signing(options: argparse.Namespace) -> None:
    """The same load without signatures and with them, in turns, each on a deployment of its own."""
    went: dict[bool, list[Went]] = {False: [], True: []}
    for _ in range(options.signing_rounds):
        for is_signed in (False, True):
            with deployed(options.fleet, is_signed=is_signed) as running:
                throughput.run(running, throughput.small_requests(throughput.ALREADY_THERE))
                specs = throughput.small_requests(options.requests)
                went[is_signed].append(throughput.run(running, specs, callers=options.callers))
    off = statistics.median(each.per_second for each in went[False])
    rows = []
    for is_signed, mode in ((False, "off"), (True, "required")):
        for each in went[is_signed]:
            share = f"{each.per_second / off:.2f}"
            rows.append(
                [mode, f"{each.per_second:.0f}", share, three(each.seconds), _answers(each),
                 _processors(each)]
            )  # fmt: skip
    title = f"Small requests a second by [signing] mode, {options.fleet:,} hosts"
    columns = ["mode", "a second", "of off", "ms", "answers", "ms of processors a request"]
    print_table(title, columns, rows)


def _answers(went: Went) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in went.outcomes.most_common())


def _processors(went: Went) -> str:
    each = {name: used / len(went.seconds) * 1e3 for name, used in went.cpu_seconds.items()}
    return ", ".join(f"{name} {used:.2f}" for name, used in each.items())


# Several schedulers -------------------------------------------------------------------------------


def _collisions(options: argparse.Namespace) -> None:
    rows = []
    for subset in (1, 10, 100):
        setting = [f"host_subset_size = {subset}"]
        with deployed(options.fleet, schedulers=4, options=setting) as running:
            specs = throughput.requests_for_whole_hosts(COLLIDING)
            went = throughput.run(running, specs, callers=COLLIDING)
            rows.append([str(subset), f"{went.conflicts:,}", f"{went.per_second:.0f}",
                         _answers(went)])  # fmt: skip
    title = (
        f"4 schedulers, {COLLIDING:,} requests together, each for a whole one of {options.fleet:,} "
        "equal hosts"
    )
    columns = ["host_subset_size", "claims refused", "a second", "answers"]
    print_table(title, columns, rows)
