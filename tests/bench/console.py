"""Measurement of the console: first view and frames with 10,000 hosts.

Needs Chromium and Playwright, as the tests of the console do. The first view and its size are of a
deployment with 10,000 simulated hosts in this process. Both are also measured with 100,000 hosts,
which are an answer of the API that is made here. ``open_page`` measures what an open page costs.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser import Tab, chromium
from tests.console.deployment import Deployment, deployment, token_of

HOSTS = 10_000
SIMULATED = (
    "name=a-{01..25}-{001..200}:vcpus=32:memory_mb=65536:disk_gb=2000",
    "name=b-{01..25}-{001..200}:vcpus=48:memory_mb=98304:disk_gb=2000:traits=CUSTOM_SSD",
)
MADE = 100_000
PAGE = 20_000
RUNS = 5
FRAMES = 120
ASK_SECONDS = 3.0  # answers are kept for two seconds
PAN = """
frames => new Promise(resolve => {
  const canvas = document.querySelector(".heat-map canvas");
  const at = (type, x) => canvas.dispatchEvent(new PointerEvent(type, {
    pointerId: 1, clientX: x, clientY: 400, bubbles: true }));
  canvas.setPointerCapture = () => {};
  let number = 0;
  let last = performance.now();
  const took = [];
  at("pointerdown", 600);
  const step = now => {
    took.push(now - last);
    last = now;
    at("pointermove", 600 + 200 * Math.sin(number / 10));
    number += 1;
    if (number < frames) requestAnimationFrame(step); else resolve(took.slice(2));
  };
  requestAnimationFrame(step);
})
"""
DRAWN = """
() => new Promise(done => {
  const look = () => {
    if (document.querySelector(".heat-map canvas")?.width > 300) done(performance.now());
    else requestAnimationFrame(look);
  };
  look();
})
"""
"""When the map has been drawn: a canvas is 300 pixels wide before that."""
STAGES = """
() => {
  const [page] = performance.getEntriesByType("navigation");
  const loaded = performance.getEntriesByType("resource");
  const one = part => loaded.filter(each => each.name.includes(part));
  const [fleet] = one("/armillary/fleet");
  const [session] = one("/ui/session");
  const files = one("/ui/assets/").filter(each => each.startTime < fleet.responseEnd);
  return {
    page: page.responseEnd,
    files: Math.max(0, ...files.map(each => each.responseEnd)),
    session: session.responseEnd,
    asked: fleet.requestStart,
    answered: fleet.responseStart,
    data: fleet.responseEnd,
    requests: loaded.length + 1,
  };
}
"""
"""When the parts of a first view were there, in milliseconds since the navigation began."""
METRICS = ("ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "TaskDuration")


def bench() -> None:
    """Measure the console; say so where there is no Chromium."""
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            deployment(
                Path(folder), hosts=SIMULATED, hosts_total=HOSTS + 1, report_seconds=600,
                down_seconds=6000,
            ) as site,
            chromium() as browser,
        ):  # fmt: skip
            _bench(site, browser)
    except (pytest.skip.Exception, pytest.fail.Exception) as error:
        print(error)


def _bench(site: Deployment, browser: Any) -> None:
    tab = Tab(browser, site.url)
    tab.log_in(token_of("root"))
    cold = [first_visit(browser, site, tab) for _ in range(RUNS)]
    warm = [visit(tab) for _ in range(RUNS)]
    print(f"{HOSTS:7,} hosts: first view with an empty cache: {Visit.median_of(cold)}")
    print(f"{HOSTS:7,} hosts: first view again: {Visit.median_of(warm)}")
    print(f"{HOSTS:7,} hosts: {frames_a_second(tab):.0f} frames a second while panning")
    serve(tab, MADE)
    seconds = statistics.median(first_view(tab) for _ in range(RUNS))
    print(
        f"{MADE:7,} hosts: first view {seconds:.2f} s (answers made here), "
        f"{frames_a_second(tab):.0f} frames a second while panning"
    )
    tab.close()


@dataclass
class Visit:
    """One first view: its seconds, and where they went.

    ``stages`` are milliseconds since the navigation began, ``metrics`` seconds of the page's main
    thread, ``processor`` seconds of the services, ``page`` and ``data`` bytes received.
    """

    seconds: float
    stages: dict[str, float]
    metrics: dict[str, float]
    processor: float
    page: int = 0
    data: int = 0

    @staticmethod
    def median_of(visits: list[Visit]) -> str:
        """Return in words the visit that took the median of the time, and the fastest one's."""
        ordered = sorted(visits, key=lambda each: each.seconds)
        own, fastest = ordered[len(ordered) // 2], ordered[0].seconds
        at, main = own.stages, {name: value * 1000 for name, value in own.metrics.items()}
        style = main["LayoutDuration"] + main["RecalcStyleDuration"]
        server, transfer = at["answered"] - at["asked"], at["data"] - at["answered"]
        last = own.seconds * 1000 - max(at["data"], at["files"])
        lines = [
            f"{own.seconds:.2f} s (median of {len(ordered)}; fastest {fastest:.2f} s)",
            f"page {at['page']:.0f} ms, session {at['session']:.0f} ms, files {at['files']:.0f} ms",
            f"fleet asked for at {at['asked']:.0f} ms, server {server:.0f} ms, transfer "
            f"{transfer:.0f} ms; drawn {last:.0f} ms after data and files",
            f"main thread of the page: script {main['ScriptDuration']:.0f} ms, style and layout "
            f"{style:.0f} ms, all {main['TaskDuration']:.0f} ms",
            f"services: {own.processor * 1000:.0f} ms of processor time, "
            f"{at['requests']:.0f} requests",
        ]
        if own.page:
            lines.append(
                f"{own.page / 1000:.0f} KB compressed before data, {own.data / 1000:.0f} KB of data"
            )
        return "\n        ".join(lines)


def first_visit(browser: Any, site: Deployment, known: Tab) -> Visit:
    """Return the first view with an empty cache."""
    tab = Tab(browser, site.url)
    tab.context.add_cookies(known.context.cookies())
    protocol = tab.context.new_cdp_session(tab.page)
    protocol.send("Network.enable")
    urls: dict[str, str] = {}
    received = {"page": 0, "data": 0}

    def note(event: dict[str, Any]) -> None:
        kind = "data" if "/armillary/fleet" in urls.get(event["requestId"], "") else "page"
        received[kind] += int(event["encodedDataLength"])

    protocol.on(
        "Network.requestWillBeSent",
        lambda event: urls.update({event["requestId"]: event["request"]["url"]}),
    )
    protocol.on("Network.loadingFinished", note)
    made = replace(visit(tab), page=received["page"], data=received["data"])
    tab.close()
    return made


def visit(tab: Tab) -> Visit:
    """Return the first view of a tab, some time after the last one."""
    tab.page.goto("about:blank")
    tab.page.wait_for_timeout(ASK_SECONDS * 1000)
    protocol = tab.context.new_cdp_session(tab.page)
    protocol.send("Performance.enable")
    before = time.process_time()
    seconds = first_view(tab)
    processor = time.process_time() - before
    metrics = {
        each["name"]: each["value"] for each in protocol.send("Performance.getMetrics")["metrics"]
    }
    stages = tab.page.evaluate(STAGES)
    return Visit(seconds, stages, {name: metrics[name] for name in METRICS}, processor)


def first_view(tab: Tab) -> float:
    """Return the seconds from the navigation to the drawn map."""
    tab.page.goto(f"{tab.url}/ui/fleet", wait_until="commit")
    milliseconds: float = tab.page.evaluate(DRAWN)
    return milliseconds / 1000


def frames_a_second(tab: Tab) -> float:
    return 1000 / statistics.mean(tab.page.evaluate(PAN, FRAMES))


def serve(tab: Tab, count: int) -> None:
    """Answer requests for the fleet with made hosts, in pages."""
    pages = [
        json.dumps(a_page(first, min(PAGE, count - first), is_last=first + PAGE >= count))
        for first in range(0, count, PAGE)
    ]

    def answer(route: Any) -> None:
        marker = route.request.url.partition("marker=")[2]
        route.fulfill(body=pages[int(marker or 0)], content_type="application/json")

    tab.context.route("**/v2.1/armillary/fleet*", answer)


def a_page(first: int, count: int, *, is_last: bool) -> dict[str, Any]:
    """Return one page of the fleet, as the API answers."""
    rng = random.Random(first)
    numbers = range(first, first + count)
    capacity = {"VCPU": 128, "MEMORY_MB": 262_144, "DISK_GB": 2000}
    states = rng.choices(["up", "draining", "disabled", "down"], [97, 1, 1, 1], k=count)
    return {
        "epoch": "bench",
        "hosts": {
            "name": [f"host-{number:06}" for number in numbers],
            "cell": [0] * count,
            "zone": [number % 3 for number in numbers],
            "state": states,
            "servers": [rng.randrange(40) for _ in numbers],
            "aggregates": [[] for _ in numbers],
            "capacity": {name: [total] * count for name, total in capacity.items()},
            "used": {
                name: [rng.randrange(total + 1) for _ in numbers]
                for name, total in capacity.items()
            },
        },
        "names": {"cells": ["cell1"], "zones": ["az1", "az2", "az3"], "aggregates": []},
        "traits": {"names": [], "sets": [[]], "hosts": [0] * count},
        "next_marker": None if is_last else str(first // PAGE + 1),
    }
