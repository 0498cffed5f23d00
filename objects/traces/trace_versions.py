"""Conversion of plain decision traces between versions; 1.0 has less detail.

For stored traces and those of older services. It does not need versioned objects, so that code that
only displays traces need not import them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Plain = dict[str, Any]


def upgraded(trace: Plain) -> Plain:
    """Convert a plain trace of any version to the current one."""
    made = {"nearest": [], "zones": [], **trace}
    if "filters" in made:
        made["filters"] = [_newer_filter(each) for each in made["filters"]]
    if "choices" in made:
        made["choices"] = [_newer_choice(each) for each in made["choices"]]
    return made


def older_filter(entry: Plain) -> Plain:
    """Convert a filter's entry to version 1.0."""
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
    """Convert a choice to version 1.0."""
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
