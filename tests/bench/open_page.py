"""Processor time that a page of the console that stays open takes of the services.

Needs Chromium and Playwright, RabbitMQ and PostgreSQL. All services are processes of their own,
over 1,000 and 10,000 simulated hosts. What a page of each view asks, and how often, is recorded
from Chromium at the intervals of the page. Each of these requests is then sent again, many times,
alone, and the processor time that each service takes until a moment after the answer is read from
the system's clocks of processes. A host changes before each round, so that no answer is like the
last one. Event streams are endless: some are held open for a while, and compared with none. Broker
and databases are not counted.
"""

import contextlib
import itertools
import statistics
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import requests

from tests.bench.builds_service import kind_of
from tests.bench.placement.placement_service import require_servers
from tests.console.browser import Tab, chromium
from tests.console.deployment import add_flavor, image_of
from tests.fixtures.asking import wait_for
from tests.fixtures.deployment import Deployment, deployed

SIZES = (1_000, 10_000)
CELLS = 2
SERVERS = 60
CLAIMS = 50
RECORD_SECONDS = 90.0
SETTLE_SECONDS = 5.0  # what a page asks when it is opened is not what it asks while it stays open
ROUNDS = 15
CHANGED_SECONDS = 3.0  # a change is on its way to schedulers, and answers are kept for two seconds
AFTER_SECONDS = 0.15  # services tidy up after their answer
QUIET_SECONDS = 1.0
STREAM_SECONDS = 10.0
STREAM_ROUNDS = 4
STREAMS = 4  # as many as an API process serves by default
START_SECONDS_MAX = 600.0
HOST = "cell1-1"
EVENTS = "/armillary/events"
_CPU_CLOCK = 2
"""A process's clock of all its threads is ``~pid << 3 | 2`` (linux/posix-timers.h)."""
OPTIONS = """
[DEFAULT]
report_interval = 600
service_down_time = 6000
[rpc]
response_timeout_seconds = 60
[conductor]
lease_seconds = 30
discover_hosts_interval_seconds = 10
recovery_interval_seconds = 5
retry_pause_seconds = 2
"""

Used = Mapping[str, float]
"""Kind of process -> seconds of processor time."""


@dataclass(frozen=True)
class Asked:
    """A request of a page; ``knows`` says whether it names the ETag of the last answer."""

    path: str
    knows: bool

    @property
    def is_stream(self) -> bool:
        return EVENTS in self.path


@dataclass
class Replay:
    """What a request took of the services in each round."""

    headers: Mapping[str, str]
    etag: str | None = None
    statuses: Counter[int] = field(default_factory=Counter)
    took: list[Used] = field(default_factory=list)

    def mean(self) -> Used:
        kinds = {kind for used in self.took for kind in used}
        return {
            kind: max(0.0, statistics.mean(used.get(kind, 0.0) for used in self.took))
            for kind in kinds
        }


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

    def clocks(self) -> list[tuple[str, int]]:
        """Return the clock of each process of a service, children too, with its kind."""
        roots = {
            process.running.pid: kind_of(name)
            for name, process in self.processes.items()
            if process.running is not None
        }
        return [
            (kind, ~pid << 3 | _CPU_CLOCK)
            for root, kind in roots.items()
            for pid in (root, *(each.pid for each in psutil.Process(root).children(recursive=True)))
        ]


class Meter:
    """Processor time of the services while something happens."""

    def __init__(self, site: Watched) -> None:
        self._clocks = site.clocks()
        self._quiet: list[tuple[float, Used]] = []

    @contextlib.contextmanager
    def taking(self) -> Iterator[dict[str, float]]:
        """Fill a dict with what the services take within the block, and ``seconds``."""
        found: dict[str, float] = {}
        before, began = self._read(), time.monotonic()
        yield found
        found["seconds"] = time.monotonic() - began
        found |= {kind: used - before[kind] for kind, used in self._read().items()}

    def wait_in_quiet(self, seconds: float) -> None:
        """Measure what the services take without requests."""
        with self.taking() as found:
            time.sleep(seconds)
        self._quiet.append((found.pop("seconds"), found))

    def above_quiet(self, found: Mapping[str, float]) -> Used:
        """Return what was taken above what the services take in such a time without requests."""
        part = found["seconds"] / sum(seconds for seconds, _used in self._quiet)
        return {
            kind: used - part * sum(each[kind] for _seconds, each in self._quiet)
            for kind, used in found.items()
            if kind != "seconds"
        }

    def _read(self) -> dict[str, float]:
        found: dict[str, float] = defaultdict(float)
        for kind, clock in self._clocks:
            found[kind] += time.clock_gettime(clock)
        return dict(found)


