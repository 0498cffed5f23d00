"""Trust lists on their way: from whoever may have a newer one to everybody who serves a topic."""

from __future__ import annotations

from collections.abc import Sequence

import oslo_messaging

from armillary import exception
from armillary.context import admin_context
from rpc.signing.trust import AGENTS
from rpc.transport import Bus

TOP_TOPICS = ("conductor", "scheduler", "placement", "api", "host_states")
"""Who listens on the top broker; with ``host_states`` these are the conductors of all cells."""

CELL_TOPICS = ("compute",)

_HEARS_AGENTS = frozenset({"conductor", "host_states"})
"""Topics whose servers need the list of the agents, to check it or to hand it on."""


class TrustPush:
    """Pushes the lists of this process to all servers of some topics of one bus."""

    def __init__(self, bus: Bus, topics: Sequence[str]) -> None:
        self._trusted = bus.post.trusted if bus.post is not None else []
        self._clients = {topic: bus.client(topic, version="1.1") for topic in topics}

    def push(self) -> None:
        """Cast each list to whoever needs it; who has it already changes nothing.

        Raises RpcUnavailable when the broker is away.
        """
        for trusted in self._trusted:
            trusted.current()
            for topic in self._clients:
                if trusted.kind != AGENTS or topic in _HEARS_AGENTS:
                    self._cast(topic, trusted.kind, trusted.document)

    def _cast(self, topic: str, kind: str, document: str) -> None:
        prepared = self._clients[topic].prepare(namespace="baseapi", version="1.1", fanout=True)
        try:
            prepared.cast(admin_context(), "update_trust", kind=kind, document=document)
        except oslo_messaging.MessageDeliveryFailure as error:
            raise exception.RpcUnavailable(
                method="update_trust", topic=topic, reason=type(error).__name__
            ) from error
