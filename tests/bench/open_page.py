"""Processor time that a page of the console that stays open takes of the services.

Needs Chromium and Playwright, RabbitMQ and PostgreSQL. All services are processes of their own,
over 1,000 and 10,000 simulated hosts of which one changes every other second, so that no answer is
like the last one. Windows with a page of one view alternate with windows without any: a view takes
what its window took above the two around it. Chromium, broker and databases are not counted.
"""

import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.bench.builds_service import kind_of
from tests.bench.console import changing_hosts
from tests.bench.measuring import cpu_seconds
from tests.bench.placement_service import require_servers
from tests.console.browser import Tab, chromium
from tests.console.deployment import add_flavor, image_of
from tests.fixtures.asking import wait_for
from tests.fixtures.deployment import Deployment, deployed

SIZES = (1_000, 10_000)
CELLS = 2
WINDOW_SECONDS = 60.0
SETTLE_SECONDS = 5.0  # what a page asks when it is opened is not what it asks while it stays open
START_SECONDS_MAX = 600.0
HOST = "cell1-1"
NOT_SERVICES = ("callers", "PostgreSQL", "RabbitMQ")
"""Counted by ``cpu_seconds``, but shared with others on this machine."""
OPTIONS = """
[DEFAULT]
report_interval = 60
service_down_time = 600
[rpc]
response_timeout_seconds = 60
[conductor]
lease_seconds = 30
discover_hosts_interval_seconds = 10
recovery_interval_seconds = 5
retry_pause_seconds = 2
"""

Used = Mapping[str, float]


class Watched(Deployment):
    """A deployment of which the hosts are asked once for all of them."""

    def wait_until_ready(self) -> None:
        wait_for(self.answers, "the API answers", START_SECONDS_MAX)
        expected = sum(
            self._host_count(line)
            for cell in self.cells
            for lines in cell.agents.values()
            for line in lines
        )
        wait_for(
            lambda: self._hosts_up() >= expected, f"{expected} hosts are up", START_SECONDS_MAX, 2
        )

    def _hosts_up(self) -> int:
        hosts = self.get("/armillary/fleet")["hosts"]
        capacity = hosts["capacity"].get("VCPU", [None] * len(hosts["state"]))
        pairs = zip(hosts["state"], capacity, strict=True)
        return sum(state == "up" and bool(vcpus) for state, vcpus in pairs)

    def used(self) -> Used:
        """Return the processor time used so far by each kind of process."""
        return cpu_seconds(
            (kind_of(name), process.running.pid)
            for name, process in self.processes.items()
            if process.running is not None
        )


def bench() -> None:
    """Measure all views; say so where there is no Chromium."""
    try:
        for size in SIZES:
            _bench(size)
    except (pytest.skip.Exception, pytest.fail.Exception) as error:
        print(error)


def _bench(size: int) -> None:
    with _running(size) as site, chromium() as browser:
        server = _server(site)
        views = {
            "fleet": "/fleet", "table of hosts": "/fleet?as=table", "host": f"/hosts/{HOST}",
            "servers": "/servers", "server": f"/servers/{server}", "why": f"/why/{server}",
            "claims": "/claims", "now": "/now",
        }  # fmt: skip
        with changing_hosts(site):
            _measure(size, site, browser, views)


def _measure(size: int, site: Watched, browser: Any, views: Mapping[str, str]) -> None:
    tab = Tab(browser, site.api_url)
    _window(site)  # caches fill
    quiet = [_window(site)]
    found = {}
    for name, address in views.items():
        asked: list[str] = []
        tab.open(address)
        tab.page.wait_for_timeout(SETTLE_SECONDS * 1000)
        note = lambda request, asked=asked: asked.append(request.url)  # noqa: E731
        tab.page.on("request", note)
        took = _window(site, tab.page)
        tab.page.remove_listener("request", note)
        tab.page.goto("about:blank")
        quiet.append(_window(site))
        found[name] = (took, len(asked))
    tab.close()
    sums = [_sum(each) for each in quiet]
    noise = statistics.stdev(sums) / WINDOW_SECONDS
    print(
        f"{size:7,} hosts: without a page the services take {statistics.mean(sums):.1f} s of each "
        f"{WINDOW_SECONDS:.0f} s, ± {noise * 100:.2f} % of a core"
    )
    for at, (name, (took, requests)) in enumerate(found.items()):
        around = (quiet[at], quiet[at + 1])
        more = _sum(took) - statistics.mean(map(_sum, around))
        parts = {kind: took[kind] - statistics.mean(each[kind] for each in around) for kind in took}
        shares = ", ".join(
            f"{kind} {seconds / WINDOW_SECONDS * 100:+.2f} %"
            for kind, seconds in sorted(parts.items(), key=lambda each: -abs(each[1]))[:4]
        )
        per_minute = requests * 60 / WINDOW_SECONDS
        print(
            f"{size:7,} hosts: {name}: {more / WINDOW_SECONDS * 100:.2f} % of a core, "
            f"{per_minute:.0f} requests a minute ({shares})"
        )


def _window(site: Watched, page: Any = None) -> Used:
    """Return what each kind of process takes in a window."""
    before = site.used()
    if page is None:
        time.sleep(WINDOW_SECONDS)
    else:
        page.wait_for_timeout(WINDOW_SECONDS * 1000)
    return {
        kind: seconds - before.get(kind, 0.0)
        for kind, seconds in site.used().items()
        if kind not in NOT_SERVICES
    }


def _sum(used: Used) -> float:
    return sum(used.values())


@contextlib.contextmanager
def _running(size: int) -> Iterator[Watched]:
    require_servers()
    each = size // CELLS
    hosts = "name=cell{cell}-{{1..{each}}}:vcpus=32:memory_mb=65536:disk_gb=2000"
    cells = {
        f"cell{cell}": {f"cell{cell}-agent-1": [hosts.format(cell=cell, each=each)]}
        for cell in range(1, CELLS + 1)
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        deployed(Path(folder), cells, kind=Watched, options=OPTIONS, schedulers=1) as made,
    ):
        yield made


def _server(site: Watched) -> str:
    """Create a server and return its ID when it runs."""
    asked = {
        "name": "watched", "flavorRef": add_flavor(site, "small", 1), "imageRef": image_of(site),
        "networks": "none",
    }  # fmt: skip
    server = str(site.post("/servers", {"server": asked})["server"]["id"])
    site.wait_for_status(server, "ACTIVE")
    return server


if __name__ == "__main__":
    bench()
