"""How soon the console shows a fleet of 10,000 hosts, and how many frames a second it pans with.

Needs Chromium and Playwright, as the tests of the console do. The hosts are an answer of the API
that is made here: what is measured is the page, from the request for it to the drawn map.
"""

from __future__ import annotations

import json
import random
import statistics
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.console.browser import Tab, chromium
from tests.console.deployment import deployment, token_of

HOSTS = (10_000, 100_000)
PAGE = 20_000
RUNS = 5
FRAMES = 120
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


def bench() -> None:
    """Open the fleet with each number of hosts, then pan; say so where there is no Chromium."""
    try:
        _bench()
    except (pytest.skip.Exception, pytest.fail.Exception) as error:
        print(error)


def _bench() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        deployment(Path(folder)) as site,
        chromium() as browser,
    ):
        for count in HOSTS:
            tab = Tab(browser, site.url)
            tab.log_in(token_of("root"))
            serve(tab, count)
            seconds = [first_view(tab) for _ in range(RUNS)]
            took = tab.page.evaluate(PAN, FRAMES)
            tab.close()
            print(
                f"{count:7,} hosts: first view {statistics.median(seconds):.2f} s "
                f"(median of {RUNS}), {1000 / statistics.median(took):.0f} frames a second "
                f"while panning"
            )


def first_view(tab: Tab) -> float:
    """Return the seconds from the navigation to the drawn map."""
    tab.page.goto(f"{tab.url}/ui/fleet")
    tab.page.wait_for_selector(".heat-map canvas")
    milliseconds: float = tab.page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => done(performance.now())))"
    )
    return milliseconds / 1000


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
            "uuid": [f"{number:08x}-0000-4000-8000-000000000000" for number in numbers],
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
