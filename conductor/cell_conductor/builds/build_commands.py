"""Build commands for agents, batched per agent."""

import dataclasses
import logging
from collections.abc import Sequence

from armillary.context import RequestContext, log_context
from compute_agent.interface import ComputeAPI
from objects.instance import Instance
from objects.pci import pci_claimed
from objects.pci.pci import PciRequest
from objects.request_spec import RequestSpec, SchedulerRetries
from objects.selection import Selection

LOG = logging.getLogger(__name__)

MESSAGE_SIZE_MAX = 100
"""Maximum number of builds in one message."""


@dataclasses.dataclass(frozen=True, slots=True)
class BuildCommand:
    """A build for one agent."""

    agent: str
    instance: Instance
    request_spec: RequestSpec


def send(context: RequestContext, compute: ComputeAPI, commands: Sequence[BuildCommand]) -> None:
    """Send builds to agents; an agent that gets one twice builds it once.

    Raises Unavailable or RpcFailed after sending some but not all.
    """
    for agent, theirs in _by_agent(commands).items():
        for start in range(0, len(theirs), MESSAGE_SIZE_MAX):
            _send(context, compute, agent, theirs[start : start + MESSAGE_SIZE_MAX])


def _send(
    context: RequestContext, compute: ComputeAPI, agent: str, commands: Sequence[BuildCommand]
) -> None:
    instances = [command.instance for command in commands]
    if len(instances) == 1:
        context = context.for_instance(instances[0].uuid)
    with log_context(context):
        for instance in instances:
            LOG.info("%s: attempt %d on %s", instance.uuid, instance.attempt, instance.host)
        specs = [command.request_spec for command in commands]
        compute.build_instances(context, agent, instances, specs)


def for_host(spec: RequestSpec, tried: Sequence[Selection], *, attempt: int) -> RequestSpec:
    """Adapt a request spec in place to the host of the current attempt, the last one tried."""
    take_claimed(spec, tried[-1])
    spec.retry = SchedulerRetries.from_values(
        num_attempts=attempt, hosts=[[each.service_host, each.nodename] for each in tried]
    )
    return spec


def take_claimed(spec: RequestSpec, chosen: Selection) -> None:
    """Give a request spec the limits of a selected host, and the devices claimed there."""
    spec.limits = chosen.limits
    requests = [PciRequest.from_plain(each) for each in spec.pci_requests]
    claimed = pci_claimed.with_providers(requests, chosen.allocation_request)
    spec.pci_requests = [each.to_plain() for each in claimed]


def _by_agent(commands: Sequence[BuildCommand]) -> dict[str, list[BuildCommand]]:
    groups: dict[str, list[BuildCommand]] = {}
    for command in commands:
        groups.setdefault(command.agent, []).append(command)
    return groups
