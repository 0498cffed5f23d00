"""Sets of CPUs in text form: ``0-3,8,^2``."""

import re
from collections.abc import Iterable

CPU_MAX = 8191
"""Highest accepted CPU number; no host comes near."""

_PART = re.compile(r"(\^?)\s*([0-9]{1,5})(?:\s*-\s*([0-9]{1,5}))?")


def parse_cpus(text: str, *, cpu_max: int = CPU_MAX, all_but: bool = False) -> frozenset[int]:
    """Parse a list of numbers and ranges, minus those preceded by ``^``.

    With ``all_but``, a list of exclusions only is subtracted from all CPUs from 0 to ``cpu_max``.
    Raises ``ValueError`` with a sentence.
    """
    included: set[int] = set()
    excluded: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"'{part.strip()[:40]}' is neither a CPU number nor a range")
        first, last = int(match[2]), int(match[3] or match[2])
        if first > last:
            raise ValueError(f"the range {first}-{last} is in descending order")
        if last > cpu_max:
            raise ValueError(f"CPU {last} is above the highest one, {cpu_max}")
        (excluded if match[1] else included).update(range(first, last + 1))
    if all_but and not included:
        included.update(range(cpu_max + 1))
    return frozenset(included - excluded)


def format_cpus(cpus: Iterable[int]) -> str:
    """Return the shortest text form of a set of CPUs: ``0-3,8``."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
