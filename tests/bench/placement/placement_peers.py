"""Placement over RPC and REST, beside the reference in the same run: Markdown tables.

``python -m tests.bench placement --peers DIR``: DIR holds the scripts that install and measure the
reference. What is printed goes into ``docs/benchmarks.md``.
"""

import argparse
import contextlib
import random
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench import http_floor
from tests.bench.markdown import machine, print_table, ratio, reference_cell
from tests.bench.measuring import Times, each_timed, measured_apart, repeated
from tests.bench.placement import placement_fleet
from tests.bench.placement.placement_clients import QUESTIONS, TREE_QUESTIONS, RestClient, RpcClient
from tests.bench.placement.placement_service import (
    Service,
    empty_database,
    require_servers,
    running_service,
)
from tests.bench.reference import Reference, Result

CLIENTS = 4
PROVIDERS_OF_REFERENCE_MAX = 10_000
TRAITS_OF_MEMORY = 20
PARTS = ("candidates", "floor", "claims", "trees", "memory")
PARTS_OF_PLAIN = frozenset({"candidates", "floor", "claims"})
WORKERS = 2
"""The reference has two; ours needs one, and would share a transaction among fewer claims."""

Found = Mapping[str, Any]


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    require_servers()
    reference = None
    if options.peers:
        work = options.work or Path(tempfile.mkdtemp(prefix="reference-"))
        reference = Reference(options.peers, work, quiet_wait_seconds=options.quiet_wait)
    print(machine())
    if not PARTS_OF_PLAIN.isdisjoint(options.parts):
        for providers in options.providers:
            _plain(providers, options, reference)
    if "trees" in options.parts:
        _trees(options, reference)
    if "memory" in options.parts:
        _memory(max(options.providers))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench placement", description=__doc__)
    parser.add_argument("--peers", type=Path, help="directory of the reference's scripts")
    parser.add_argument("--work", type=Path, help="where the reference is, or is to be, installed")
    parser.add_argument("--providers", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--trees", type=int, default=1_000, help="trees of nine providers")
    parser.add_argument("--rounds", type=int, default=50, help="of ours; the reference: --runs")
    parser.add_argument("--runs", type=int, default=7, help="of the reference")
    parser.add_argument("--claims", type=int, default=400)
    parser.add_argument("--quiet-wait", type=int, default=60, metavar="SECONDS")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    return parser


def _plain(providers: int, options: argparse.Namespace, reference: Reference | None) -> None:
    theirs: Found = {}
    if reference and providers <= PROVIDERS_OF_REFERENCE_MAX:
        theirs = reference.plain(providers, options.runs, options.claims)
    with (
        empty_database() as url,
        tempfile.TemporaryDirectory() as name,
        contextlib.ExitStack() as running,
    ):
        folder = Path(name)
        placement_fleet.fill_plain(url, providers)
        service = running.enter_context(running_service(folder, url, workers=WORKERS))
        rpc = RpcClient(running.enter_context(service.rpc()))
        if "candidates" in options.parts:
            title = f"Candidates, {providers:,} plain providers"
            _candidates(title, QUESTIONS, service, rpc, options.rounds, theirs)
        if "floor" in options.parts:
            _floor(providers, service, rpc, folder, options.rounds)
        if "claims" in options.parts:
            _claims(providers, service, rpc, options.claims, theirs)


def _trees(options: argparse.Namespace, reference: Reference | None) -> None:
    theirs = reference.trees(options.trees, options.runs) if reference else {}
    with (
        empty_database() as url,
        tempfile.TemporaryDirectory() as folder,
        contextlib.ExitStack() as running,
    ):
        placement_fleet.fill_trees(url, options.trees)
        service = running.enter_context(running_service(Path(folder), url, workers=WORKERS))
        rpc = RpcClient(running.enter_context(service.rpc()))
        title = f"Candidates, {options.trees:,} trees of {placement_fleet.TREE_SIZE} providers"
        _candidates(title, TREE_QUESTIONS, service, rpc, options.rounds, theirs)


def _candidates(
    title: str,
    questions: Mapping[str, Mapping[str, Any]],
    service: Service,
    rpc: RpcClient,
    rounds: int,
    theirs: Found,
) -> None:
    rows = []
    with _rest_clients(service, 1) as (rest,):
        for name, question in questions.items():
            asked = rpc.ask(question)
            by_rest, by_rpc = (
                repeated(partial(client.ask, question), rounds, pids=service.pids())
                for client in (rest, rpc)
            )
            peer = Result.of(theirs[name]) if name in theirs else None
            rows.append(
                [
                    name.replace("_", " "), _found(asked, theirs.get(name)),
                    reference_cell(peer), str(by_rest),
                    ratio(peer, by_rest), str(by_rpc), ratio(peer, by_rpc),
                ]
            )  # fmt: skip
    columns = ["question", "found", "reference, REST", "REST", "times", "RPC", "times"]
    print_table(f"{title}, ms", columns, rows)


def _found(ours: int, theirs: Found | None) -> str:
    if theirs and theirs["candidates"] != ours:
        return f"{ours:,}, reference {theirs['candidates']:,}"
    return f"{ours:,}"


def _floor(providers: int, service: Service, rpc: RpcClient, folder: Path, rounds: int) -> None:
    with _rest_clients(service, 1) as (rest,):
        body = rest.ask(QUESTIONS["no_limit"])
        nothing = repeated(lambda: rest.get("/"), rounds, pids=service.pids())
    floors = http_floor.floors(body, folder, rounds)
    rows = [[name, str(times)] for name, times in floors.items()]
    rows.append(["REST without work: the version document", str(nothing)])
    rows.append(["RPC without work: ping", str(repeated(rpc.ping, rounds, pids=service.pids()))])
    title = f"The floor, {providers:,} candidates in {len(body) / 1e6:.2f} MB of JSON, ms"
    print_table(title, ["what", "time"], rows)


def _claims(providers: int, service: Service, rpc: RpcClient, claims: int, theirs: Found) -> None:
    rng = random.Random(1)
    chosen = [placement_fleet.uuid_of(rng.randint(1, providers)) for _ in range(claims)]
    rows = []
    for clients in (1, CLIENTS):
        some = chosen if clients > 1 else chosen[: claims // 2]
        found = theirs.get(f"claims_{clients}_client" + "s" * (clients > 1))
        peer = Result.of(found) if found else None
        with _rest_clients(service, clients) as rests:
            takers: list[list[Callable[[str], None]]] = [
                [rest.claim for rest in rests], [rpc.claim] * clients
            ]  # fmt: skip
            by_rest, by_rpc = (_claimed(each, some, service) for each in takers)
        rows.append(
            [
                str(clients), reference_cell(peer), _rate(peer), str(by_rest), _rate(by_rest),
                str(by_rpc), _rate(by_rpc), ratio(peer, by_rest, by_rate=True),
                ratio(peer, by_rpc, by_rate=True),
            ]
        )  # fmt: skip
    columns = ["clients", "reference, REST", "a second", "REST", "a second", "RPC", "a second",
               "REST, times", "RPC, times"]  # fmt: skip
    print_table(f"Claims on {providers:,} providers, ms and claims a second", columns, rows)


def _claimed(
    takers: Sequence[Callable[[str], None]], chosen: Sequence[str], service: Service
) -> Times:
    """Let each client claim in turn; those of one client are done one after another."""
    for take in takers:
        take(chosen[0])
    works = [partial(takers[index % len(takers)], uuid) for index, uuid in enumerate(chosen)]
    return each_timed(works, clients=len(takers), pids=service.pids())


def _rate(found: Result | Times | None) -> str:
    return f"{found.per_second:.0f}" if found and found.per_second else ""


def _memory(providers: int) -> None:
    with empty_database() as url:
        placement_fleet.fill_plain(url, providers, traits=TRAITS_OF_MEMORY)
        found = measured_apart("tests.bench.placement.placement_memory", url)
    rows = [
        ["first load of the table", f"{found['load_seconds']:.2f} s"],
        ["memory a provider, table", f"{found['table_bytes'] / providers:,.0f} bytes"],
        ["memory a provider, after a question", f"{found['kept_bytes'] / providers:,.0f} bytes"],
        ["one question, in process", f"{found['answer_seconds'] * 1e3:.1f} ms"],
    ]
    title = f"{providers:,} providers of three inventories and {TRAITS_OF_MEMORY} traits"
    print_table(title, ["what", "measured"], rows)


@contextlib.contextmanager
def _rest_clients(service: Service, count: int) -> Iterator[list[RestClient]]:
    clients = [RestClient(service.port) for _ in range(count)]
    try:
        yield clients
    finally:
        for client in clients:
            client.close()
