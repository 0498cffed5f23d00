"""Output files of a simulation, checked before it starts."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from armillary import exception
from simulator.results.outcome import Outcome
from simulator.scenario.scenario import Scenario
from simulator.zones.outcome import ZonesOutcome


def require_writable(option: str, path: Path) -> None:
    """Raise ``Invalid`` unless a file can be written at the path."""
    folder = path.parent
    if path.is_dir():
        reason = "it is a directory"
    elif not folder.is_dir():
        reason = f"there is no directory {folder}"
    elif not os.access(path if path.exists() else folder, os.W_OK):
        reason = "it is not writable"
    else:
        return
    raise exception.Invalid(f"{option} {path}: {reason}.")


def write_json(
    path: Path, scenario: Scenario, outcomes: Sequence[Outcome] | Sequence[ZonesOutcome]
) -> None:
    path.write_text(json.dumps(document_of(scenario, outcomes), indent=2) + "\n")


def document_of(
    scenario: Scenario, outcomes: Sequence[Outcome] | Sequence[ZonesOutcome]
) -> dict[str, Any]:
    """Return the JSON document; for two outcomes with their differences, second minus first."""
    one = outcomes[0]
    document = {
        "scenario": {
            "title": scenario.title,
            "file": str(scenario.file),
            "seed": scenario.seed,
            "duration_seconds": scenario.duration_seconds,
            "hosts": one.hosts if isinstance(one, ZonesOutcome) else scenario.hosts_total,
        },
        "runs": [outcome.to_plain() for outcome in outcomes],
    }
    compared = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
    if len(compared) == 2:
        first, second = compared
        document["differences"] = {
            name: _less(getattr(second, name), getattr(first, name))
            for name in ("counts", "utilisation", "measures")
        }
    return document


def _less(second: Any, first: Any) -> Any:
    if isinstance(second, int | float):
        return second - first
    return {key: _less(second[key], first[key]) for key in second}
