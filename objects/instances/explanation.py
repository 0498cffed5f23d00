"""Explanations: why servers are on their hosts, or would be in a dry run."""

from dataclasses import dataclass
from datetime import datetime

from objects.instance import Instance
from objects.instances.instance_fault import InstanceFault
from objects.instances.new_servers import DryRunHost
from objects.traces.decision_trace import PlainTrace


@dataclass(frozen=True, slots=True)
class Decision:
    """A scheduling decision about a server.

    ``operation``: create, resize, migrate, live-migration, evacuate or unshelve.
    """

    operation: str
    request_id: str | None
    decided_at: datetime | None
    host: str | None
    sentence: str | None


@dataclass(frozen=True, slots=True)
class BuildAttempt:
    """An attempt to build a server, or an alternate whose claim was refused."""

    attempt: int
    host: str | None
    result: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class BuildWait:
    """Why a build is not in its cell yet, after a try that failed.

    ``since`` is when its request was accepted, ``cell`` the cell of its host. ``message`` is for
    users; ``reason`` is the error of the last try, which may name services and hosts.
    """

    since: datetime
    message: str
    cell: str | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a server is on its host.

    ``decisions`` are all stored ones, newest first; ``decision`` is the one explained, and
    ``trace`` its trace, with ``choices`` reduced to this server. ``faults`` are those of every
    attempt. ``wait`` is why the build does not go on, if it waits.
    """

    instance: Instance
    trace: PlainTrace | None
    decision: Decision | None
    decisions: list[Decision]
    faults: list[InstanceFault]
    attempts: list[BuildAttempt]
    wait: BuildWait | None = None


@dataclass(frozen=True, slots=True)
class DryRun:
    """Where servers would be built now; without a host the trace has a sentence."""

    hosts: list[DryRunHost]
    trace: PlainTrace
