"""Staleness check: ask the conductor before executing commands that it may have given up."""

from __future__ import annotations

import logging

from armillary import exception
from armillary.context import RequestContext
from compute_agent.journal.journal import Entry
from compute_agent.reporting.conductor_lease import ConductorLease
from conductor.cell_conductor.interface import CellConductorAPI
from objects.instances.instance_command import InstanceCommand

LOG = logging.getLogger(__name__)


class StalenessCheck:
    """Checks whether builds and commands in the journal are still current.

    Raises Unavailable or RpcFailed if the conductor has to be asked and does not answer; the work
    is resumed later.
    """

    def __init__(self, contact: ConductorLease, conductor: CellConductorAPI, agent: str) -> None:
        self._contact = contact
        self._conductor = conductor
        self._agent = agent

    def is_build_wanted(self, context: RequestContext, entry: Entry) -> bool:
        """Return whether an attempt is current and still to be built."""
        if not self._contact.is_in_doubt():
            return True
        return self._conductor.is_build_wanted(
            context, self._agent, entry.host, entry.instance_uuid, entry.attempt
        )

    def is_command_wanted(self, context: RequestContext, command: InstanceCommand) -> bool:
        """Return whether the conductor still waits for a command's answer."""
        if not self._contact.is_in_doubt():
            return True
        return self._conductor.is_command_wanted(
            context, self._agent, command.host, command.instance.uuid, command.sequence
        )


OUT_OF_REACH = (exception.Unavailable, exception.RpcFailed)
