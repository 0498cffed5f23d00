"""Checks whether the super conductor still looks for hosts for the operations that wait."""

from __future__ import annotations

from collections.abc import Collection

from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI
from objects.instance_fault import InstanceFault

ASKED_MAX = 1000
"""Maximum number of moves asked about in one call."""


def known_moves(
    top: SuperConductorAPI, context: RequestContext, migration_uuids: Collection[str]
) -> set[str]:
    """Return those of these moves that the super conductor still works on.

    A request that this cell refused, and that was then
    withdrawn, may be delivered again and be accepted; nothing would ever continue it. Raises what
    an unanswered call raises.
    """
    uuids = sorted(migration_uuids)
    parts = [uuids[start : start + ASKED_MAX] for start in range(0, len(uuids), ASKED_MAX)]
    return {uuid for part in parts for uuid in top.list_moves(context, part)}


def withdrawn_fault(instance_uuid: str) -> InstanceFault:
    """Return the fault of a move that no super conductor works on."""
    return InstanceFault.from_values(
        instance_uuid=instance_uuid,
        message="The operation was withdrawn.",
        details="no super conductor knows the move: it was refused, then delivered again",
    )
