"""Reports of agents about their instances: accepted, or stale.

A report is accepted if it is about the current attempt, on its host, by that host's agent. A
repeated report is accepted again without further effect. While an instance is being deleted, only
the report that its guest is gone is accepted: "stale" tells the agent to destroy its guest.
"""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext, admin_context, log_context
from armillary.db import Database
from armillary.logs.line_budget import BoundedLog
from conductor.cell_conductor.builds import attempts
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.builds.delete_task import Delete
from conductor.common.cell_db import (
    builds,
    deletes,
    faults,
    instances,
    migrations,
    models,
    operations,
    services,
)
from conductor.common.cell_db.builds import Stage
from conductor.common.clock import Clock, moment
from conductor.common.leases import Lease
from objects.instance import Instance
from objects.instances.guest_addresses import ADDRESSES_MAX, GuestAddresses
from objects.instances.instance_command import BuiltReport
from objects.instances.instance_fault import UNASKED, InstanceFault
from objects.instances.power_states import STATES_BY_POWER

LOG = logging.getLogger(__name__)

ACCEPTED = "accepted"
STALE = "stale"

_ON = frozenset({"active", "paused", "suspended"})
"""States of an instance that becomes stopped when its guest ends."""
_BUILT = frozenset({"resized", "shelved", "soft-delete", "rescued"})
"""Further states of an instance that has a guest, running or not."""
_STAYS = _BUILT | {"error"}
"""States that do not change with the power state of the guest."""

SHUTDOWN, CRASHED = "shutdown", "crashed"
POWER_STATES = ("running", SHUTDOWN)
_OF_ANSWER: Mapping[str, Callable[..., None]] = {ACCEPTED: LOG.log, STALE: BoundedLog(LOG).write}
"""Stale reports cost an agent nothing, so their lines are limited."""


