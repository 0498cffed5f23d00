"""Operations that were accepted while the server's cell or zone was silent, done when it is back.

So are soft deletes of servers that another operation is running on, done when that has ended.

The request is stored before it is answered. Recovery carries it out as if it had just arrived, with
the context of its request, so that the cell recognises a repeat. What the cell refuses by then is
recorded in the server's actions with the reason.
"""

from __future__ import annotations

import dataclasses
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlalchemy.orm import Session

from armillary import exception
from armillary.backoff import Backoff
from armillary.context import RequestContext
from conductor.common.clock import moment
from conductor.common.leased_work import LeasedWork, Release
from conductor.common.leases import Lease, Leases
from conductor.super_conductor.db import deferred_operations, instance_mappings, models
from conductor.super_conductor.db.deferred_operations import Deferred
from conductor.super_conductor.peers import Environment
from objects.instance import Instance
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_changes import ServerChanges

LOG = logging.getLogger(__name__)

DELETE, SOFT_DELETE = "delete", "soft_delete"
TASK_STATES: Mapping[str, str | None] = {
    DELETE: "deleting",
    "force_delete": "deleting",
    "stop": "powering-off",
    "start": "powering-on",
    "reboot": "rebooting",
    "pause": "pausing",
    "unpause": "unpausing",
    "suspend": "suspending",
    "resume": "resuming",
    "restore": "restoring",
    "shelve": "shelving",
    "shelve_offload": "shelving_offloading",
    "rescue": "rescuing",
    "unrescue": "unrescuing",
    "rebuild": "rebuilding",
    SOFT_DELETE: "soft-deleting",
    "unshelve": "unshelving",
    "resize": "resize_prep",
    "confirm_resize": "resize_confirming",
    "revert_resize": "resize_reverting",
    "lock": None,
    "unlock": None,
    "update": None,
}
"""Operation that can be deferred -> the task state that the server shows meanwhile.

Others depend on the server's present host or state: they may be wrong by the time they are done.
"""

_DELETES = (DELETE, "force_delete")
_REFUSALS = (exception.NotFound, exception.Conflict, exception.Forbidden, exception.Invalid,
             exception.NoValidHost)  # fmt: skip
_BACKOFF = Backoff(1.0, 15.0)
"""Backoff of an operation whose cell or zone is still silent."""
FAILURES_MAX = 10
"""Maximum number of unexpected errors of an operation in this process; then it is refused."""


class StillBusy(Exception):
    """Another operation is still running on the server."""


class Performer(Protocol):
    """Carries out deferred operations."""

    def perform(self, context: RequestContext, deferred: Deferred) -> None:
        """Carry out an operation. Raises Unavailable, StillBusy, or what refuses it."""

    def record_refusal(self, context: RequestContext, deferred: Deferred, reason: str) -> None:
        """Record in the server's actions why an accepted operation was refused."""


def may_be_deferred(operation: str) -> bool:
    """Return whether an operation is accepted while the server's cell or zone is silent."""
    return operation in TASK_STATES


def arguments_of(deferred: Deferred) -> OperationArguments:
    """Return the arguments as the user gave them."""
    given = dict(deferred.arguments)
    changes = given.pop("changes", None)
    return OperationArguments(**given, changes=changes and ServerChanges(**changes))


def not_deferrable(operation: str, error: exception.Unavailable) -> exception.Unavailable:
    """Return the error of an operation that is not kept for later, with what to do instead."""
    reason = (
        f"{error.kwargs.get('reason')}; {operation} depends on the server's present host or state "
        "and is not kept for later: ask again when the server's status is known again"
    )
    return type(error)(**{**error.kwargs, "reason": reason})


