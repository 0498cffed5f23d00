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
        if len(theirs) > 1:
            _send_together(context, compute, agent, theirs)
        else:
            _send_alone(context, compute, theirs[0])


def _send_together(
    context: RequestContext, compute: ComputeAPI, agent: str, commands: Sequence[BuildCommand]
) -> None:
    for start in range(0, len(commands), MESSAGE_SIZE_MAX):
        part = commands[start : start + MESSAGE_SIZE_MAX]
        LOG.info("Sending %d builds to agent %s: %s", len(part), agent, _names(part))
        instances = [command.instance for command in part]
        specs = [command.request_spec for command in part]
        compute.build_instances(context, agent, instances, specs)


def _send_alone(context: RequestContext, compute: ComputeAPI, command: BuildCommand) -> None:
    instance = command.instance
    own = context.for_instance(instance.uuid)
    with log_context(own):
        LOG.info("%s: attempt %d on %s", instance.uuid, instance.attempt, instance.host)
        compute.build_instance(own, command.agent, instance, command.request_spec)


def for_host(spec: RequestSpec, tried: Sequence[Selection], *, attempt: int) -> RequestSpec:
    """Adapt a request spec in place to the host of the current attempt, the last one tried."""
    chosen = tried[-1]
    spec.limits = chosen.limits
    requests = [PciRequest.from_plain(each) for each in spec.pci_requests]
    claimed = pci_claimed.with_providers(requests, chosen.allocation_request)
    spec.pci_requests = [each.to_plain() for each in claimed]
    spec.retry = SchedulerRetries.from_values(
        num_attempts=attempt, hosts=[each.service_host for each in tried]
    )
    return spec


def _by_agent(commands: Sequence[BuildCommand]) -> dict[str, list[BuildCommand]]:
    groups: dict[str, list[BuildCommand]] = {}
    for command in commands:
        groups.setdefault(command.agent, []).append(command)
    return groups


def _names(commands: Sequence[BuildCommand]) -> str:
    return ", ".join(
        f"{command.instance.uuid} (attempt {command.instance.attempt} on {command.instance.host})"
        for command in commands
    )
