"""One self-contained HTML page of a simulation, with the components of the web console.

The page holds the results, the styles and the modules of the console; it loads nothing else. A
module imports others by paths, which mean nothing in a file: each is embedded as a ``data:`` URL
under its path as its name, in an import map.
"""

from __future__ import annotations

import base64
import html
import json
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from simulator.fleet.host_states import HostStates
from simulator.results.outcome import Outcome
from simulator.scenario.files import document_of
from simulator.scenario.scenario import Scenario

ASSETS = files("api.console").joinpath("static", "assets")
ENTRY = "app/simulation/simulation_page.js"
STYLES = (
    "style/theme.css", "style/layout.css", "style/parts.css", "style/decision.css",
    "style/fleet.css", "style/simulation.css", "vendor/uplot.css",
)  # fmt: skip
_PREFIX = "console/"
_IMPORT = re.compile(r"""(\bfrom\s+|\bimport\s*\(\s*|\bimport\s+)"(\.{1,2}/[^"]+)\"""")
_POLICY = "default-src 'none'; script-src 'unsafe-inline' data:; style-src 'unsafe-inline'"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title} - Armillary</title>
<style>{styles}</style>
<script>{theme}</script>
<script type="importmap">{imports}</script>
</head>
<body>
<div id="app"><p class="boot">Loading the simulation…</p></div>
<noscript><p class="boot">This page needs JavaScript.</p></noscript>
<script type="application/json" id="simulation">{data}</script>
<script type="module">import "{entry}";</script>
</body>
</html>
"""


def write_html(path: Path, scenario: Scenario, outcomes: Sequence[Outcome]) -> None:
    """Write the page. Raises ``OSError``."""
    path.write_text(page_of(scenario, outcomes), encoding="utf-8")


def page_of(scenario: Scenario, outcomes: Sequence[Outcome]) -> str:
    """Return the page."""
    return _PAGE.format(
        policy=_POLICY,
        title=html.escape(scenario.title),
        styles="\n".join(_read(name) for name in STYLES),
        theme=_read("theme.js"),
        imports=_in_script({"imports": dict(_modules(ENTRY))}),
        data=_in_script(data_of(scenario, outcomes)),
        entry=_PREFIX + ENTRY,
    )


def data_of(scenario: Scenario, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return what the page shows: scenario, hosts, and each run with its samples over time."""
    book = HostStates(scenario)
    document = document_of(scenario, outcomes)
    document["hosts"] = _hosts(scenario, book)
    for run, outcome in zip(document["runs"], outcomes, strict=True):
        run["hosts"] = _samples(book, outcome)
        run["samples"] = outcome.samples
    return document


def _hosts(scenario: Scenario, book: HostStates) -> dict[str, Any]:
    shapes = scenario.shapes
    numbers = {id(shape): number for number, shape in enumerate(shapes)}
    return {
        "name": [host.name for host in book.hosts],
        "shape": [numbers[id(host.shape)] for host in book.hosts],
        "shapes": [
            {
                "cell": shape.cell,
                "zone": shape.zone,
                "aggregates": list(shape.aggregates),
                "traits": list(shape.traits),
                "capacity": {name: amount.capacity for name, amount in shape.amounts.items()},
            }
            for shape in shapes
        ],
        "classes": list(book.classes),
        "aggregates": {name: dict(keys) for name, keys in scenario.aggregates.items()},
    }


def _samples(book: HostStates, outcome: Outcome) -> dict[str, Any]:
    """Return name -> sample -> host -> value, in the order of the hosts."""
    hosts = outcome.hosts["hosts"]
    count = len(outcome.hosts["seconds"])
    names = [*book.classes, "instances", "up"]
    return {
        "seconds": outcome.hosts["seconds"],
        **{
            name: [[hosts[host.name][name][at] for host in book.hosts] for at in range(count)]
            for name in names
        },
    }


def _modules(entry: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each module that the entry needs, and its ``data:`` URL."""
    waiting, seen = [entry], {entry}
    while waiting:
        name = waiting.pop()
        text, needed = _renamed(name, _read(name))
        encoded = base64.b64encode(text.encode()).decode()
        yield _PREFIX + name, f"data:text/javascript;base64,{encoded}"
        waiting += [each for each in needed if each not in seen]
        seen.update(needed)


def _renamed(name: str, text: str) -> tuple[str, list[str]]:
    """Return a module with the names of others in place of their paths, and these names."""
    needed: list[str] = []

    def rename(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(name), match[2]))
        needed.append(target)
        return f'{match[1]}"{_PREFIX}{target}"'

    return _IMPORT.sub(rename, text), needed


def _read(name: str) -> str:
    return ASSETS.joinpath(name).read_text(encoding="utf-8")


def _in_script(value: Mapping[str, Any]) -> str:
    """Return JSON that is safe inside a script element, whatever names it contains."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")
