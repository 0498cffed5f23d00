"""Instances that this zone builds for other zones: accept orders, report attempts, cancel them.

Each attempt is an instance of its own. It has the origin's UUID here, unless an earlier attempt
used that; then its UUID is derived from the origin's UUID and the attempt. So a late message of one
attempt cannot affect another one in any cell, on any agent or in placement.
"""

from __future__ import annotations

import dataclasses
import logging
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_conductor.interface import CellConductorAPI
from conductor.common.clock import moment
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.db import (
    build_requests,
    cleanups,
    instance_mappings,
    request_specs,
    reservations,
)
from conductor.super_conductor.db.build_requests import NewBuildRequest
from conductor.super_conductor.db.instance_mappings import NewMapping, Size
from conductor.super_conductor.db.request_specs import NewSpec
from conductor.super_conductor.db.reservations import NewReservation
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.db.zones.zone_attempts import DelegatedAttempt
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.zones import parents
from conductor.super_conductor.zones.uuid_translation import UuidTranslation
from objects.base import ArmillaryObject
from objects.cell_mapping import CELL0_UUID
from objects.images.image_ticket import ImageTicket, PlainTicket
from objects.instance import Instance
from objects.instances.instance_mapping import InstanceMapping
from objects.request_spec import Destination, RequestSpec
from objects.zones.zone_attempt import (
    ATTEMPT_FINAL,
    Attempts,
    AttemptState,
    ServerSize,
    ZoneAttempt,
)
from objects.zones.zone_query import ZoneOrder

LOG = logging.getLogger(__name__)

_QUESTION_SIZE_MAX = 50
_INSTANCES_MAX = 10_000
_REASON_LENGTH_MAX = 1000


@dataclasses.dataclass(frozen=True)
class _OrderedInstance:
    """One instance of an order, with its local UUID."""

    instance_uuid: str
    local_uuid: str
    attempt: int
    instance: Instance
    spec: RequestSpec
    image_ticket: PlainTicket | None


