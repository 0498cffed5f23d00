"""Queries on hosts that agents asked for, and that an operator approved or has yet to."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models
from conductor.common.cell_db.models import HostRequest

WAITING_MAX = 1000
"""Maximum of one agent that wait for approval; further ones are not stored."""


def list_waiting(session: Session) -> list[HostRequest]:
    """Return the requests without an approval, by host and agent."""
    query = sa.select(HostRequest).where(~HostRequest.is_approved)
    return list(session.scalars(query.order_by(HostRequest.host, HostRequest.agent)))


def approved_agents(session: Session, hosts: Collection[str]) -> dict[str, str]:
    """Return host -> the agent that an operator approved for it."""
    query = sa.select(HostRequest).where(HostRequest.host.in_(hosts), HostRequest.is_approved)
    return {row.host: row.agent for row in session.scalars(query)}


def add_waiting(session: Session, agent: str, hosts: Collection[str], *, now: datetime) -> None:
    """Store that an agent asked for hosts; keep what is stored already."""
    own = sa.select(HostRequest.host).where(HostRequest.agent == agent)
    known = set(session.scalars(own))
    new = [host for host in sorted(set(hosts)) if host not in known]
    for host in new[: max(0, WAITING_MAX - len(known))]:
        session.add(HostRequest(host=host, agent=agent, is_approved=False, requested_at=now))
    session.flush()


def approve(session: Session, host: str, agent: str, *, now: datetime) -> None:
    """Store that a host may be this agent's, and no other's."""
    forget(session, [host])
    session.add(HostRequest(host=host, agent=agent, is_approved=True, requested_at=now))
    session.flush()


def forget(session: Session, hosts: Collection[str]) -> None:
    """Delete all that is stored of these hosts."""
    session.execute(sa.delete(models.HostRequest).where(HostRequest.host.in_(hosts)))
