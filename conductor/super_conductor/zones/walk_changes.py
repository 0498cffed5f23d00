"""State changes of a walk after news of its attempt: computed here, stored by the caller."""

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from conductor.super_conductor.db.zones.zone_walks import Entry, Failure, Walk, WalkState
from conductor.super_conductor.zones import paths
from objects.zones.zone_attempt import AttemptState, ZoneAttempt

LOG = logging.getLogger(__name__)

_FAILURES_TOLD_MAX = 20
_REASON_LENGTH_MAX = 1000
_LOST = "the build order was lost"


def watched(walk: Walk, now: datetime) -> Walk:
    """Poll the attempt from now on: its zone has accepted the order."""
    return replace(walk, state=WalkState.WATCHED, heard_at=now)


def cancelled(walk: Walk, reason: str, now: datetime, *, is_lost: bool = False) -> Walk:
    """Cancel an attempt or block its late arrival; ``is_lost``: its zone knows nothing of it."""
    LOG.info("%s: attempt %d in zone %s: %s", walk.instance_uuid, walk.attempt, walk.path, reason)
    failures = failures_with(walk, reason, lost_at=now if is_lost else None)
    return replace(walk, state=WalkState.CANCELLING, failures=failures, heard_at=now)


def failed(walk: Walk, reason: str | None, now: datetime) -> Walk:
    """Move on to the next candidate; a reason of None means that it was recorded before."""
    failures = walk.failures
    if reason is not None:
        LOG.info("%s: zone %s refused the build: %s", walk.instance_uuid, walk.path, reason)
        failures = failures_with(walk, reason)
    return replace(_next(walk, now), step=walk.step + 1, failures=failures)


def passed_over(walk: Walk, entry: Entry, reason: str, now: datetime) -> Walk:
    """Move on to the next candidate without an attempt at this one."""
    there = replace(walk, path=paths.to_text(entry.path), host_id=entry.host_id)
    return failed(there, reason, now)


def unreached(walk: Walk, entry: Entry, reason: str, now: datetime) -> Walk:
    """Move on for now: the candidate is tried again if no other one is left (``open_entries``)."""
    place = paths.to_text(entry.path), entry.host_id
    if _last_failure(walk, place) is not None:
        return replace(walk, step=walk.step + 1)
    LOG.info("%s: zone %s is unreachable: %s", walk.instance_uuid, place[0], reason)
    failure = Failure(
        *place, walk.attempt, reason[:_REASON_LENGTH_MAX], unreached_at=now.isoformat()
    )
    return replace(walk, step=walk.step + 1, failures=[*walk.failures, failure])


def open_entries(
    walk: Walk, entries: Sequence[Entry], now: datetime, limit: timedelta
) -> list[Entry]:
    """Return the candidates that no order has reached, up to ``limit`` after their first turn."""
    found = []
    for entry in entries:
        place = paths.to_text(entry.path), entry.host_id
        tries = [each for each in walk.failures if (each.zone, each.host_id) == place]
        unreached = [each.unreached_at for each in tries if each.unreached_at is not None]
        if not tries or len(unreached) < len(tries):
            continue
        if now < datetime.fromisoformat(unreached[0]) + limit:
            found.append(entry)
    return found


def begun(entry: Entry, walk: Walk, now: datetime) -> Walk:
    """Return the walk to store before the next attempt is ordered."""
    return replace(
        walk, state=WalkState.ASKED, attempt=walk.attempt + 1, path=paths.to_text(entry.path),
        host_id=entry.host_id, since=now, heard_at=now,
    )  # fmt: skip


def after_cancel(walk: Walk, answer: ZoneAttempt | None, now: datetime) -> Walk:
    """Move on once nothing is left in the zone; a lost order is sent a second time first."""
    if answer is None or answer.state != AttemptState.GONE:
        return replace(walk, heard_at=now)
    return _next(walk, now) if _may_be_repeated(walk) else failed(walk, None, now)


def after_poll(walk: Walk, answer: ZoneAttempt | None, now: datetime, limit: timedelta) -> Walk:
    """Return the walk after an answer other than "active"; ``limit`` is the build timeout."""
    if answer is None:
        return cancelled(walk, _LOST, now, is_lost=walk.state == WalkState.ASKED)
    state = answer.state
    if state == AttemptState.BUILDING:
        if now >= walk.since + limit:
            return cancelled(walk, f"not built within {limit.total_seconds():.0f} s", now)
        return watched(walk, now)
    if state == AttemptState.GONE:
        return failed(walk, "the instance was deleted there", now)
    return cancelled(walk, answer.reason or "the attempt was cancelled there", now)


def unknown(walk: Walk, reason: str) -> Walk:
    """Leave the instance to reconciliation: the attempt may have succeeded."""
    return replace(walk, state=WalkState.UNKNOWN, failures=failures_with(walk, reason))


def failures_with(walk: Walk, reason: str, *, lost_at: datetime | None = None) -> list[Failure]:
    """Return the recorded failures plus one for this attempt; ``lost_at``: its order was lost."""
    failure = Failure(
        walk.path, walk.host_id, walk.attempt, reason[:_REASON_LENGTH_MAX],
        is_lost=lost_at is not None, unreached_at=None if lost_at is None else lost_at.isoformat(),
    )  # fmt: skip
    return [*walk.failures, failure]


def to_stored(walk: Walk) -> dict[str, object]:
    """Return what explanations need of a walk that has ended, as JSON."""
    failures = [dataclasses.asdict(each) for each in walk.failures]
    return {"zone": walk.path, "host_id": walk.host_id, "failures": failures}


def summary_of(walks: Sequence[Walk]) -> str:
    """Return a sentence with all attempts and why they failed."""
    tried = [
        f"host {failure.host_id} in zone {failure.zone or '(this)'}: {failure.reason}"
        for walk in walks
        for failure in walk.failures
    ]
    count = "1 attempt" if len(tried) == 1 else f"{len(tried)} attempts"
    more = (
        [f"and {len(tried) - _FAILURES_TOLD_MAX} more"] if len(tried) > _FAILURES_TOLD_MAX else []
    )
    return f"{count} failed, no further host is left. " + "; ".join(
        [*tried[:_FAILURES_TOLD_MAX], *more]
    )


def _last_failure(walk: Walk, place: tuple[str, str]) -> Failure | None:
    return next(
        (each for each in reversed(walk.failures) if (each.zone, each.host_id) == place), None
    )


def _next(walk: Walk, now: datetime) -> Walk:
    return replace(walk, state=WalkState.NEXT, path=None, host_id=None, heard_at=now, since=now)


def _may_be_repeated(walk: Walk) -> bool:
    """Return whether the order of the last attempt was lost for the first time at this host."""
    lost = [
        failure
        for failure in walk.failures
        if failure.is_lost and (failure.zone, failure.host_id) == (walk.path, walk.host_id)
    ]
    return len(lost) == 1 and lost[0].attempt == walk.attempt