class DelegatedBuilds:
    """Instances that this zone builds for other zones and for its own walks."""

    def __init__(
        self,
        env: Environment,
        peers: Peers,
        leases: Leases,
        *,
        begin: Callable[[Lease], object],
        delete: Callable[[RequestContext, str], None],
    ) -> None:
        """``begin`` starts the work on a reservation; ``delete`` accepts an instance's delete."""
        self._env = env
        self._peers = peers
        self._leases = leases
        self._begin = begin
        self._delete = delete

    def create(self, context: RequestContext, order: ZoneOrder) -> None:
        """Store the instances to build, then return. See ``ZoneAPI.create``."""
        _check(order)
        parent = zone_attempts.parent_of(context)
        if (parent == zone_attempts.OWN) != (order.origin == zone_attempts.OWN):
            raise exception.Invalid(reason=f"{order.origin!r:.80} is not the zone that asks")
        group = order.request_spec.instance_group
        if group is not None and parent != zone_attempts.OWN:
            parents.check_group(self._env.database, context, group)
        stored = self._env.database.insert_in_writer(self._store, context, order)
        for lease in stored:
            self._begin(lease)

    def get_attempts(self, context: RequestContext, instance_uuids: Sequence[str]) -> Attempts:
        """Return the state of the newest attempts. See ``ZoneAPI.get_attempts``."""
        found = self._env.database.read(
            zone_attempts.list_delegated, instance_uuids, zone_attempts.parent_of(context)
        )
        return self._states(context, [attempts[-1] for attempts in found.values()])

    def cancel(self, context: RequestContext, attempts: Mapping[str, int]) -> Attempts:
        """Cancel attempts, and refuse those that have not arrived yet. See ``ZoneAPI.cancel``."""
        parent = zone_attempts.parent_of(context)

        def write(session: Session) -> list[str]:
            now = moment(self._env.now())
            zone_attempts.cancel(session, dict(attempts), parent=parent, now=now)
            found = zone_attempts.list_delegated(session, attempts, parent)
            return _to_delete(session, [delegated for each in found.values() for delegated in each])

        for local_uuid in self._env.database.run_in_writer(write):
            self._delete(context, local_uuid)
        found = self._env.database.read(zone_attempts.list_delegated, attempts, parent)
        return {
            instance_uuid: self._answer_of_all(context, tried)
            for instance_uuid, tried in found.items()
        }

    # Accepting orders

    def _store(self, session: Session, context: RequestContext, order: ZoneOrder) -> list[Lease]:
        parent = zone_attempts.parent_of(context)
        new = _new_ones(session, order, parent)
        leases = [self._leases.held(_reservation_id()) for _one in new]
        now = moment(self._env.now())
        leased = list(zip(new, leases, strict=True))
        reservations.add_reservations(
            session,
            [
                NewReservation.under(
                    lease, context, project_id=one.instance.project_id, accepted_at=now
                )
                for one, lease in leased
            ],
        )
        build_requests.add_build_requests(
            session, [_build_request(one, lease, now) for one, lease in leased]
        )
        request_specs.add_specs(
            session, [NewSpec(one.local_uuid, one.spec.obj_to_primitive()) for one in new]
        )
        instance_mappings.add_mappings(
            session, [NewMapping.of(one.instance, lease.key, now=now) for one, lease in leased]
        )
        zone_attempts.add_delegated(
            session, [_delegated(one, order.origin, parent, now) for one in new]
        )
        for one in new:
            LOG.info(
                "%s: accepted attempt %d of zone %s as instance %s",
                one.instance_uuid, one.attempt, order.origin or "(this)", one.local_uuid,
            )  # fmt: skip
        return leases

    # State of attempts

    def _answer_of_all(
        self, context: RequestContext, attempts: Sequence[DelegatedAttempt]
    ) -> ZoneAttempt:
        """Return the state of the newest attempt; it is not GONE until all older ones are."""
        newest = attempts[-1]
        states = [
            self._states(context, [delegated])[delegated.instance_uuid] for delegated in attempts
        ]
        undone = [one for one in states[:-1] if one.state == AttemptState.CANCELLING]
        if states[-1].state == AttemptState.GONE and undone:
            return dataclasses.replace(undone[0], attempt=newest.attempt)
        return states[-1]

    def _states(self, context: RequestContext, attempts: Sequence[DelegatedAttempt]) -> Attempts:
        uuids = [delegated.local_uuid for delegated in attempts if delegated.local_uuid is not None]
        with self._env.database.reader() as session:
            # Build requests are read first: an instance is mapped before its build request is
            # removed.
            pending = build_requests.known(session, uuids)
            to_clean_up = {one.instance_uuid for one in cleanups.list_cleanups(session, uuids)}
            mappings = instance_mappings.find_mappings(session, uuids)
            sizes = instance_mappings.sizes(session, uuids)
        unsettled = {
            uuid: mapping
            for uuid, mapping in mappings.items()
            if uuid not in pending and mapping.cell_uuid is not None
        }
        found = self._find_instances(context, unsettled)
        return {
            delegated.instance_uuid: _state(
                delegated,
                is_pending=delegated.local_uuid in pending,
                is_left=delegated.local_uuid in to_clean_up,
                mapping=mappings.get(str(delegated.local_uuid)),
                size=sizes.get(str(delegated.local_uuid)),
                found=found,
            )
            for delegated in attempts
        }

    def _find_instances(
        self, context: RequestContext, mappings: Mapping[str, InstanceMapping]
    ) -> dict[str, Instance | None]:
        """Return instances from their cells; None for those that their cell no longer has.

        Instances whose cell did not answer are left out.
        """
        found: dict[str, Instance | None] = {}
        by_cell: dict[str, list[str]] = {}
        for mapping in mappings.values():
            by_cell.setdefault(str(mapping.cell_uuid), []).append(mapping.instance_uuid)
        for cell_uuid, uuids in by_cell.items():
            if cell_uuid == CELL0_UUID:
                found.update({uuid: self._find_in_cell0(uuid) for uuid in uuids})
                continue
            for start in range(0, len(uuids), _QUESTION_SIZE_MAX):
                batch = uuids[start : start + _QUESTION_SIZE_MAX]
                found.update(self._find_in_cell(context, cell_uuid, batch))
        return found

    def _find_in_cell(
        self, context: RequestContext, cell_uuid: str, uuids: Sequence[str]
    ) -> dict[str, Instance | None]:
        def ask(cell: CellConductorAPI) -> dict[str, Instance | None]:
            return {
                uuid: _or_none(lambda uuid=uuid: cell.get_instance(context, uuid))  # type: ignore[misc]
                for uuid in uuids
            }

        try:
            return self._peers.cells.call(cell_uuid, ask)
        except (exception.CellUnavailable, exception.CellNotFound) as error:
            LOG.debug("Cannot get %d instances built for other zones: %s", len(uuids), error)
            return {}

    def _find_in_cell0(self, uuid: str) -> Instance | None:
        return _or_none(lambda: self._peers.cell0.get_instance(uuid))


