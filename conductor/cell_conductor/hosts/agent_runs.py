"""Admission of an agent's run: one at a time, and always with the hosts' recorded identity."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from armillary import exception
from conductor.common.cell_db import compute_nodes, models, services
from objects.hosts.agent_run import AgentRun


def check(
    session: Session,
    agent: str,
    run: AgentRun,
    known: Mapping[str, models.Service],
    *,
    now: datetime,
    down_time_seconds: float,
) -> None:
    """Raise AgentNotAdmitted unless a run may act for its hosts.

    A run that begins is refused while another one is alive that it does not follow. With another
    node UUID than the recorded one it is always refused: the host would come back as another one.
    """
    begins = [row for row in known.values() if row.run != run.id]
    for row in begins:
        if (
            row.agent == agent
            and row.run is not None
            and row.run not in run.follows
            and services.has_living_agent(row, now=now, down_time_seconds=down_time_seconds)
        ):
            raise exception.AgentNotAdmitted(
                agent=agent,
                reason=f"another agent of this name is alive, with host {row.host}. Stop one of "
                f"them, or give each its own [DEFAULT] host; if the other one is dead, this one "
                f"is admitted {down_time_seconds:g} s after its last heartbeat.",
            )
    own = {row.host for row in begins} & run.nodes.keys()
    recorded: dict[str, set[str]] = {}
    for node in compute_nodes.list_on_hosts(session, own) if own else ():
        recorded.setdefault(node.host, set()).add(node.uuid)
    for host, uuids in recorded.items():
        if run.nodes[host] not in uuids:
            raise exception.AgentNotAdmitted(
                agent=agent,
                reason=f"node {host} of host {host} is known as {min(uuids)}, not as "
                f"{run.nodes[host]}. Restore its identity, the file compute_id of its state "
                "directory, or delete its service first.",
            )


def check_in_time(
    agent: str, run: AgentRun, contacts: Iterable[datetime], *, now: datetime, seconds_max: float
) -> None:
    """Raise HeartbeatTooLate for a heartbeat that was on its way for more than ``seconds_max``.

    ``contacts`` are the times of this run's heartbeats until now. The last one that was answered is
    among them, and the run says how long after that one it sent this one. So no clocks of two
    machines are compared, and the estimated age is never more than the true one.
    """
    last = max(contacts, default=None)
    if last is None or run.answered_seconds_ago is None:
        return
    seconds = (now - last).total_seconds() - run.answered_seconds_ago
    if seconds > seconds_max:
        raise exception.HeartbeatTooLate(agent=agent, seconds=seconds)
