"""Remotable methods, run next to the database, and backports of objects for older peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.cell_db import instances, services
from conductor.common.clock import Clock, moment
from objects.base import ArmillaryObject, Binding
from objects.instance import Instance

_SAVED_TASK_STATES = (None, "spawning")
_SAVED_POWER_STATES = (None, "running", "shutdown")


class InstanceStore:
    """Database access of an instance's remotable methods, on behalf of one agent."""

    def __init__(
        self, *, database: Database, agent: str, cell_uuid: str | None, now: Clock
    ) -> None:
        self._database = database
        self._agent = agent
        self._cell_uuid = cell_uuid
        self._now = now

    def get_instance(self, context: RequestContext, instance_uuid: str) -> Instance:
        """Return the current instance. Raises InstanceNotFound; Forbidden for another agent's."""
        with self._database.reader() as session:
            current = instances.get(session, instance_uuid, cell_uuid=self._cell_uuid)
            self._check_owner(session, current.uuid, current.host)
        return current

    def save_instance(self, context: RequestContext, instance: Instance) -> None:
        """Write the changed fields of an instance.

        Raises Invalid for a field that a host may not write, Forbidden for another agent's
        instance, Conflict when the instance is at another attempt or being deleted,
        InstanceNotFound.
        """
        changed = instance.obj_get_changes()
        _check_changes(changed)

        def write(session: Session) -> None:
            row = instances.lock(session, instance.uuid)
            if row is None or row.deleted_at is not None:
                raise exception.InstanceNotFound(instance_uuid=instance.uuid)
            if (row.host, row.attempt) != (instance.host, instance.attempt):
                raise exception.Conflict(
                    reason=f"instance {instance.uuid} is at attempt {row.attempt}, "
                    f"not at attempt {instance.attempt} on {instance.host}"
                )
            self._check_owner(session, row.uuid, row.host)
            if row.task_state == "deleting":
                raise exception.Conflict(reason=f"instance {instance.uuid} is being deleted")
            for name, value in changed.items():
                setattr(row, name, value)
            row.updated_at = moment(self._now())

        self._database.run_in_writer(write)

    def _check_owner(self, session: Session, instance_uuid: str, host: str | None) -> None:
        if host is None or not services.belongs_to_agent(session, host, self._agent):
            raise exception.Forbidden(
                reason=f"instance {instance_uuid} is not on a host of agent {self._agent}"
            )


class ObjectActions:
    """Runs remotable methods for agents, and backports objects for any peer."""

    def __init__(self, *, database: Database, cell_uuid: str | None, now: Clock) -> None:
        self._database = database
        self._cell_uuid = cell_uuid
        self._now = now

    def run(
        self,
        context: RequestContext,
        agent: str,
        target: Any,
        method: str,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
    ) -> tuple[dict[str, Any], Any]:
        """Run a remotable method of an instance; return the changed fields and the result.

        Raises Invalid for any other object or method, and what the method raises.
        """
        if not isinstance(target, Instance):
            raise exception.Invalid(reason=f"{type(target).__name__} has no remotable methods here")
        if not getattr(getattr(type(target), method, None), "remotable", False):
            raise exception.Invalid(reason=f"{target.obj_name()} has no remotable method {method}")
        store = InstanceStore(
            database=self._database, agent=agent, cell_uuid=self._cell_uuid, now=self._now
        )
        before = target.obj_clone()
        target.bind(Binding(store=store))
        target._context = context
        result = getattr(target, method)(*args, **kwargs)
        return _updates(before, target), result

    def backport(self, target: Any, versions: Mapping[str, str]) -> dict[str, Any]:
        """Return an object's wire form in the versions that a peer knows. Raises Invalid."""
        if not isinstance(target, ArmillaryObject):
            raise exception.Invalid(reason=f"{type(target).__name__} is not a versioned object")
        wanted = versions.get(target.obj_name())
        if wanted is None:
            raise exception.Invalid(reason=f"no target version of {target.obj_name()} was given")
        primitive: dict[str, Any] = target.obj_to_primitive(
            target_version=wanted, version_manifest=dict(versions)
        )
        return primitive


def _check_changes(changed: Mapping[str, Any]) -> None:
    refused = sorted(set(changed) - Instance.SAVEABLE)
    if refused:
        raise exception.Invalid(
            reason=f"a host may write {', '.join(sorted(Instance.SAVEABLE))} of an instance, "
            f"not {', '.join(refused)}"
        )
    if changed.get("task_state") not in _SAVED_TASK_STATES:
        raise exception.Invalid(reason=f"a host may not set task_state {changed['task_state']}")
    if changed.get("power_state") not in _SAVED_POWER_STATES:
        raise exception.Invalid(reason=f"unknown power_state {changed['power_state']}")


def _updates(before: ArmillaryObject, after: ArmillaryObject) -> dict[str, Any]:
    """Return the changed fields in wire form, as the remote caller applies them."""
    updates: dict[str, Any] = {}
    for name, field in after.fields.items():
        if not after.obj_attr_is_set(name):
            continue
        value = getattr(after, name)
        if not before.obj_attr_is_set(name) or getattr(before, name) != value:
            updates[name] = field.to_primitive(after, name, value)
    updates["obj_what_changed"] = sorted(after.obj_what_changed())
    return updates