def _or_none(get: Callable[[], Instance]) -> Instance | None:
    try:
        return get()
    except exception.InstanceNotFound:
        return None


def _state(
    delegated: DelegatedAttempt,
    *,
    is_pending: bool,
    is_left: bool,
    mapping: InstanceMapping | None,
    size: Size | None,
    found: Mapping[str, Instance | None],
) -> ZoneAttempt:
    """Return the state of an attempt; it stays pending in doubt, e.g. when its cell is silent."""
    local_uuid = str(delegated.local_uuid)
    is_mapped = mapping is not None and mapping.cell_uuid is not None
    instance = found.get(local_uuid)
    has_left = not is_mapped or (local_uuid in found and instance is None)
    if delegated.is_cancelled:
        is_undone = has_left and not (is_pending or is_left)
        state = AttemptState.GONE if is_undone else AttemptState.CANCELLING
    elif is_pending:
        state = AttemptState.BUILDING
    elif has_left or (mapping is not None and mapping.queued_for_delete):
        state = AttemptState.GONE
    else:
        state = _state_of(instance)
    if state == AttemptState.FAILED:
        return ZoneAttempt(delegated.attempt, state, reason=_reason(delegated, instance))
    if state == AttemptState.ACTIVE and size is not None:
        counted = ServerSize(size.vcpus, size.memory_mb, size.is_resizing)
        return ZoneAttempt(delegated.attempt, state, size=counted)
    return ZoneAttempt(delegated.attempt, state)


def _state_of(instance: Instance | None) -> str:
    if instance is None or instance.vm_state == "building":
        return AttemptState.BUILDING
    if instance.vm_state == "error" and instance.launched_at is None:
        return AttemptState.FAILED
    return AttemptState.ACTIVE


def _reason(delegated: DelegatedAttempt, instance: Instance | None) -> str:
    fault = None if instance is None else instance.fault
    if fault is None:
        return "the instance could not be built"
    return UuidTranslation([delegated]).in_text(fault.details or fault.message)[:_REASON_LENGTH_MAX]


def _to_delete(session: Session, found: Iterable[DelegatedAttempt]) -> list[str]:
    """Return the local UUIDs of those that are cancelled and have no delete queued yet."""
    uuids = [
        delegated.local_uuid
        for delegated in found
        if delegated.is_cancelled and delegated.local_uuid
    ]
    mappings = instance_mappings.find_mappings(session, uuids)
    return [uuid for uuid, mapping in mappings.items() if not mapping.queued_for_delete]


# A single order


def _check(order: ZoneOrder) -> None:
    """Raise Invalid for an inconsistent order."""
    counts = {len(order.instances), len(order.host_ids), len(order.attempts), len(_tickets(order))}
    if len(counts) != 1 or not 1 <= len(order.instances) <= _INSTANCES_MAX:
        raise exception.Invalid(
            reason=f"an order has 1 to {_INSTANCES_MAX} instances, each with a host and an attempt"
        )
    try:
        for ticket in filter(None, _tickets(order)):
            ImageTicket(**ticket)
    except TypeError as error:
        raise exception.Invalid(reason="the order contains an invalid image ticket") from error
    if not all(isinstance(number, int) and 0 < number < ATTEMPT_FINAL for number in order.attempts):
        raise exception.Invalid(reason="attempt numbers start at 1")


