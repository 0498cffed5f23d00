"""The candidates engine alone, on tables in memory: plain providers, and trees of equal devices."""

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from placement.candidates import find_candidates
from placement.candidates.query import Group, Query
from placement.candidates.result import Found
from placement.candidates.strategy import Strategy
from placement.providers.provider_table import ProviderTable
from placement.providers.sharing import SHARING_TRAIT
from tests.fixtures.placement.provider_tables import TableBuilder

DEVICES = 8
TRAITS_OF_PROVIDER = 20
_DISK = "c0ffee00-0000-4000-8000-00000000d15c"


def bench_trees(hosts: int = 10_000, *, rounds: int = 15) -> None:
    """Print the milliseconds of questions for n devices, on one host and on many."""
    for count in (1, hosts):
        table = a_table_of_hosts(count)
        print(f"{count} hosts of {1 + DEVICES} providers:")
        for name, query, strategy in _questions(count):
            _print_time(name, rounds, partial(find_candidates, table, query, strategy))


def bench_plain(providers: int = 10_000, *, rounds: int = 100) -> None:
    """Print the milliseconds of a question to plain providers, and what the table weighs."""
    tracemalloc.start()
    table = a_plain_table(providers)
    weight, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"{providers} plain providers: {weight / providers:.0f} bytes each")
    resources = {"VCPU": 2, "MEMORY_MB": 4096, "DISK_GB": 20}
    query = Query((Group(resources, required_traits=(("CUSTOM_T1",),)),))
    _print_time("resources and a trait", rounds, partial(find_candidates, table, query))
    table = a_table_of_hosts(providers, devices=0, has_shared_disk=True)
    query = Query((Group({"VCPU": 1, "DISK_GB": 1}),))
    _print_time("one shared disk for all", rounds, partial(find_candidates, table, query))


def a_table_of_hosts(
    hosts: int, *, devices: int = DEVICES, has_shared_disk: bool = False
) -> ProviderTable:
    """Return hosts with devices of one unit below each."""
    builder = TableBuilder()
    shared = (_DISK,) if has_shared_disk else ()
    for _ in range(hosts):
        root = builder.add({"VCPU": 64}, aggregates=shared)
        for _ in range(devices):
            builder.add({"PGPU": 1}, parent=root)
    if has_shared_disk:
        builder.add({"DISK_GB": 1_000_000}, traits=(SHARING_TRAIT,), aggregates=shared)
    return builder.table()


def a_plain_table(providers: int) -> ProviderTable:
    """Return providers with three inventories and twenty traits each."""
    builder = TableBuilder()
    totals = dict.fromkeys(("VCPU", "MEMORY_MB", "DISK_GB"), 262_144)
    traits = tuple(f"CUSTOM_T{index}" for index in range(TRAITS_OF_PROVIDER))
    for _ in range(providers):
        builder.add(totals, traits=traits)
    table = builder.table()
    table.trait_sets_of(np.arange(providers))
    return table


def _questions(hosts: int) -> Iterator[tuple[str, Query, Strategy]]:
    depth, breadth = Strategy(), Strategy(is_breadth_first=True)
    for is_isolated in (True, False):
        policy = "isolate" if is_isolated else "none"
        yield f"8 devices, {policy}, limit 1000", _devices(8, is_isolated), depth
        yield f"8 devices, {policy}, limit 1000, in turn", _devices(8, is_isolated), breadth
        yield f"9 devices, {policy}, limit 1000", _devices(9, is_isolated), depth
    random = Strategy(rng=np.random.default_rng(1))
    yield "8 devices, isolate, limit 1000, random", _devices(8, True), random
    if hosts == 1:
        yield "8 devices, isolate, all 40,320", _devices(8, True, limit=None), depth
    yield "1 VCPU, 1 device, all", Query((Group({"VCPU": 1, "PGPU": 1}),)), depth


def _devices(count: int, is_isolated: bool, limit: int | None = 1000) -> Query:
    groups = tuple(Group({"PGPU": 1}, suffix=f"_{index}") for index in range(count))
    return Query(groups, is_isolated=is_isolated, limit=limit)


def _print_time(name: str, rounds: int, ask: Callable[[], Found]) -> None:
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        found = ask()
        times.append((time.perf_counter() - started) * 1000)
    print(
        f"  {name}: {min(times):.2f} ms at least, {statistics.median(times):.2f} ms median, "
        f"{found.count} candidates"
    )
