"""The plain forms of a decision trace, from one version to the other; 1.0 said less.

Stored traces and those of older services are read with it. It needs no versioned objects, so that
whoever only shows a trace does without them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Plain = dict[str, Any]


def upgraded(trace: Plain) -> Plain:
    """Return a plain trace as this version writes it, whichever version wrote it."""
    made = {"nearest": [], "zones": [], **trace}
    if "filters" in made:
        made["filters"] = [_newer_filter(each) for each in made["filters"]]
    if "choices" in made:
        made["choices"] = [_newer_choice(each) for each in made["choices"]]
    return made


def older_filter(entry: Plain) -> Plain:
    """Return what a filter removed as version 1.0 has it."""
    reasons = entry["reasons"]
    kept = {key: value for key, value in entry.items() if key != "reasons"}
    return {**kept, "reason": reasons[0]["reason"] if reasons else None}


def _newer_filter(entry: Plain) -> Plain:
    if "reasons" in entry:
        return entry
    kept = {key: value for key, value in entry.items() if key != "reason"}
    reason = entry.get("reason")
    return {**kept, "reasons": [{"reason": reason, "count": 1}] if reason else []}


def older_choice(choice: Plain) -> Plain:
    """Return a choice as version 1.0 has it."""
    return {
        **choice,
        "shares": {name: share["weight"] for name, share in choice["shares"].items()},
        "runners_up": [
            {**one, "shares": {name: share["weight"] for name, share in one["shares"].items()}}
            for one in choice["runners_up"]
        ],
    }


def _newer_choice(choice: Plain) -> Plain:
    return {
        **choice,
        "shares": _newer_shares(choice["shares"]),
        "runners_up": [
            {**one, "shares": _newer_shares(one["shares"])} for one in choice["runners_up"]
        ],
    }


def _newer_shares(shares: Mapping[str, Any]) -> Plain:
    return {
        name: share
        if isinstance(share, dict)
        else {"raw": None, "normalised": None, "weight": share}
        for name, share in shares.items()
    }
