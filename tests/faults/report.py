"""Outcome of a plan: JSON for programs, one screen for people."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

FINDINGS_MAX = 40


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What was done and found. ``unknown`` are requests without an answer that says how they ended.

    ``seconds`` is how long users asked, ``quiet_seconds`` how long it took to come to rest and be
    compared.
    """

    seed: int
    faults: Mapping[str, int]
    repeated: int
    accepted: Mapping[str, int]
    refused: Mapping[str, int]
    unknown: Mapping[str, int]
    findings: Sequence[str]
    seconds: float
    quiet_seconds: float

    def screen(self) -> str:
        lines = [
            f"seed {self.seed}: {sum(self.faults.values())} faults over "
            f"{sum(self.accepted.values())} operations in {self.seconds:.0f} s, "
            f"quiet after {self.quiet_seconds:.0f} s: "
            + (f"{len(self.findings)} FINDINGS" if self.findings else "well"),
            f"  faults    {_counted(self.faults)}; {self.repeated} messages repeated",
            f"  accepted  {_counted(self.accepted)}",
            f"  refused   {_counted(self.refused)}",
            f"  unknown   {_counted(self.unknown)}",
        ]
        lines += [f"  FOUND     {finding}" for finding in self.findings[:FINDINGS_MAX]]
        if len(self.findings) > FINDINGS_MAX:
            lines.append(f"  FOUND     and {len(self.findings) - FINDINGS_MAX} more")
        return "\n".join(lines)


def add_to(path: Path, outcome: Outcome) -> None:
    with path.open("a") as file:
        file.write(json.dumps(dataclasses.asdict(outcome)) + "\n")


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
