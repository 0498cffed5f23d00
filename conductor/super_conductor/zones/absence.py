"""Zones that do not answer now, and may be back soon: a request that only they can serve waits."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from conductor.common.clock import moment
from conductor.super_conductor.peers import Environment
from conductor.super_conductor.zones import paths
from objects.traces.decision_trace import DecisionTrace
from objects.zones.zone_answer import silent_among, stale_among

_HAVE_ANSWERED = frozenset({"asked", "pruned", "disabled", "cycle"})
"""Outcomes of zones that can or cannot serve a request, in place of not being heard from."""
_COVER_BELOW = _HAVE_ANSWERED - {"asked"}


def reason_to_wait(
    env: Environment, trace: DecisionTrace | None, accepted_at: datetime
) -> str | None:
    """Return a sentence if a request that nothing fits may wait for zones; None if not any more.

    These are those that were asked about it and did not answer, and stale ones that could serve it
    by their last summaries.
    """
    zones = [] if trace is None else trace.zones
    return wait_for(env, silent_among(zones) | stale_among(zones), accepted_at)


def wait_for(env: Environment, absent: Collection[object], accepted_at: datetime) -> str | None:
    """Return a sentence if a request may wait for these zones; None if not any more."""
    limit = timedelta(seconds=env.conf.zones.absence_wait_seconds)
    if not absent or moment(env.now()) >= accepted_at + limit:
        return None
    return f"Waiting for {count_of(absent)}."


def count_of(silent: Collection[object]) -> str:
    """Return how many zones do not answer, in words for users, who see no names of zones."""
    if len(silent) == 1:
        return "1 zone that does not answer"
    return f"{len(silent)} zones that do not answer"


def silent_zones(zones: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the paths of the zones in a trace that were asked and did not answer."""
    return sorted(map(paths.to_text, silent_among(zones)))


def still_silent(former: Collection[str], zones: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return which zones have not answered after a search for silent ones.

    A zone stays silent until it answers or the zone above rules it out, also when its summary
    expires. Those below a silent one count as soon as that one has answered for itself.
    """
    outcomes: dict[str, set[str]] = {}
    for each in zones:
        outcomes.setdefault(paths.to_text(each["path"]), set()).add(str(each["outcome"]))
    kept = [
        path
        for path in former
        if not _HAVE_ANSWERED.intersection(outcomes.get(path, ()))
        and not any(
            _COVER_BELOW.intersection(outcomes.get(above, ())) for above in _zones_above(path)
        )
    ]
    below = [path for path in silent_zones(zones) if set(_zones_above(path)) & set(former)]
    return sorted({*kept, *below})


def is_among(path: Sequence[str], zones: Collection[str]) -> bool:
    """Return whether a zone is one of these, or below one of them."""
    text = paths.to_text(path)
    return text in zones or any(above in zones for above in _zones_above(text))


def _zones_above(path: str) -> Iterable[str]:
    names = path.split("/")
    return ("/".join(names[:count]) for count in range(1, len(names)))
