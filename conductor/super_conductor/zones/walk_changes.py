"""State changes of a walk after news of its attempt: computed here, stored by the caller."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from conductor.super_conductor.db.zone_walks import Walk, WalkState
from conductor.super_conductor.zones import paths
from conductor.super_conductor.zones.attempt_states import AttemptState
from conductor.super_conductor.zones.walk_store import Change, Entry

LOG = logging.getLogger(__name__)

_FAILURES_TOLD_MAX = 20
_REASON_LENGTH_MAX = 1000
_LOST = "the build order was lost"


def watched(one: Walk, now: datetime) -> Change:
    """Poll the attempt from now on: its zone has accepted the order."""
    return one, {"state": WalkState.WATCHED, "heard_at": now}


def cancelled(one: Walk, reason: str, now: datetime, *, is_lost: bool = False) -> Change:
    """Cancel an attempt or block its late arrival; ``is_lost``: its zone knows nothing of it."""
    LOG.info("%s: attempt %d in zone %s: %s", one.instance_uuid, one.attempt, one.path, reason)
    return one, {
        "state": WalkState.CANCELLING,
        "failures": failures_with(one, reason, is_lost=is_lost),
        "heard_at": now,
    }


def failed(one: Walk, reason: str | None, now: datetime) -> Change:
    """Move on to the next candidate; a reason of None means that it was recorded before."""
    values = {**_next(now), "step": one.step + 1}
    if reason is not None:
        LOG.info("%s: zone %s refused the build: %s", one.instance_uuid, one.path, reason)
        values["failures"] = failures_with(one, reason)
    return one, values


def passed_over(one: Walk, entry: Entry, reason: str, now: datetime) -> Change:
    """Move on to the next candidate without an attempt at this one."""
    there = dataclasses.replace(one, path=paths.to_text(entry.path), host_id=entry.host_id)
    return failed(there, reason, now)


def begun(entry: Entry, one: Walk, now: datetime) -> dict[str, Any]:
    """Return the values to store before the next attempt is ordered."""
    return {
        "state": WalkState.ASKED,
        "attempt": one.attempt + 1,
        "path": paths.to_text(entry.path),
        "host_id": entry.host_id,
        "since": now,
        "heard_at": now,
    }


def after_cancel(one: Walk, answer: dict[str, Any] | None, now: datetime) -> Change:
    """Move on once nothing is left in the zone; a lost order is sent a second time."""
    if answer is None or answer["state"] != AttemptState.GONE:
        return one, {"heard_at": now}
    return (one, _next(now)) if _may_be_repeated(one) else failed(one, None, now)


def after_look(one: Walk, answer: dict[str, Any] | None, now: datetime, limit: timedelta) -> Change:
    """Return the change for an attempt that is not active; ``limit`` is its build timeout."""
    if answer is None:
        return cancelled(one, _LOST, now, is_lost=one.state == WalkState.ASKED)
    state = answer["state"]
    if state == AttemptState.BUILDING:
        if now >= one.since + limit:
            return cancelled(one, f"not built within {limit.total_seconds():.0f} s", now)
        is_news = one.state != WalkState.WATCHED
        return one, {**({"state": WalkState.WATCHED} if is_news else {}), "heard_at": now}
    if state == AttemptState.GONE:
        return failed(one, "the instance was deleted there", now)
    return cancelled(one, answer.get("reason") or "the attempt was cancelled there", now)


def failures_with(one: Walk, reason: str, *, is_lost: bool = False) -> list[dict[str, Any]]:
    """Return the recorded failures plus one for this attempt."""
    failure: dict[str, Any] = {
        "zone": one.path,
        "host_id": one.host_id,
        "attempt": one.attempt,
        "reason": reason[:_REASON_LENGTH_MAX],
    }
    return [*one.failures, {**failure, "is_lost": True} if is_lost else failure]


def summary_of(walks: Sequence[Walk]) -> str:
    """Return a sentence with all attempts and why they failed."""
    tried = [
        f"host {failure['host_id']} in zone {failure['zone'] or '(this)'}: {failure['reason']}"
        for one in walks
        for failure in one.failures
    ]
    count = "1 attempt" if len(tried) == 1 else f"{len(tried)} attempts"
    more = (
        [f"and {len(tried) - _FAILURES_TOLD_MAX} more"] if len(tried) > _FAILURES_TOLD_MAX else []
    )
    return f"{count} failed, no further host is left. " + "; ".join(
        [*tried[:_FAILURES_TOLD_MAX], *more]
    )


def _next(now: datetime) -> dict[str, Any]:
    return {"state": WalkState.NEXT, "path": None, "host_id": None, "heard_at": now, "since": now}


def _may_be_repeated(one: Walk) -> bool:
    """Return whether the order of the last attempt was lost for the first time at this host."""
    lost = [
        failure
        for failure in one.failures
        if failure.get("is_lost")
        and (failure["zone"], failure["host_id"]) == (one.path, one.host_id)
    ]
    return len(lost) == 1 and lost[0]["attempt"] == one.attempt