def _tickets(order: ZoneOrder) -> Sequence[PlainTicket | None]:
    return order.image_tickets or [None] * len(order.instances)


def _new_ones(session: Session, order: ZoneOrder, parent: str) -> list[_OrderedInstance]:
    """Return the instances that are new here. Raises StaleZoneAttempt for an outdated attempt."""
    instances = [_instance(primitive) for primitive in order.instances]
    known = zone_attempts.list_delegated(session, [one.uuid for one in instances], parent)
    taken = zone_attempts.used_local_uuids(session, [one.uuid for one in instances])
    new = []
    given = zip(instances, order.host_ids, order.attempts, _tickets(order), strict=True)
    for instance, host_id, attempt, ticket in given:
        found = known.get(instance.uuid, [])
        if any(delegated.attempt == attempt and not delegated.is_cancelled for delegated in found):
            continue
        _refuse_late(instance.uuid, attempt, found)
        local_uuid = instance.uuid
        if local_uuid in taken:
            local_uuid = _other_name(instance.uuid, attempt, parent)
        new.append(
            _OrderedInstance(
                instance.uuid,
                local_uuid,
                attempt,
                instance.with_values(uuid=local_uuid),
                _spec(order.request_spec, local_uuid, host_id),
                ticket,
            )
        )
    return new


def _other_name(instance_uuid: str, attempt: int, parent: str) -> str:
    """Return a derived UUID with the same prefix, so that both sort together."""
    digits = uuid.uuid5(uuid.UUID(instance_uuid), f"{attempt} {parent}").hex[-12:]
    return f"{instance_uuid[:24]}{digits}"


def _refuse_late(instance_uuid: str, attempt: int, found: Sequence[DelegatedAttempt]) -> None:
    newest = found[-1].attempt if found else 0
    if attempt <= newest:
        raise exception.StaleZoneAttempt(
            attempt=attempt,
            instance_uuid=instance_uuid,
            reason=f"attempt {newest} has already been received or cancelled here",
        )


def _instance(primitive: Any) -> Instance:
    """Return an instance as if just accepted. Raises Invalid for anything else."""
    try:
        instance: Instance = Instance.obj_from_primitive(primitive)
        uuid.UUID(instance.uuid)
        return instance.with_values(
            host=None, node=None, cell_uuid=None, fault=None, zone=None, attempt=0,
            vm_state="building", task_state="scheduling", power_state=None, launched_at=None,
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise exception.Invalid(reason="the order contains an invalid instance") from error


def _spec(asked: RequestSpec, local_uuid: str, host_id: str) -> RequestSpec:
    """Return the spec for one instance on its chosen host; all requirements are checked again."""
    return asked.with_values(
        instance_uuid=local_uuid,
        num_instances=1,
        force_hosts=[],
        force_nodes=[],
        requested_destination=Destination.from_values(node_uuid=host_id, own_zone_only=True),
    )


def _build_request(ordered: _OrderedInstance, lease: Lease, now: datetime) -> NewBuildRequest:
    instance = ordered.instance
    primitive = instance.obj_to_primitive()
    assert primitive[ArmillaryObject.primitive_key("data")]["uuid"] == ordered.local_uuid
    return NewBuildRequest(
        instance_uuid=ordered.local_uuid,
        reservation_id=lease.key,
        project_id=instance.project_id,
        name=instance.name,
        launch_index=instance.launch_index or 0,
        instance=primitive,
        created_at=instance.created_at or now,
    )


def _delegated(
    ordered: _OrderedInstance, origin: str, parent: str, now: datetime
) -> DelegatedAttempt:
    return DelegatedAttempt(
        ordered.instance_uuid, ordered.attempt, ordered.local_uuid, origin,
        is_cancelled=False, created_at=now, parent=parent, image_ticket=ordered.image_ticket,
    )  # fmt: skip


def _reservation_id() -> str:
    return f"z-{uuid.uuid4().hex[:20]}"
