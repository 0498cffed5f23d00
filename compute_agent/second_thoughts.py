"""Ask before acting on what the conductor may have given up meanwhile."""

from __future__ import annotations

import logging

from armillary import exception
from armillary.context import RequestContext
from compute_agent.contact import Contact
from compute_agent.journal import Entry
from conductor.cell_rpcapi import CellConductorAPI
from objects.instance_order import InstanceOrder

LOG = logging.getLogger(__name__)

ASKED_SINCE = "1.3"
"""The version of the conductor's API that can be asked; an older one is believed."""


class SecondThoughts:
    """Says whether builds and orders of the journal are still wanted.

    Raises Unavailable, or RpcFailed, when the conductor has to be asked and does not answer: what
    is in the journal is taken up again later.
    """

    def __init__(self, contact: Contact, conductor: CellConductorAPI, agent: str) -> None:
        self._contact = contact
        self._conductor = conductor
        self._agent = agent

    def is_build_wanted(self, context: RequestContext, entry: Entry) -> bool:
        """Return whether an attempt is the current one, and is to be built."""
        if not self._has_to_ask():
            return True
        return self._conductor.is_build_wanted(
            context, self._agent, entry.host, entry.instance_uuid, entry.attempt
        )

    def is_order_wanted(self, context: RequestContext, order: InstanceOrder) -> bool:
        """Return whether an order's answer is waited for."""
        if not self._has_to_ask():
            return True
        return self._conductor.is_order_wanted(
            context, self._agent, order.host, order.instance.uuid, order.sequence
        )

    def _has_to_ask(self) -> bool:
        return self._contact.is_in_doubt() and self._conductor.can_send(ASKED_SINCE)


OUT_OF_REACH = (exception.Unavailable, exception.RpcFailed)