class Reports:
    """Endpoint, see ``CellConductorAPI``: accepts or rejects reports.

    ``on_placed`` is called with host and instance of each successful build.
    """

    def __init__(
        self,
        *,
        database: Database,
        build: Build,
        delete: Delete,
        cell_uuid: str | None,
        now: Clock,
        on_placed: Callable[[str, str], None] = lambda host, instance_uuid: None,
    ) -> None:
        self._database = database
        self._build = build
        self._delete = delete
        self._cell_uuid = cell_uuid
        self._now_seconds = now
        self._on_placed = on_placed

    def builds_succeeded(
        self, context: RequestContext, agent: str, built: Sequence[BuiltReport]
    ) -> list[str]:
        """Make instances active; return an answer to each report, in order.

        One transaction and a fixed number of statements. Raises Invalid for an unknown power state.
        """
        for report in built:
            if report.power_state not in POWER_STATES:
                raise exception.Invalid(
                    reason=f"power_state {report.power_state!r} is unknown; it must be one of "
                    f"{', '.join(POWER_STATES)}"
                )
        answers, requests = self._database.run_in_writer(self._judge_built, agent, built)
        for report, answer in zip(built, answers, strict=True):
            uuid = report.instance_uuid
            if answer == ACCEPTED:
                self._on_placed(report.host, uuid)
            with log_context(admin_context(requests.get(uuid)).for_instance(uuid)):
                self._log_answer("build_succeeded", uuid, report.host, report.attempt, answer)
        return answers

    def _judge_built(
        self, session: Session, agent: str, reports: Sequence[BuiltReport]
    ) -> tuple[list[str], dict[str, str | None]]:
        """Return an answer to each report, and the request of each instance."""
        uuids = [report.instance_uuid for report in reports]
        rows = instances.lock_all(session, uuids)
        carried = services.find_by_hosts(session, {report.host for report in reports})
        agents = {host: service.agent for host, service in carried.items()}
        building = {
            uuid: build
            for uuid, build in builds.lock_without_specs(session, uuids).items()
            if build.stage == Stage.BUILD
        }
        built: dict[str, tuple[models.Instance, models.InstanceBuild, str]] = {}

        def accept(report: BuiltReport) -> str:
            uuid = report.instance_uuid
            instance, build = rows.get(uuid), building.get(uuid)
            is_theirs = agents.get(report.host) == agent
            if (
                instance is None
                or not is_theirs
                or not _is_at(instance, report.host, report.attempt)
            ):
                return STALE
            if instance.vm_state in {"stopped", *_ON, *_BUILT}:
                return ACCEPTED
            if build is None:
                return STALE
            built[uuid] = (instance, build, report.power_state)
            return ACCEPTED

        answers = [accept(report) for report in reports]
        attempts.succeed(session, list(built.values()), now=self._now)
        return answers, {uuid: row.request_id for uuid, row in rows.items()}

    def take_build_failure(
        self,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        fault: InstanceFault,
        retry: bool,
    ) -> tuple[str, list[Lease]]:
        """Record the failure; ``Build.run`` takes the leases and tries the next alternate."""

        def write(session: Session) -> tuple[str, list[Lease]]:
            instance = _find_current(session, agent, host, instance_uuid, attempt)
            build = None if instance is None else _find_building(session, instance)
            if instance is not None and build is not None:
                lease = self._build.fail(session, instance, build, fault, retry=retry)
                return ACCEPTED, [lease]
            is_repeated = services.belongs_to_agent(session, host, agent) and faults.exists(
                session, instance_uuid, attempt, host=host
            )
            return (ACCEPTED if is_repeated else STALE), []

        answer, leases = self._database.run_in_writer(write)
        return self._log_answer("build_failed", instance_uuid, host, attempt, answer), leases

    def instance_ended(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        exit_code: int | None,
        reason: str | None = None,
    ) -> str:
        """Make the instance stopped; for a build not reported yet, this is its success.

        With a ``reason`` its guest crashed.
        """
        power_state = SHUTDOWN if reason is None else CRASHED

        def write(session: Session) -> str:
            instance = _find_current(session, agent, host, instance_uuid, attempt)
            if instance is None:
                return STALE
            if instance.vm_state == "stopped":
                return ACCEPTED
            if instance.vm_state in _STAYS:
                instance.power_state, instance.exit_code = power_state, exit_code
                self._note_unasked(session, instance, reason)
                return ACCEPTED
            if instance.vm_state not in _ON:
                build = _find_building(session, instance)
                if build is None:
                    return STALE
                attempts.succeed(session, [(instance, build, SHUTDOWN)], now=self._now)
            if instance.task_state is None:  # else the running operation decides the state
                instance.vm_state = "stopped"
            instance.power_state = power_state
            instance.exit_code = exit_code
            self._note_unasked(session, instance, reason)
            return ACCEPTED

        return self._log_answer(
            "instance_ended", instance_uuid, host, attempt, self._database.run_in_writer(write)
        )

    def power_changed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        power_state: str,
        reason: str | None,
    ) -> str:
        """Give an instance the state of its guest; a running operation decides itself.

        Raises Invalid for an unknown power state.
        """
        if power_state not in STATES_BY_POWER:
            raise exception.Invalid(reason=f"power_state {power_state!r} is unknown")

        def write(session: Session) -> str:
            instance = _find_current(session, agent, host, instance_uuid, attempt)
            if instance is None:
                return STALE
            is_same = instance.power_state == power_state
            has_guest = instance.vm_state in {"stopped", *_ON, *_STAYS}
            if instance.task_state is not None or not has_guest:
                return ACCEPTED
            if instance.vm_state not in _STAYS:
                wanted = STATES_BY_POWER[power_state]
                is_same = is_same and instance.vm_state == wanted
                instance.vm_state = wanted
            if not is_same:
                instance.power_state, instance.exit_code = power_state, None
                self._note_unasked(session, instance, reason)
            return ACCEPTED

        return self._log_answer(
            "power_changed", instance_uuid, host, attempt, self._database.run_in_writer(write)
        )

    def _note_unasked(
        self, session: Session, instance: models.Instance, reason: str | None
    ) -> None:
        """Record a change of a guest that no request asked for, and why if that is known."""
        instance.updated_at = self._now
        if reason is None:
            return
        fault = InstanceFault.from_values(
            instance_uuid=instance.uuid, host=instance.host, code=UNASKED,
            message=f"{reason[:1].upper()}{reason[1:]}.",
        )  # fmt: skip
        faults.replace(session, fault, now=self._now)

    def report_addresses(
        self, context: RequestContext, agent: str, found: Sequence[GuestAddresses]
    ) -> None:
        """Store the addresses of guests. Raises Invalid for what is not an address."""
        wanted = {one.instance_uuid: (one, _checked_addresses(one)) for one in found}

        def store(session: Session) -> None:
            known = services.find_by_hosts(session, {one.host for one in found})
            for uuid, row in instances.lock_all(session, list(wanted)).items():
                one, addresses = wanted[uuid]
                is_theirs = one.host in known and known[one.host].agent == agent
                if is_theirs and _is_at(row, one.host, one.attempt):
                    row.addresses = addresses

        self._database.run_in_writer(store)

    def take_guest_gone(self, agent: str, host: str, instance_uuid: str) -> tuple[str, list[Lease]]:
        """Record that the guest is gone; ``Delete.run`` takes the leases and does the rest."""

        def write(session: Session) -> tuple[str, list[Lease]]:
            instance = instances.lock(session, instance_uuid)
            if instance is None or instance.deleted_at is not None:
                return ACCEPTED, []
            row = deletes.lock(session, instance_uuid)
            if (
                row is None
                or instance.host != host
                or not services.belongs_to_agent(session, host, agent)
            ):
                return STALE, []
            if row.is_guest_gone:
                return ACCEPTED, []
            return ACCEPTED, [self._delete.guest_gone(session, row, host=host)]

        answer, leases = self._database.run_in_writer(write)
        return self._log_answer("instance_deleted", instance_uuid, host, None, answer), leases

    def is_build_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, attempt: int
    ) -> bool:
        """Return whether a report of this attempt is expected."""

        def look(session: Session) -> bool:
            instance = _find_current(session, agent, host, instance_uuid, attempt)
            return instance is not None and _find_building(session, instance) is not None

        return self._database.run_in_writer(look)

    def list_migrating_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[dict[str, str]]:
        """Return instances that are moving to or from these hosts of the agent, or wait there.

        Raises Conflict for another agent's host.
        """
        with self._database.reader() as session:
            known = self._check_agent(session, agent, hosts)
            ends = {
                (move.instance_uuid, host)
                for move in migrations.list_of_hosts(session, known)
                for host in (move.source_host, move.dest_host)
            }
            ends |= operations.list_ends(session)  # includes operations without a migration
        return [
            {"instance_uuid": uuid, "host": host}
            for uuid, host in sorted(ends, key=str)
            if host is not None and host in known
        ]

    def _check_agent(self, session: Session, agent: str, hosts: Sequence[str]) -> list[str]:
        """Return those of an agent's hosts that are known. Raises Conflict for another's."""
        known = services.find_by_hosts(session, hosts)
        for host, service in known.items():
            if service.agent != agent:
                raise exception.Conflict(
                    reason=f"host {host} belongs to agent {service.agent}, not to {agent}"
                )
        return [*known]

    def list_host_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[Instance]:
        """Return the existing instances whose current attempt is on these hosts of the agent.

        Raises Conflict if a host belongs to another agent: an empty answer would have its guests
        destroyed. An unknown host has no instances.
        """
        with self._database.reader() as session:
            known = self._check_agent(session, agent, hosts)
            return instances.list_on_hosts(session, known, cell_uuid=self._cell_uuid)

    def list_group_members(
        self, context: RequestContext, agent: str, group_uuid: str
    ) -> dict[str, str]:
        """Return instance -> host of a group's existing members.

        Raises NotItsOwn unless one of them is on, or moves to or from, a host of the agent.
        """
        with self._database.reader() as session:
            own = services.hosts_of_agent(session, agent)
            found = instances.hosts_of_group(session, group_uuid)
            if not own.isdisjoint(found.values()) or self._moves(session, own, group_uuid):
                return found
        raise exception.NotItsOwn(
            reason=f"no host of agent {agent} has a member of the server group {group_uuid}"
        )

    def _moves(self, session: Session, hosts: Collection[str], group_uuid: str) -> bool:
        """Return whether a member of a group moves to or from one of these hosts."""
        moving = {move.instance_uuid for move in migrations.list_of_hosts(session, hosts)}
        moving |= {uuid for uuid, host in operations.list_ends(session) if host in hosts}
        rows = instances.find_rows(session, moving).values()
        return any(row.group_uuid == group_uuid for row in rows)

    @property
    def _now(self) -> datetime:
        return moment(self._now_seconds())

    def _log_answer(
        self, report: str, instance_uuid: str, host: str, attempt: int | None, answer: str
    ) -> str:
        text = "%s: %s of attempt %s on %s: %s"
        _OF_ANSWER[answer](logging.INFO, text, instance_uuid, report, attempt, host, answer)
        return answer