class DeferredOperations(LeasedWork):
    """The deferred operations, one for each server.

    ``performer`` is set once the parts that it needs are there.
    """

    performer: Performer

    def __init__(self, env: Environment, leases: Leases) -> None:
        super().__init__(env.database, leases)
        self._env = env
        self._failures = Counter[str]()

    def accept(
        self,
        context: RequestContext,
        instance_uuid: str,
        operation: str,
        arguments: OperationArguments,
        *,
        reason: str,
    ) -> None:
        """Store an operation, to be done when the server's cell or zone is back.

        A delete takes the place of one that waits. Raises InstanceInvalidState if another request's
        operation waits that this one may not replace, also if that was accepted a moment ago.
        """
        deferred = Deferred(
            instance_uuid, operation, _given(arguments), context, moment(self._env.now())
        )

        def store(session: Session) -> bool:
            present = deferred_operations.find(session, instance_uuid)
            if _is_same(deferred, present):
                return False
            deferred_operations.put(session, deferred)
            return True

        if not self._database.insert_in_writer(store):
            return
        LOG.info(
            "%s %s: %s accepted and deferred: %s",
            context.request_id, instance_uuid, operation, reason,
        )  # fmt: skip

    def is_accepted(self, context: RequestContext, instance_uuid: str, operation: str) -> bool:
        """Return whether this very request waits for the server's cell or zone.

        Raises InstanceInvalidState while another one does, which this one may not replace.
        """
        present = self._database.read(deferred_operations.find, instance_uuid)
        wanted = Deferred(instance_uuid, operation, {}, context, moment(self._env.now()))
        return _is_same(wanted, present)

    def resume(self, keys: Sequence[str]) -> list[Lease]:
        """Carry out free ones; of a place that is silent only the first is tried."""
        leases = self.take(keys, tries=models.DeferredOperation.tries + 1)
        with self._database.reader() as session:
            found = deferred_operations.find_all(session, [lease.key for lease in leases])
            mappings = instance_mappings.find_mappings(session, found)
        silent = set[tuple[str | None, str | None]]()
        for lease in leases:
            deferred = found.get(lease.key)
            mapping = mappings.get(lease.key)
            place = (None, None) if mapping is None else (mapping.cell_uuid, mapping.zone_path)
            if deferred is None:
                continue
            if place in silent or not self._perform(lease, deferred):
                silent.add(place)
                self.release([Release(lease, _BACKOFF.seconds(deferred.tries))])
        return leases

    def _perform(self, lease: Lease, deferred: Deferred) -> bool:
        """Carry out one operation, unless its server is busy; return False if it got no answer."""
        context, uuid = deferred.context, deferred.instance_uuid
        context.update_store()
        try:
            self._execute(context, deferred)
        except StillBusy:
            self.release([Release(lease, _BACKOFF.seconds(deferred.tries))])
            return True
        except exception.Unavailable as error:
            LOG.debug("%s: %s still waits: %s", uuid, deferred.operation, error)
            return False
        except Exception as error:
            if not self._is_hopeless(context, deferred, error):
                return False
        self._failures.pop(uuid, None)
        self._database.run_in_writer(deferred_operations.remove, uuid, owner=lease.owner)
        return True

    def _is_hopeless(self, context: RequestContext, deferred: Deferred, error: Exception) -> bool:
        """Return whether an operation that fails unexpectedly is not tried again, but refused."""
        uuid, operation = deferred.instance_uuid, deferred.operation
        self._failures[uuid] += 1
        if self._failures[uuid] < FAILURES_MAX:
            LOG.warning("%s: %s: outcome unknown, will retry: %s", uuid, operation, error)
            return False
        LOG.error("%s: %s failed %d times and is refused: %s", uuid, operation, FAILURES_MAX, error)
        reason = "it failed with an internal error each time it was tried"
        try:
            self.performer.record_refusal(context, deferred, reason)
        except Exception:
            LOG.exception("%s: the refusal of %s cannot be recorded", uuid, operation)
        return True

    def _execute(self, context: RequestContext, deferred: Deferred) -> None:
        uuid, operation = deferred.instance_uuid, deferred.operation
        try:
            self.performer.perform(context, deferred)
            LOG.info("%s: deferred %s passed on", uuid, operation)
        except exception.RpcVersionTooOld:
            raise
        except (exception.InstanceNotFound, exception.CellNotFound, exception.ZoneNotFound) as gone:
            log = LOG.info if operation in _DELETES else LOG.warning
            log("%s: deferred %s dropped: %s", uuid, operation, gone)
        except _REFUSALS as error:
            LOG.info("%s: deferred %s refused: %s", uuid, operation, error)
            self.performer.record_refusal(context, deferred, error.message)


def as_deferred(instance: Instance, deferred: Deferred | None) -> Instance:
    """Show the task state of an operation that waits for the server's cell or zone."""
    state = None if deferred is None else TASK_STATES.get(deferred.operation)
    if state is not None and (instance.task_state is None or state == "deleting"):
        instance.task_state = state
    return instance


def _given(arguments: OperationArguments) -> dict[str, object]:
    return {name: one for name, one in dataclasses.asdict(arguments).items() if one is not None}


def _is_same(wanted: Deferred, present: Deferred | None) -> bool:
    """Return whether the operation that waits is of the same request, or comes to the same.

    Raises InstanceInvalidState if it is of another, and may not be replaced.
    """
    if present is None:
        return False
    is_request = present.context.request_id == wanted.context.request_id
    is_operation = present.operation == wanted.operation
    if is_operation and (is_request or wanted.operation == SOFT_DELETE):
        return True
    is_its_delete = is_request and (wanted.operation, present.operation) == (SOFT_DELETE, DELETE)
    if is_its_delete or _may_replace(wanted.operation, present.operation):
        return False
    raise exception.InstanceInvalidState(
        instance_uuid=wanted.instance_uuid,
        operation=wanted.operation,
        reason=f"its {present.operation} waits until its cell or zone answers, or until what "
        "is being done to it has ended",
    )


def _may_replace(operation: str, present: str) -> bool:
    if operation == SOFT_DELETE:
        return present not in _DELETES
    return operation in _DELETES and (present not in _DELETES or operation == "force_delete")
