"""Orders to build, as they go to the agents: those for one agent together, if it can take that."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

from armillary import exception
from armillary.context import RequestContext
from compute_agent.rpcapi import ComputeAPI
from objects import pci_claimed
from objects.instance import Instance
from objects.request_spec import RequestSpec, SchedulerRetries
from objects.selection import Selection

LOG = logging.getLogger(__name__)

MESSAGE_SIZE_MAX = 100
"""Orders in one message."""


@dataclasses.dataclass(frozen=True, slots=True)
class BuildOrder:
    """What one agent is to build."""

    agent: str
    instance: Instance
    request_spec: RequestSpec


class BuildOrders:
    """Sends orders; an agent may get one twice, and then builds it once."""

    def __init__(self, compute: ComputeAPI) -> None:
        self._compute = compute

    def send(self, context: RequestContext, orders: Sequence[BuildOrder]) -> dict[str, str]:
        """Send orders; return instance -> why its agent, of an older release, cannot be asked.

        Raises Unavailable or RpcFailed: some are sent, some not.
        """
        refused: dict[str, str] = {}
        for agent, theirs in _by_agent(orders).items():
            if len(theirs) > 1 and self._compute.can_send_to(agent, "1.2"):
                self._send_together(context, agent, theirs)
            else:
                refused.update(self._send_alone(context, agent, theirs))
        return refused

    def _send_together(
        self, context: RequestContext, agent: str, orders: Sequence[BuildOrder]
    ) -> None:
        for start in range(0, len(orders), MESSAGE_SIZE_MAX):
            part = orders[start : start + MESSAGE_SIZE_MAX]
            LOG.info("%d builds are ordered from agent %s: %s", len(part), agent, _names(part))
            self._compute.build_instances(
                context,
                agent,
                [order.instance for order in part],
                [order.request_spec for order in part],
            )

    def _send_alone(
        self, context: RequestContext, agent: str, orders: Sequence[BuildOrder]
    ) -> dict[str, str]:
        refused = {}
        for order in orders:
            instance = order.instance
            LOG.info("%s: attempt %d on %s", instance.uuid, instance.attempt, instance.host)
            try:
                self._compute.build_instance(
                    context.for_instance(instance.uuid), agent, instance, order.request_spec
                )
            except exception.Invalid as error:
                refused[instance.uuid] = error.message
        return refused


def for_host(spec: RequestSpec, tried: Sequence[Selection], *, attempt: int) -> RequestSpec:
    """Change a request to what the host of its current attempt, the last one tried, has to see."""
    chosen = tried[-1]
    spec.limits = chosen.limits
    spec.pci_requests = pci_claimed.with_providers(spec.pci_requests, chosen.allocation_request)
    spec.retry = SchedulerRetries.from_values(
        num_attempts=attempt, hosts=[each.service_host for each in tried]
    )
    return spec


def _by_agent(orders: Sequence[BuildOrder]) -> dict[str, list[BuildOrder]]:
    groups: dict[str, list[BuildOrder]] = {}
    for order in orders:
        groups.setdefault(order.agent, []).append(order)
    return groups


def _names(orders: Sequence[BuildOrder]) -> str:
    return ", ".join(
        f"{order.instance.uuid} (attempt {order.instance.attempt} on {order.instance.host})"
        for order in orders
    )
