"""Services of this cell: heartbeats, up and down states (ready or not), changes by operators.

A disabled service gets no new instances: its host is cordoned.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, Signer
from armillary.db import Database
from armillary.db.database import note
from armillary.names.identifiers import is_host_name
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.hosts import agent_runs
from conductor.cell_conductor.hosts.host_heartbeats import HostHeartbeats
from conductor.cell_conductor.hosts.host_owners import HostOwners
from conductor.cell_conductor.hosts.providers import Providers, StatusChange, status_change
from conductor.cell_conductor.servicegroup import ServiceGroupDriver
from conductor.common import activity
from conductor.common.cell_db import (
    builds,
    compute_nodes,
    host_events,
    host_requests,
    host_seq,
    instances,
    migrations,
    models,
    services,
    unfinished,
)
from conductor.common.clock import Clock, moment
from conductor.common.service_records import check_version
from objects.hosts.activity import CellActivity
from objects.hosts.agent_run import AgentRun
from objects.hosts.host_answers import ServiceChanges
from objects.hosts.host_details import HostRecords
from objects.hosts.host_event import HostChange, HostEvent
from objects.hosts.service import Service

LOG = logging.getLogger(__name__)

HOSTS_MAX = 10_000
WATCH_BATCH_SIZE = 500


class HostServices:
    """Services of a cell's hosts; endpoint, see ``CellConductorAPI``.

    ``on_version`` is called when an agent's version has changed.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        database: Database,
        providers: Providers,
        build: Build,
        driver: ServiceGroupDriver,
        now: Clock,
        may_mark_down: Callable[[], bool],
        oldest_services: Callable[[RequestContext], dict[str, int]],
        clear_evacuated: Callable[[str], None] = lambda host: None,
        on_version: Callable[[], None] = lambda: None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._providers = providers
        self._build = build
        self._now = now
        self._may_mark_down = may_mark_down
        self._oldest_services = oldest_services
        self._clear_evacuated = clear_evacuated
        self._on_version = on_version
        self._heartbeats = HostHeartbeats(conf, driver, database=database, now=now)
        self.owners = HostOwners(database=database, now=now)

    # Reports of agents

    def report_services(
        self,
        context: RequestContext,
        agent: str,
        hosts: Sequence[str],
        builds: dict[str, int],
        service_version: int,
        run: AgentRun | None = None,
    ) -> dict[str, int]:
        self.report(agent, hosts, builds, version=service_version, signer=context.signer, run=run)
        return self._oldest_services(context)

    def report(
        self,
        agent: str,
        hosts: Sequence[str],
        attempts: Mapping[str, int],
        *,
        version: int,
        signer: Signer | None = None,
        run: AgentRun | None = None,
    ) -> None:
        """Store a heartbeat of an agent for its hosts, and renew the leases of its running builds.

        The number of SQL statements does not depend on the number of hosts. Schedulers are updated
        only for new hosts and for those that were down. Raises Conflict, and stores nothing, when
        one of the hosts belongs to another agent that is alive; AgentNotAdmitted as
        ``agent_runs.check``; HeartbeatTooLate; HostsNotApproved if the message was signed and one
        is not this agent's; ServiceTooOld; Invalid for invalid names.
        """
        _check_names(agent, hosts)
        check_version(agent, services.COMPUTE, version)
        if run is not None and run.is_over:
            self._database.run_in_writer(services.end_run, agent, run.id)
            return
        if not attempts and self._heartbeats.keep(agent, hosts, version=version, run=run):
            return

        def write(session: Session) -> bool:
            is_news = self._store_report(session, agent, sorted(set(hosts)), version, signer, run)
            if attempts:
                building = builds.list_building(session, attempts, hosts)
                self._build.leases.extend(session, building)
            return is_news

        try:
            is_news = self._database.insert_in_writer(write)
        except exception.HostsNotApproved as refused:
            self.owners.note_refused(agent, refused.kwargs["hosts"])
            raise
        if is_news:
            self._on_version()

    def _store_report(
        self,
        session: Session,
        agent: str,
        hosts: Sequence[str],
        version: int,
        signer: Signer | None,
        run: AgentRun | None,
    ) -> bool:
        """Store the heartbeat; return whether an agent's version is new or changed."""
        now = moment(self._now())
        known = services.find_by_hosts(session, hosts)
        if signer is None:
            self._refuse_others_hosts(agent, known.values())
        else:
            self.owners.check(session, signer, agent, hosts, known)
        if run is not None:
            self._heartbeats.check_in_time(agent, run, known)
            agent_runs.check(
                session, agent, run, known, now=now, down_time_seconds=self._conf.service_down_time
            )
        new = [host for host in hosts if host not in known]
        services.add(
            session, new, agent=agent, version=version,
            disabled=not self._conf.enable_new_services, now=now,
            run=None if run is None else run.id,
        )  # fmt: skip
        if run is not None:
            waiting = self._unsettled(agent, run, known, now)
            begun = services.record_unsettled(
                session, waiting, agent=agent, now=now,
                down_time_seconds=self._conf.service_down_time, run=run,
            )  # fmt: skip
            if begun < len(waiting):
                raise exception.AgentNotAdmitted(
                    agent=agent,
                    reason="another agent of this name has just begun; stop one of them",
                )
            known = {host: row for host, row in known.items() if host not in waiting}
        seen = services.record_host_heartbeats(
            session, list(known), agent=agent, version=version, now=now,
            down_time_seconds=self._conf.service_down_time, is_bound=signer is not None, run=run,
        )  # fmt: skip
        if seen < len(known):
            raise exception.Conflict(
                reason=f"another agent has just taken over a host of agent {agent}"
            )
        if signer is not None:
            self.owners.taken(session, agent, new, known)
        back = [host for host, row in known.items() if not row.is_up and not row.forced_down]
        services.mark_up(session, back, up=True)
        host_events.record(session, HostChange.CREATED, new, now=now)
        host_events.record(session, HostChange.UP, back, now=now)
        changed = [host for host, row in known.items() if row.version != version]
        host_seq.touch_hosts(session, {*back, *changed})
        for host in new:
            LOG.info("New host %s, managed by agent %s", host, agent)
            _note(session, "create", host, up=True)
        for host in back:
            LOG.info("Host %s is up again", host)
            _note(session, "update", host, up=True)
        return bool(new or changed)

    def _unsettled(
        self, agent: str, run: AgentRun, known: Mapping[str, models.Service], now: datetime
    ) -> list[str]:
        """Return the hosts that were down, and stay so until their agent has settled them.

        Workloads of instances that were deleted or evacuated meanwhile may still run there.
        """
        if run.is_settled:
            return []
        down_time = self._conf.service_down_time
        return [
            host
            for host, row in known.items()
            if row.agent == agent
            and not services.has_fresh_heartbeat(row, now=now, down_time_seconds=down_time)
        ]

    def _refuse_others_hosts(self, agent: str, rows: Collection[models.Service]) -> None:
        for row in rows:
            if row.agent != agent and services.has_living_agent(
                row, now=moment(self._now()), down_time_seconds=self._conf.service_down_time
            ):
                raise exception.Conflict(
                    reason=f"host {row.host} is managed by agent {row.agent}, which is alive; "
                    f"{agent} can take it over only after no heartbeat for "
                    f"{self._conf.service_down_time} s"
                )

    # Up and down

    def watch(self) -> int:
        """Mark hosts as down or up after heartbeats stopped or resumed; return their number.

        Their rows are updated for the schedulers. No host is marked as down while this conductor
        may be isolated itself. It reads first, because there is hardly ever anything to write.
        """
        self._heartbeats.copy()
        turned = self._database.read(
            services.changed_states,
            now=moment(self._now()),
            down_time_seconds=self._conf.service_down_time,
        )
        count = 0
        for up in sorted(turned if self._may_mark_down() else turned - {False}):
            while True:
                changed = self._watch_batch(up=up)
                count += changed
                if changed < WATCH_BATCH_SIZE:
                    break
        return count

    def _watch_batch(self, *, up: bool) -> int:
        def write(session: Session) -> int:
            now = moment(self._now())
            hosts = services.list_state_changes(
                session, up=up, now=now,
                down_time_seconds=self._conf.service_down_time, limit=WATCH_BATCH_SIZE,
            )  # fmt: skip
            services.mark_up(session, hosts, up=up)
            host_events.record(session, HostChange.UP if up else HostChange.DOWN, hosts, now=now)
            host_seq.touch_hosts(session, hosts)
            for host in hosts:
                LOG.warning("Host %s is %s", host, "up again" if up else "down")
                _note(session, "update", host, up=up)
            return len(hosts)

        return self._database.run_in_writer(write)

    # Requests of operators

    @property
    def _as_of_now(self) -> services.AsOf:
        return services.AsOf.present(self._conf, self._now, self._conf.cell.uuid)

    def list_services(self, context: RequestContext) -> list[Service]:
        return self._database.read(services.list_all, self._as_of_now)

    def find_compute_services(
        self, context: RequestContext, hosts: Collection[str]
    ) -> list[Service]:
        return self._database.read(services.list_all, self._as_of_now, services.are_of_hosts(hosts))

    def get_activity(self, context: RequestContext) -> CellActivity:
        """Return what the cell does now."""
        return activity.read(
            self._conf, self._database, self._database, unfinished.SOURCES, now=self._now,
            cell_uuid=self._conf.cell.uuid,
        )  # fmt: skip

    def get_host_records(self, context: RequestContext, host: str) -> HostRecords:
        cell_uuid = self._conf.cell.uuid
        with self._database.reader() as session:
            service = services.list_all(session, self._as_of_now, services.are_of_hosts([host]))
            if not service:
                raise exception.HostNotFound(host=host)
            nodes = compute_nodes.list_on_hosts(session, [host])
            found = [compute_nodes.to_object(node, cell_uuid=cell_uuid) for node in nodes]
        return HostRecords(service[0], found)

    def list_host_events(
        self, context: RequestContext, host: str, *, limit: int, marker: str | None = None
    ) -> list[HostEvent]:
        return self._database.read(host_events.list_page, host, limit=limit, marker=marker)

    def update_service(
        self, context: RequestContext, service_uuid: str, changes: ServiceChanges
    ) -> Service:
        """Change a service; tell placement whether it is disabled.

        Raises ServiceNotFound; Invalid for a service without hosts. If placement is unreachable, it
        is updated later.
        """
        service, nodes = self._database.run_in_writer(
            lambda session: self._update(context, session, service_uuid, changes)
        )
        if nodes:
            self._providers.set_disabled(context, nodes, disabled=service.disabled)
        return service

    def _update(
        self, context: RequestContext, session: Session, service_uuid: str, changes: ServiceChanges
    ) -> tuple[Service, list[StatusChange]]:
        now, down_time = moment(self._now()), self._conf.service_down_time
        row = services.get(session, service_uuid)
        if row.binary != services.COMPUTE:
            raise exception.Invalid(
                reason=f"{row.binary} on {row.host} has no host that could be disabled or "
                "forced down"
            )
        was_disabled, was_forced_down = row.disabled, row.forced_down
        if changes.disabled is not None:
            row.disabled = changes.disabled
            row.disabled_reason = changes.disabled_reason if changes.disabled else None
        if changes.forced_down is not None:
            row.forced_down = changes.forced_down
            row.forced_down_at = now if row.forced_down else None
        row.is_up = services.is_up(row, now=now, down_time_seconds=down_time)
        if (row.disabled, row.forced_down) != (was_disabled, was_forced_down):
            host_seq.touch_hosts(session, [row.host])
        if row.forced_down != was_forced_down:
            change = HostChange.FORCED_DOWN if row.forced_down else HostChange.FORCED_DOWN_ENDED
            host_events.record(session, change, [row.host], now=now, context=context)
        nodes: list[StatusChange] = []
        if row.disabled != was_disabled:
            host_events.record(
                session, HostChange.DISABLED if row.disabled else HostChange.ENABLED, [row.host],
                now=now, context=context, reason=row.disabled_reason,
            )  # fmt: skip
            nodes = [
                status_change(node, disabled=row.disabled)
                for node in compute_nodes.list_on_hosts(session, [row.host])
            ]
            digests = [
                {"uuid": c.uuid, "provider_digest": c.digest, "confirmed_digest": None}
                for c in nodes
            ]
            compute_nodes.update(session, digests)
        made = services.to_object(row, self._as_of_now)
        note(session, lambda notifier: notifier.service(context, "update", made))
        return made, nodes

    def delete_service(self, context: RequestContext, service_uuid: str) -> str:
        """Remove a service's record, nodes and providers; return the host. Idempotent.

        A service without hosts has only its record. Allocations of evacuated instances on the host
        are released first. Raises ServiceNotFound; InUse while instances live there, are moved from
        or to there, or placement has other allocations; Unavailable when placement does not answer:
        then nothing was removed here.
        """
        with self._database.reader() as session:
            row = services.find(session, service_uuid)
            is_compute = row.binary == services.COMPUTE
            if is_compute:
                _refuse_in_use(session, row.host)
            nodes = compute_nodes.list_on_hosts(session, [row.host])
        if not is_compute:
            self._database.run_in_writer(services.remove, service_uuid)
            return row.host
        self._clear_evacuated(row.host)
        self._providers.delete(context, nodes)
        host, order = self._database.run_in_writer(
            lambda session: self._delete(context, session, service_uuid)
        )
        self._providers.delete_again(context, nodes, order)
        return host

    def _delete(
        self, context: RequestContext, session: Session, service_uuid: str
    ) -> tuple[str, int]:
        """Return the host, and the number of its removal."""
        row = services.get(session, service_uuid)
        _refuse_in_use(session, row.host)
        now = moment(self._now())
        host_events.record(session, HostChange.REMOVED, [row.host], now=now, context=context)
        compute_nodes.remove_of_host(session, row.host, now=now)
        services.remove(session, service_uuid)
        host_requests.forget(session, [row.host])
        _note(session, "delete", row.host, up=False)
        return row.host, host_seq.current(session)