def bench() -> None:
    """Measure all views; say so where there is no Chromium."""
    try:
        for size in SIZES:
            with _running(size) as site, chromium() as browser:
                _bench(size, site, browser)
    except (pytest.skip.Exception, pytest.fail.Exception) as error:
        print(error)


def _bench(size: int, site: Watched, browser: Any) -> None:
    views = _views(site)
    changes = _changes(site)
    meter = Meter(site)
    with _changing(changes):
        asked, headers = _record(site, browser, views)
        stream = _cost_of_a_stream(site, meter)
    replays = {
        each: Replay(headers[each])
        for each in dict.fromkeys(itertools.chain.from_iterable(asked.values()))
        if not each.is_stream
    }
    for _ in range(ROUNDS):
        next(changes)
        time.sleep(CHANGED_SECONDS)
        meter.wait_in_quiet(QUIET_SECONDS)
        for each, replay in replays.items():
            _send_again(site, meter, each, replay)
    for view, requests_ in asked.items():
        _print(size, view, requests_, replays, stream)


def _record(
    site: Watched, browser: Any, views: Mapping[str, str]
) -> tuple[dict[str, list[Asked]], dict[Asked, Mapping[str, str]]]:
    """Return what a page of each view asks within ``RECORD_SECONDS``, and the headers.

    The pages are open at the same time, as those of colleagues are. A stream is noted once.
    """
    tabs = {view: Tab(browser, site.api_url) for view in views}
    asked: dict[str, list[Asked]] = {view: [] for view in views}
    headers: dict[Asked, Mapping[str, str]] = {}

    def note(request: Any) -> Asked:
        address = urlsplit(request.url)
        sent = request.all_headers()
        path = address.path + (f"?{address.query}" if address.query else "")
        made = Asked(path, "if-none-match" in sent)
        headers[made] = {name: each for name, each in sent.items() if not name.startswith(":")}
        return made

    sent: dict[str, list[Any]] = {view: [] for view in views}
    for view, path in views.items():
        own = sent[view]
        tabs[view].page.on("request", lambda request, own=own: own.append(request))
        tabs[view].open(path)
        tabs[view].page.wait_for_timeout(SETTLE_SECONDS * 1000)
        asked[view] += {note(each) for each in own if EVENTS in each.url}
    for own in sent.values():
        own.clear()
    next(iter(tabs.values())).page.wait_for_timeout(RECORD_SECONDS * 1000)
    for view, own in sent.items():
        asked[view] += [note(each) for each in [*own]]
    for tab in tabs.values():
        tab.close()
    return asked, headers


def _send_again(site: Watched, meter: Meter, asked: Asked, replay: Replay) -> None:
    """Send a request as the page does, with the ETag of its last answer, and note what it takes."""
    headers = {**replay.headers}
    if asked.knows and replay.etag:
        headers["if-none-match"] = replay.etag
    with meter.taking() as found:
        answer = requests.get(f"{site.api_url}{asked.path}", headers=headers, timeout=60)
        time.sleep(AFTER_SECONDS)
    replay.statuses[answer.status_code] += 1
    replay.etag = answer.headers.get("ETag", replay.etag)
    replay.took.append(meter.above_quiet(found))


