"""How many instances a second come from an accepted request to ACTIVE: Markdown tables.

``python -m tests.bench builds``: 200 simulated hosts in two cells, all services as processes of
their own on RabbitMQ and PostgreSQL. Requests go to the HTTP API; that an instance is ACTIVE is
read from its cell's database, so that asking costs the services nothing.
"""

import argparse
import http.client
import itertools
import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from tests.bench.builds_service import HostStore, deployed
from tests.bench.markdown import machine, print_table
from tests.bench.measuring import three

HOSTS = 200
CALLERS = 32
SINGLE = 1_000
BULK = 1_000
WARM_UP = 50
LOOK_SECONDS = 0.05
SETTLE_SECONDS_MAX = 300.0

Server = dict[str, object]
"""What a request asks for."""


@dataclass(frozen=True)
class Went:
    """How a load went: seconds to the answers, and from the first request to the last ACTIVE."""

    instances: int
    failed: int
    answer_seconds: Sequence[float]
    elapsed_seconds: float
    cpu_seconds: dict[str, float]

    @property
    def per_second(self) -> float:
        return self.instances / self.elapsed_seconds


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    print(machine())
    with deployed(options.hosts, agents_per_cell=options.agents) as fleet:
        flavor = fleet.api.create_flavor("small", vcpus=1, ram=512)
        single: Server = {"name": "vm", "flavorRef": flavor}
        bulk: Server = {**single, "min_count": options.bulk, "max_count": options.bulk}
        run(fleet, [single] * WARM_UP, callers=options.callers)
        loads: list[tuple[str, Callable[[], Went]]] = [
            (
                f"{options.single:,} requests for one, {options.callers} callers",
                lambda: run(fleet, [single] * options.single, callers=options.callers),
            ),
            (f"one request for {options.bulk:,}", lambda: run(fleet, [bulk], callers=1)),
        ]
        found = [(name, load()) for _ in range(options.rounds) for name, load in loads]
    _print(options.hosts, found)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.bench builds", description=__doc__)
    parser.add_argument("--hosts", type=int, default=HOSTS, help="in all cells together")
    parser.add_argument("--agents", type=int, default=1, help="processes in each cell")
    parser.add_argument("--callers", type=int, default=CALLERS)
    parser.add_argument("--single", type=int, default=SINGLE, help="requests for one instance")
    parser.add_argument("--bulk", type=int, default=BULK, help="instances of the large request")
    parser.add_argument("--rounds", type=int, default=3, help="of each load, in turn")
    return parser


def run(fleet: HostStore, servers: Sequence[Server], *, callers: int) -> Went:
    """Send requests from so many callers together, and wait until all instances are idle."""
    count = sum(int(str(server.get("min_count", 1))) for server in servers)
    active_before, failed_before = fleet.count_settled()
    cpu_before = fleet.cpu_seconds()
    began = time.perf_counter()
    load = _Load(fleet.api.api_url, servers)
    load.start(callers)
    give_up_at = began + SETTLE_SECONDS_MAX
    while True:
        active, failed = fleet.count_settled()
        ended = time.perf_counter()
        if active - active_before + failed - failed_before >= count:
            break
        if load.refusals or ended > give_up_at:
            what = f"{active - active_before} of {count} are ACTIVE; refused: {load.refusals[:3]}"
            raise RuntimeError(f"{what}\n{fleet.api.logs()}")
        time.sleep(LOOK_SECONDS)
    load.join()
    cpu_after = fleet.cpu_seconds()
    return Went(
        instances=count,
        failed=failed - failed_before,
        answer_seconds=load.answer_seconds,
        elapsed_seconds=ended - began,
        cpu_seconds={name: cpu_after[name] - cpu_before[name] for name in cpu_after},
    )


class _Load:
    """Requests, and the callers that share them: each waits for an answer before its next one."""

    def __init__(self, url: str, servers: Sequence[Server]) -> None:
        self._where = urlsplit(url)
        self._bodies = [json.dumps({"server": server}) for server in servers]
        self._turns = itertools.count()
        self._threads: list[threading.Thread] = []
        self.answer_seconds: list[float] = []
        self.refusals: list[str] = []

    def start(self, callers: int) -> None:
        self._threads = [
            threading.Thread(target=self._call) for _ in range(min(callers, len(self._bodies)))
        ]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _call(self) -> None:
        connection = http.client.HTTPConnection(
            str(self._where.hostname), self._where.port, timeout=SETTLE_SECONDS_MAX
        )
        headers = {"Content-Type": "application/json"}
        while (turn := next(self._turns)) < len(self._bodies) and not self.refusals:
            began = time.perf_counter()
            connection.request("POST", "/v2.1/servers", self._bodies[turn], headers)
            answer = connection.getresponse()
            text = answer.read()
            self.answer_seconds.append(time.perf_counter() - began)
            if answer.status != http.client.ACCEPTED:
                self.refusals.append(f"{answer.status} {text!r}")
        connection.close()


def _print(hosts: int, found: Sequence[tuple[str, Went]]) -> None:
    print_table(
        f"From accepted to ACTIVE, {hosts} simulated hosts in two cells",
        ["load", "instances a second", "seconds in all", "ms to the answer", "in ERROR"],
        [
            [name, f"{went.per_second:.0f}", f"{went.elapsed_seconds:.2f}",
             three(went.answer_seconds), str(went.failed)]
            for name, went in found
        ],
    )  # fmt: skip
    kinds = list(found[0][1].cpu_seconds)
    print_table(
        "Processor time of an instance, ms",
        ["load", *kinds, "all"],
        [[name, *_processors(went, kinds)] for name, went in found],
    )


def _processors(went: Went, kinds: Sequence[str]) -> list[str]:
    each = [went.cpu_seconds[kind] / went.instances * 1e3 for kind in kinds]
    return [f"{used:.2f}" for used in (*each, sum(each))]