def _note(session: Session, what: str, host: str, *, up: bool) -> None:
    service = Service.from_values(host=host, binary=services.COMPUTE, up=up)
    note(session, lambda notifier: notifier.service(None, what, service))


def _refuse_in_use(session: Session, host: str) -> None:
    living = instances.uuids_on_hosts(session, [host]).get(host, [])
    if living:
        count = f"{len(living)} instances live" if len(living) > 1 else "1 instance lives"
        raise exception.InUse(
            what=f"The service of host {host}", reason=f"{count} there, such as {living[0]}"
        )
    moves = migrations.list_of_hosts(session, [host])
    if moves:
        raise exception.InUse(
            what=f"The service of host {host}",
            reason=f"instance {moves[0].instance_uuid} is moved from or to there",
        )


def _check_names(agent: str, hosts: Sequence[str]) -> None:
    if len(hosts) > HOSTS_MAX:
        raise exception.Invalid(
            reason=f"got {len(hosts)} hosts in one report, at most {HOSTS_MAX} are allowed"
        )
    for name in (agent, *hosts):
        if not is_host_name(name):
            raise exception.Invalid(
                reason=f"{str(name)[:80]!r} is not a valid name of an agent or host: a name has at "
                "most 255 letters, digits and . _ : @ -, and begins and ends with a letter, a "
                "digit or _"
            )
