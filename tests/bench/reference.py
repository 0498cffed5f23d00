"""The reference service, measured by the scripts that install it.

``scripts`` is the directory of ``placement_http.py`` and its like; ``work`` the one in which
``setup.sh`` made the environments ``pl`` and ``nv``. Nothing of the reference is imported into this
process.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.measuring import BUSY_CPUS
from tests.bench.placement.placement_clients import TREE_QUESTIONS, path_of
from tests.bench.placement.placement_fleet import tree_rows

_TREES_SCRIPT = Path(__file__).with_name("reference_trees.py")


@dataclass(frozen=True)
class Result:
    """What the reference needed: seconds at least, median and at most; how many a second."""

    low: float
    median: float
    high: float
    per_second: float | None
    is_disturbed: bool

    @classmethod
    def of(cls, found: Mapping[str, Any]) -> Result:
        times = found.get("wall_s") or found["latency_s"]
        return cls(
            times["min"], times["median"], times["max"], found.get("per_second"),
            found.get("other_cpus", 0.0) > BUSY_CPUS,
        )  # fmt: skip


class Reference:
    """Runs the scripts; raises ``subprocess.CalledProcessError`` with what one of them said."""

    def __init__(self, scripts: Path, work: Path, *, quiet_wait_seconds: int) -> None:
        self._scripts = scripts.resolve()
        self._work = work.resolve()
        self._quiet_wait_seconds = quiet_wait_seconds
        if not (self._work / "pl" / "bin" / "python").exists():
            subprocess.run([self._scripts / "setup.sh", self._work], check=True)

    def plain(self, providers: int, runs: int, claims: int) -> dict[str, Any]:
        """Measure candidates and claims on plain providers; return the script's results."""
        arguments = ["--db", "postgresql", "--providers", str(providers), "--runs", str(runs),
                     "--claims", str(claims)]  # fmt: skip
        self._run(self._scripts / "placement_http.py", arguments)
        return self._results(f"placement-postgresql-{providers}")

    def trees(self, trees: int, runs: int) -> dict[str, Any]:
        """Measure candidates on trees; return results by question."""
        plan = self._work / "trees.json"
        questions = {name: path_of(question) for name, question in TREE_QUESTIONS.items()}
        plan.write_text(json.dumps({"questions": questions, "rows": tree_rows(trees)}))
        self._run(_TREES_SCRIPT, ["--plan", str(plan), "--runs", str(runs)])
        return self._results("placement-trees")

    def scheduler(self, hosts: int, runs: int, batch_runs: int) -> dict[str, Any]:
        """Measure one instance, and 100 in one request, on so many hosts without NUMA cells."""
        arguments = ["--hosts", str(hosts), "--numa-cells", "0", "--runs", str(runs),
                     "--batch-runs", str(batch_runs)]  # fmt: skip
        self._run(self._scripts / "nova_scheduler.py", arguments, environment="nv")
        return self._results(f"nova-{hosts}hosts-numa0")

    def _run(self, script: Path, arguments: Sequence[str], *, environment: str = "pl") -> None:
        subprocess.run(
            [
                self._work / environment / "bin" / "python", "-P", script, "--workdir", self._work,
                "--quiet-wait", str(self._quiet_wait_seconds), *arguments,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            env={
                **os.environ,
                "PYTHONPATH": str(self._scripts),
                "PYTHONDONTWRITEBYTECODE": "1",
            },
        )  # fmt: skip

    def _results(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self._work / "results" / f"{name}.json").read_text())
        return found
