"""Placement's engine alone, without messages: candidates, claims one by one, in batches, together.

A database URL is that of an empty database; without one SQLite is used, in a temporary folder.
"""

import contextlib
import statistics
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from oslo_config import cfg

from armillary.conf import placement as placement_options
from armillary.conf import register
from armillary.db import Database
from objects.allocations.allocation import AllocationClaim
from objects.allocations.resource_query import RequestGroup, ResourceQuery
from placement.engine import PlacementEngine

REPORT_SIZE = 1000  # providers in one call of set_providers
ZONES = 4
TRAITS = [
    "COMPUTE_NODE",
    "COMPUTE_NET_ATTACH_INTERFACE",
    "COMPUTE_VOLUME_ATTACH",
    "HW_CPU_X86_AVX",
    "HW_CPU_X86_AVX2",
    "HW_CPU_X86_SSE42",
]
TRAIT_OF_HALF = "HW_CPU_X86_AVX512F"


def bench_candidates(providers: int, *, rounds: int = 100, database_url: str | None = None) -> None:
    """Print the milliseconds of one question, with and without a change since the last one."""
    with _engine(database_url) as engine:
        uuids = _fill(engine, providers)
        zone = str(uuid.uuid4())
        engine.aggregates.set_members(zone, uuids[: providers // ZONES])
        questions = {
            "resources": _query(),
            "resources, limit 1000": _query(limit=1000),
            "and a trait of half": _query(required_traits=[[TRAIT_OF_HALF]]),
            "and an aggregate of a quarter": _query(member_of=[[zone]]),
        }
        _print_times("first question, loads the table", [_timed(_asker(engine, _query()))])
        for name, query in questions.items():
            ask = _asker(engine, query)
            _print_times(name, [_timed(ask) for _ in range(rounds)])
        _print_times(
            "resources, after a claim", _times_after_claims(engine, uuids, _query(), rounds)
        )
        down = uuids[: providers // 100]
        summary = [_timed(lambda: engine.get_summary(down, [])) for _ in range(rounds)]
        _print_times("a summary for zones above, without 1 % of them", summary)


def bench_claims(
    providers: int = 1000,
    claims: int = 1000,
    *,
    clients: int = 4,
    rounds: int = 5,
    database_url: str | None = None,
) -> None:
    """Print the milliseconds of a batch, its release and single claims; the rate of clients."""
    with _engine(database_url) as engine:
        uuids = _fill(engine, providers)
        batches = [[_claim(uuids, index) for index in range(claims)] for _ in range(rounds)]
        _print_times(f"a batch of {claims}", [_timed(_claimer(engine, batch)) for batch in batches])
        _print_times("its release", [_timed(_releaser(engine, batch)) for batch in batches])
        singles = [_claim(uuids, index) for index in range(100)]
        _print_times("one claim", [_timed(_claimer(engine, [claim])) for claim in singles])
        together = [[_claim(uuids, index) for index in range(100)] for _ in range(clients)]
        seconds = _timed(lambda: _claim_together(engine, together))
        print(f"  {clients} clients together: {clients * 100 / seconds:.0f} claims a second")


@contextlib.contextmanager
def _engine(database_url: str | None) -> Iterator[PlacementEngine]:
    conf = cfg.ConfigOpts()
    register(conf, placement_options)
    conf([])
    with tempfile.TemporaryDirectory() as folder:
        database = Database(database_url or f"sqlite:///{folder}/bench.sqlite", name="placement")
        database.sync("placement.db.schema")
        print(f"placement on {database.dialect}:")
        yield PlacementEngine(conf, database)
        database.dispose()


def _fill(engine: PlacementEngine, providers: int) -> list[str]:
    uuids = [str(uuid.uuid4()) for _ in range(providers)]
    reports = [_report(index, provider) for index, provider in enumerate(uuids)]
    started = time.perf_counter()
    for first in range(0, providers, REPORT_SIZE):
        results = engine.providers.set_providers(reports[first : first + REPORT_SIZE])
        assert not any(result.error for result in results)
    print(f"  {providers} providers written in {time.perf_counter() - started:.1f} s")
    return uuids


def _report(index: int, provider: str) -> dict[str, Any]:
    return {
        "uuid": provider,
        "name": f"host-{index:06}",
        "inventories": {
            "VCPU": {"total": 64, "allocation_ratio": 4.0},
            "MEMORY_MB": {"total": 262_144, "reserved": 2048, "allocation_ratio": 1.0},
            "DISK_GB": {"total": 4000, "allocation_ratio": 1.0},
        },
        "traits": [*TRAITS, TRAIT_OF_HALF] if index % 2 else TRAITS,
    }


def _query(*, limit: int | None = None, **group: Any) -> ResourceQuery:
    resources = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}
    made = RequestGroup.from_values(resources=resources, **group)
    return ResourceQuery.from_values(groups=[made], limit=limit)


def _claim(uuids: Sequence[str], index: int) -> AllocationClaim:
    resources = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}
    return AllocationClaim(
        consumer_uuid=str(uuid.uuid4()),
        project_id="bench",
        user_id="bench",
        allocations={uuids[index % len(uuids)]: {"resources": resources}},
        fence=1000,
    )


def _times_after_claims(
    engine: PlacementEngine, uuids: Sequence[str], query: ResourceQuery, rounds: int
) -> list[float]:
    times = []
    for index in range(rounds):
        engine.claims.claim([_claim(uuids, index)])
        times.append(_timed(_asker(engine, query)))
    return times


def _claim_together(engine: PlacementEngine, claims: Sequence[Sequence[AllocationClaim]]) -> None:
    def work(mine: Sequence[AllocationClaim]) -> None:
        for claim in mine:
            engine.claims.claim([claim])

    threads = [threading.Thread(target=work, args=(mine,)) for mine in claims]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _asker(engine: PlacementEngine, query: ResourceQuery) -> Callable[[], object]:
    return lambda: engine.get_candidates(query)


def _claimer(engine: PlacementEngine, claims: Sequence[AllocationClaim]) -> Callable[[], object]:
    return lambda: engine.claims.claim(claims)


def _releaser(engine: PlacementEngine, claims: Sequence[AllocationClaim]) -> Callable[[], object]:
    return lambda: engine.claims.release({claim.consumer_uuid: 1000 for claim in claims})


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _print_times(name: str, seconds: Sequence[float]) -> None:
    low, middle, high = min(seconds), statistics.median(seconds), max(seconds)
    print(
        f"  {name}: {low * 1000:.2f} ms at least, {middle * 1000:.2f} ms median, "
        f"{high * 1000:.2f} ms at most"
    )
