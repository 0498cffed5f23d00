"""Commands to agents: an operation's stage, with the instance as its host must see it."""

from __future__ import annotations

from conductor.cell_conductor.operations import rows as stored
from conductor.cell_conductor.operations.flow import AgentStage, MetadataPublisher, Side
from conductor.cell_conductor.operations.other_cells import cell_of
from conductor.common.cell_db import instances, models
from objects.flavor import Flavor
from objects.instance import Instance
from objects.instance_order import InstanceOrder
from objects.pci import pci_claimed
from objects.request_spec import RequestSpec


def host_of(
    instance: models.Instance, operation: models.InstanceOperation, stage: AgentStage
) -> str | None:
    """Return the host that a stage's command goes to."""
    return host_at(instance, operation, stage.at)


def host_at(
    instance: models.Instance, operation: models.InstanceOperation, side: Side
) -> str | None:
    """Return the host on one side of an operation."""
    if side is Side.HERE:
        return instance.host
    host: str | None = operation.facts[side]["host"]
    return host


def cell_at(operation: models.InstanceOperation, side: Side) -> str | None:
    """Return the cell of the host on one side if it is not this cell."""
    return None if side is Side.HERE else cell_of(operation.facts, side)


def make(
    instance: models.Instance,
    operation: models.InstanceOperation,
    stage: AgentStage,
    *,
    cell_uuid: str | None,
) -> InstanceOrder:
    """Return the command of an operation's current stage."""
    facts = operation.facts
    seen = instances.to_object(instance, cell_uuid=cell_uuid)
    host = host_of(instance, operation, stage)
    assert host is not None, "an agent stage has a host"
    return InstanceOrder.from_values(
        instance=seen if stage.at is Side.HERE else _on_side(seen, facts, stage.at),
        host=host,
        operation=operation.operation,
        verb=stage.verb.value,
        sequence=operation.sequence,
        arguments=stage.arguments(facts),
        request_spec=_spec(facts) if stage.needs_spec else None,
    )


def _on_side(instance: Instance, facts: MetadataPublisher, side: Side) -> Instance:
    """Return the instance as it is at one end of a move, with its flavor there."""
    there = facts[side]
    made: Instance = instance.with_values(
        host=there["host"],
        node=there["node"],
        attempt=there["attempt"],
        cell_uuid=there.get("cell_uuid") or instance.cell_uuid,
    )
    if there.get("flavor") is not None:
        made.flavor = Flavor.obj_from_primitive(there["flavor"])
    return made


def _spec(facts: MetadataPublisher) -> RequestSpec | None:
    """Return the request spec for the host being tried."""
    primitive = facts.get("request_spec")
    if primitive is None:
        return None
    spec: RequestSpec = RequestSpec.obj_from_primitive(primitive)
    if facts.get("selections"):
        chosen = stored.selection(facts)
        spec.limits = chosen.limits
        spec.pci_requests = pci_claimed.with_providers(spec.pci_requests, chosen.allocation_request)
    return spec
