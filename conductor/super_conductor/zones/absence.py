"""Zones that do not answer now, and may be back soon: a request that only they can serve waits."""

from datetime import datetime, timedelta

from conductor.common.clock import moment
from conductor.super_conductor.peers import Environment
from objects.traces.decision_trace import DecisionTrace

_SILENT = ("late", "failed")


def reason_to_wait(
    env: Environment, trace: DecisionTrace | None, accepted_at: datetime
) -> str | None:
    """Return a sentence if a request that nothing fits may wait for zones; None if not any more.

    These are those that were asked about it and did not answer.
    """
    zones = [] if trace is None else trace.zones
    silent = {tuple(each["path"]) for each in zones if each["outcome"] in _SILENT}
    silent -= {tuple(each["path"]) for each in zones if each["outcome"] == "asked"}
    limit = timedelta(seconds=env.conf.zones.absence_wait_seconds)
    if not silent or moment(env.now()) >= accepted_at + limit:
        return None
    count = "1 zone that does" if len(silent) == 1 else f"{len(silent)} zones that do"
    return f"Waiting for {count} not answer."