def _cost_of_a_stream(site: Watched, meter: Meter) -> Used:
    """Return what one event stream takes in a second; windows with and without it take turns."""
    more: dict[str, float] = defaultdict(float)
    for _ in range(STREAM_ROUNDS):
        with meter.taking() as without:
            time.sleep(STREAM_SECONDS)
        with _streams(site):
            time.sleep(SETTLE_SECONDS)
            with meter.taking() as following:
                time.sleep(STREAM_SECONDS)
        for kind, used in following.items():
            more[kind] += used / following["seconds"] - without[kind] / without["seconds"]
    del more["seconds"]
    return {kind: max(0.0, used / STREAM_ROUNDS / STREAMS) for kind, used in more.items()}


@contextlib.contextmanager
def _streams(site: Watched) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for _ in range(STREAMS):
            answer = requests.get(f"{site.api_url}/v2.1{EVENTS}", stream=True, timeout=60)
            stack.enter_context(contextlib.closing(answer))
            threading.Thread(target=_drain, args=(answer,), daemon=True).start()
        yield


def _drain(answer: requests.Response) -> None:
    with contextlib.suppress(Exception):  # it is closed while it is read
        for _ in answer.iter_content(4096):
            pass


def _print(
    size: int, view: str, asked: Sequence[Asked], replays: Mapping[Asked, Replay], stream: Used
) -> None:
    counts = Counter(each for each in asked if not each.is_stream)
    streams = {each for each in asked if each.is_stream}
    lines, total = [], 0.0
    for each, count in counts.most_common():
        used = replays[each].mean()
        a_minute = count * 60 / RECORD_SECONDS
        total += sum(used.values()) * a_minute / 60
        said = ", ".join(f"{status} {times}" for status, times in replays[each].statuses.items())
        lines.append(
            f"{a_minute:5.1f} a minute, {_milliseconds(used)}: {each.path}"
            f"{', If-None-Match' if each.knows else ''} ({said})"
        )
    if streams:
        total += sum(stream.values())
        shown = ", ".join(f"{kind} {part * 100:.3f}" for kind, part in stream.items() if part)
        lines.append(f"and an event stream, {sum(stream.values()) * 100:.3f} % of a core ({shown})")
    often = sum(counts.values()) * 60 / RECORD_SECONDS
    print(f"{size:7,} hosts: {view}: {total * 100:.2f} % of a core, {often:.1f} requests a minute")
    for line in lines:
        print(f"        {line}")


def _milliseconds(used: Used) -> str:
    parts = sorted(used.items(), key=lambda each: -each[1])
    shown = ", ".join(f"{kind} {took * 1000:.1f}" for kind, took in parts if took >= 0.0005)
    return f"{sum(used.values()) * 1000:.1f} ms ({shown})"


def _changes(site: Watched) -> Iterator[None]:
    """Disable or enable a host with each step."""
    services = site.get("/os-services", binary="armillary-compute")["services"]
    for status, service in itertools.cycle(itertools.product(("disabled", "enabled"), services)):
        site.request("PUT", f"/os-services/{service['id']}", json={"status": status})
        yield


@contextlib.contextmanager
def _changing(changes: Iterator[None]) -> Iterator[None]:
    """Take a step every other second until the block ends."""
    is_over = threading.Event()

    def change() -> None:
        while not is_over.wait(2.0):
            next(changes)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _views(site: Watched) -> dict[str, str]:
    """Make servers and claims, and return view -> address."""
    flavor = add_flavor(site, "small", 1)
    asked = {"imageRef": image_of(site), "networks": "none"}
    server, *_others = site.create_servers(flavor, SERVERS, **asked)
    own = site.create_servers(flavor, 5, **asked, availability_zone=f"nova:{HOST}")
    for each in (server, *own):
        site.wait_for_status(each, "ACTIVE")
    for number in range(CLAIMS):  # without pools they fail, and are listed all the same
        asked_of_pool = {"name": f"claim-{number}", "kind": "storage", "resources": {"DISK_GB": 1}}
        site.post("/armillary/claims", {"claim": asked_of_pool})
    return {
        "fleet": "/fleet", "table of hosts": "/fleet?as=table", "host": f"/hosts/{HOST}",
        "servers": "/servers", "server": f"/servers/{server}", "why": f"/why/{server}",
        "claims": "/claims", "pools": "/pools", "what if": "/what-if", "now": "/now",
    }  # fmt: skip


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


if __name__ == "__main__":
    bench()
