"""Rules of operations on servers that the API and both conductors apply: locks and states."""

from collections.abc import Collection
from typing import Protocol

from armillary import exception
from armillary.context import RequestContext
from objects.instance import Instance

SNAPSHOT_STATES = ("active", "stopped", "paused", "suspended")
"""States of servers whose disks can be copied, for snapshots and backups."""

_SAID = {"error": "in error", "soft-delete": "soft-deleted", "shelved_offloaded": "offloaded"}
"""State -> what a server in it is."""


class HasState(Protocol):
    """An instance, as an object or as a row."""

    uuid: str
    vm_state: str
    task_state: str | None


def check_unlocked(context: RequestContext, server: Instance) -> None:
    """Raise InstanceLocked for a locked server; administrators may change it nevertheless."""
    if server.locked and not context.is_admin:
        raise exception.InstanceLocked(instance_uuid=server.uuid)


def check_state(instance: HasState, operation: str, vm_states: Collection[str]) -> None:
    """Raise InstanceInvalidState unless no other operation runs and the state is one of these."""
    if instance.task_state is not None:
        raise refusal(instance, operation, f"it is {instance.task_state}")
    if instance.vm_state not in vm_states:
        state, states = _said(instance.vm_state), " or ".join(map(_said, vm_states))
        raise refusal(instance, operation, f"it is {state}, and must be {states}")


def refusal(instance: HasState, operation: str, reason: str) -> exception.InstanceInvalidState:
    """Return the error of an operation that the instance's state does not allow."""
    # users ask for an unshelve, wherever it is
    asked = operation.removesuffix("_here").replace("_", " ")
    return exception.InstanceInvalidState(
        instance_uuid=instance.uuid, operation=asked, reason=reason
    )


def _said(vm_state: str) -> str:
    return _SAID.get(vm_state, vm_state)
