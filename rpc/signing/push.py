"""Distribution of trust lists by fanout to the servers of some topics."""

from __future__ import annotations

from collections.abc import Sequence

import oslo_messaging

from armillary import exception
from armillary.context import admin_context
from rpc.signing.trust import AGENTS
from rpc.transport import Bus

TOP_TOPICS = ("conductor", "scheduler", "placement", "api", "host_states")
"""Topics on the top broker; ``host_states`` reaches the conductors of all cells."""

CELL_TOPICS = ("compute",)

_HEARS_AGENTS = frozenset({"conductor", "host_states"})
"""Topics whose servers need the agents' list, to verify with it or to pass it on."""


class TrustPush:
    """Pushes this process's lists to all servers of some topics of one bus."""

    def __init__(self, bus: Bus, topics: Sequence[str]) -> None:
        self._trusted = bus.post.trusted if bus.post is not None else []
        self._clients = {topic: bus.client(topic, version="1.1") for topic in topics}

    def push(self) -> None:
        """Cast each list to the servers that need it; a list that they have is ignored.

        Raises RpcUnavailable if the broker is unavailable.
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