def _checked_addresses(found: GuestAddresses) -> list[str]:
    try:
        addresses = [str(ipaddress.ip_address(each)) for each in found.addresses]
    except ValueError as error:
        raise exception.Invalid(reason=str(error)) from error
    if len(addresses) > ADDRESSES_MAX:
        raise exception.Invalid(reason=f"a guest has at most {ADDRESSES_MAX} addresses")
    return addresses


def _find_current(
    session: Session, agent: str, host: str, instance_uuid: str, attempt: int
) -> models.Instance | None:
    """Lock and return the instance; None unless this agent runs this attempt of it."""
    instance = instances.lock(session, instance_uuid)
    if (
        instance is None
        or not _is_at(instance, host, attempt)
        or not services.belongs_to_agent(session, host, agent)
    ):
        return None
    return instance


def _is_at(instance: models.Instance, host: str, attempt: int) -> bool:
    """Return whether an instance exists, stays, and is this attempt on this host."""
    return (
        instance.deleted_at is None
        and instance.task_state != "deleting"
        and instance.host == host
        and instance.attempt == attempt
    )


def _find_building(session: Session, instance: models.Instance) -> models.InstanceBuild | None:
    """Lock and return the build while its agent works on it; None before the claim is made."""
    build = builds.lock(session, instance.uuid)
    return build if build is not None and build.stage == Stage.BUILD else None
