"""What waits for the super conductor, and whether that still seeks hosts for it."""

from __future__ import annotations

import logging
from collections.abc import Collection

from armillary import exception
from armillary.context import RequestContext
from conductor.rpcapi import SuperConductorAPI
from objects.instance_fault import InstanceFault

LOG = logging.getLogger(__name__)

ASKED_MAX = 1000
"""So many moves are asked after in one call."""


def sought(
    top: SuperConductorAPI, context: RequestContext, migration_uuids: Collection[str]
) -> set[str]:
    """Return those of these moves that hosts are sought for; all if that cannot be asked.

    A wish that was taken back, as this cell had refused it, may be delivered once more and fit
    then: nobody would ever go on with it. Raises what a call does that is not answered.
    """
    uuids = sorted(migration_uuids)
    parts = [uuids[start : start + ASKED_MAX] for start in range(0, len(uuids), ASKED_MAX)]
    try:
        return {uuid for part in parts for uuid in top.list_moves(context, part)}
    except exception.RpcVersionTooOld as error:
        LOG.debug("%d moves were not asked after: %s", len(migration_uuids), error)
        return set(migration_uuids)


def taken_back(instance_uuid: str) -> InstanceFault:
    """Return why a move ends for which nobody seeks hosts."""
    return InstanceFault.from_values(
        instance_uuid=instance_uuid,
        message="The operation was taken back.",
        details="no super conductor seeks hosts for it: it was refused, and came once more",
    )
