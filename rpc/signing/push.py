"""Distribution of trust lists by fanout to the servers of some topics."""

import time
from collections.abc import Sequence

import oslo_messaging

from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from armillary.context import admin_context
from rpc.authority import BASE_NAMESPACE
from rpc.signing.trust import AGENTS
from rpc.transport import Bus

TOP_TOPICS = ("conductor", "scheduler", "placement", "api", "host_states")
"""Topics on the top broker; ``host_states`` reaches the conductors of all cells."""

CELL_TOPICS = ("compute",)

LOOK_SECONDS = 1.0
"""Polling interval for changed trust lists, in seconds."""

_HEARS_AGENTS = frozenset({"conductor", "host_states"})
"""Topics whose servers need the agents' list, to verify with it or to pass it on."""


class TrustPush:
    """Pushes this process's lists to all servers of some topics of one bus."""

    def __init__(self, bus: Bus, topics: Sequence[str], *, period_seconds: float) -> None:
        self._trusted = bus.message_signer.trusted if bus.message_signer is not None else []
        self._period_seconds = period_seconds
        self._all_at = float("-inf")
        self._pushed: dict[str, str] = {}
        self._clients = {topic: bus.client(topic, version="1.1") for topic in topics}

    def task(self) -> PeriodicTask:
        """Return the periodic task that pushes."""
        return PeriodicTask("push-trust", LOOK_SECONDS, self.push)

    def push(self) -> None:
        """Cast to the servers each list that changed since the last push, or all once a period.

        So a revoked key is refused everywhere within seconds, and a server that missed a list gets
        it later; one that it has is ignored. Raises RpcUnavailable if the broker is unavailable.
        """
        now = time.monotonic()
        are_all_due = now - self._all_at >= self._period_seconds
        for trusted in self._trusted:
            trusted.current()
            document = trusted.document
            if not are_all_due and self._pushed.get(trusted.kind) == document:
                continue
            for topic in self._clients:
                if trusted.kind != AGENTS or topic in _HEARS_AGENTS:
                    self._cast(topic, trusted.kind, document)
            self._pushed[trusted.kind] = document
        if are_all_due:
            self._all_at = now

    def _cast(self, topic: str, kind: str, document: str) -> None:
        prepared = self._clients[topic].prepare(
            namespace=BASE_NAMESPACE, version="1.1", fanout=True
        )
        try:
            prepared.cast(admin_context(), "update_trust", kind=kind, document=document)
        except oslo_messaging.MessageDeliveryFailure as error:
            raise exception.RpcUnavailable(
                method="update_trust", topic=topic, reason=type(error).__name__
            ) from error
