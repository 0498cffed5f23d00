"""Ownership of hosts by agents, where agents sign their messages.

A host belongs to the agent whose key reported it first, however long that is silent, until an
operator releases it or gives it to another. A host without an agent is accepted from one whose
enrolment names it, or that an operator approved for it; any other is listed for approval.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, Signer
from armillary.db import Database
from conductor.common.cell_db import host_requests, models, services
from conductor.common.clock import Clock, moment
from objects.hosts.host_answers import HostRequest

LOG = logging.getLogger(__name__)

_NAMED_MAX = 5


class HostOwners:
    """The owners of a cell's hosts, and requests for others; endpoint, see ``CellConductorAPI``."""

    def __init__(self, *, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def check(
        self,
        session: Session,
        signer: Signer,
        agent: str,
        hosts: Sequence[str],
        known: Mapping[str, models.Service],
    ) -> None:
        """Raise HostsNotApproved unless all these hosts are, or may become, this agent's.

        ``known`` are the compute services of those that have one.
        """
        free = [host for host in hosts if host not in known or known[host].is_released]
        free = [host for host in free if host not in known or known[host].agent != agent]
        refused = [
            host for host, row in known.items() if row.agent != agent and not row.is_released
        ]
        if free:
            approved = host_requests.approved_agents(session, free)
            refused += [
                host
                for host in free
                if approved.get(host) != agent
                and (host in approved or not signer.is_enrolled_for(host))
            ]
        if refused:
            raise exception.HostsNotApproved(
                agent=agent, hosts=sorted(refused), named=_named(refused)
            )

    def note_refused(self, agent: str, hosts: Sequence[str]) -> None:
        """List hosts that an agent was refused, for an operator to approve."""
        now = moment(self._now())
        self._database.run_in_writer(host_requests.add_waiting, agent, hosts, now=now)

    def taken(
        self, session: Session, agent: str, new: Sequence[str], known: Mapping[str, models.Service]
    ) -> None:
        """Store that an agent has these new hosts, and those of others that were released."""
        released = [host for host, row in known.items() if row.is_released and row.agent != agent]
        services.set_released(session, released, is_released=False)
        host_requests.forget(session, [*new, *released])

    # Requests of operators

    def list_host_requests(self, context: RequestContext) -> list[HostRequest]:
        """Return the hosts that were refused to agents, with the agent that has each now."""
        with self._database.reader() as session:
            rows = host_requests.list_waiting(session)
            owners = services.find_by_hosts(session, {row.host for row in rows})
        return [
            HostRequest(
                host=row.host,
                agent=row.agent,
                present_agent=owners[row.host].agent if row.host in owners else None,
                requested_at=row.requested_at,
            )
            for row in rows
        ]

    def approve_host(self, context: RequestContext, host: str, agent: str) -> None:
        """Give a host to an agent, now or when it first reports it."""

        def write(session: Session) -> None:
            row = services.find_by_hosts(session, [host]).get(host)
            if row is None:
                host_requests.approve(session, host, agent, now=moment(self._now()))
                return
            row.agent, row.is_released = agent, False
            host_requests.forget(session, [host])

        self._database.run_in_writer(write)
        LOG.warning("An operator gave host %s to agent %s", host, agent)

    def release_host(self, context: RequestContext, host: str) -> None:
        """Let any agent have a host that is enrolled or approved for it. Raises HostNotFound."""

        def write(session: Session) -> None:
            if host not in services.find_by_hosts(session, [host]):
                raise exception.HostNotFound(host=host)
            services.set_released(session, [host], is_released=True)

        self._database.run_in_writer(write)
        LOG.warning("An operator released host %s from its agent", host)


def _named(hosts: Sequence[str]) -> str:
    """Return some of many names for a message."""
    shown = ", ".join(sorted(hosts)[:_NAMED_MAX])
    more = len(hosts) - _NAMED_MAX
    return f"{shown} and {more} more" if more > 0 else shown
