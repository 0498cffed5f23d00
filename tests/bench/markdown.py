"""Figures as Markdown tables, with those of the reference beside ours."""

import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

from tests.bench.measuring import BUSY_CPUS, Times, milliseconds
from tests.bench.reference import Result


def machine() -> str:
    """Return a line on where and when."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return (
        f"{time.strftime('%Y-%m-%d %H:%M')}, {os.cpu_count()} processors "
        f"({names[0] if names else platform.machine()}), Python {platform.python_version()}. "
        "Times are minimum / median / maximum; a star marks those during which others used more "
        f"than {BUSY_CPUS} processors."
    )


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [columns, ["---"] * len(columns), *rows]
    print(f"\n### {title}\n")
    for line in lines:
        print(f"| {' | '.join(line)} |")


def reference_cell(found: Result | None) -> str:
    """Return the reference's times, or nothing where it was not measured."""
    if found is None:
        return ""
    times = (found.low, found.median, found.high)
    return " / ".join(map(milliseconds, times)) + "\\*" * found.is_disturbed


def ratio(found: Result | None, ours: Times, *, by_rate: bool = False) -> str:
    """Return how many times faster we are, by medians or by what is done in a second."""
    if found is None:
        return ""
    times = found.median / ours.median
    if by_rate:
        times = ours.per_second / (found.per_second or ours.per_second)
    return f"{times:.0f}" if times >= 10 else f"{times:.1f}"
