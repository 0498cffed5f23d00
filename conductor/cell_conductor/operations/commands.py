"""Commands to agents: an operation's stage, with the instance as its host must see it."""

import dataclasses
from collections.abc import Mapping

from conductor.cell_conductor.builds.build_commands import take_claimed
from conductor.cell_conductor.operations.flow import AgentStage, Arguments, Side
from conductor.common.cell_db import instances, models
from conductor.common.cell_db.flow_states import End, Move
from objects.instance import Instance
from objects.instances.instance_command import InstanceCommand
from objects.request_spec import RequestSpec


def host_of(
    instance: models.Instance, operation: models.InstanceOperation, stage: AgentStage
) -> str | None:
    return host_at(instance, operation, stage.at)


def host_at(
    instance: models.Instance, operation: models.InstanceOperation, side: Side
) -> str | None:
    if side is Side.HERE:
        return instance.host
    return Move.of(operation).end(side).host


def cell_at(operation: models.InstanceOperation, side: Side) -> str | None:
    """Return the cell of the host on one side if it is not this cell."""
    return None if side is Side.HERE else Move.of(operation).other_cell(side)


def make(
    instance: models.Instance,
    operation: models.InstanceOperation,
    stage: AgentStage,
    *,
    cell_uuid: str | None,
) -> InstanceCommand:
    seen = instances.to_object(instance, cell_uuid=cell_uuid)
    host = host_of(instance, operation, stage)
    assert host is not None, "an agent stage has a host"
    return InstanceCommand.from_values(
        instance=seen if stage.at is Side.HERE else _at_end(seen, Move.of(operation).end(stage.at)),
        host=host,
        operation=operation.operation,
        verb=stage.verb.value,
        sequence=operation.sequence,
        arguments=_plain(stage.arguments(operation)),
        request_spec=_spec(Move.of(operation)) if stage.needs_spec else None,
    )


def _plain(arguments: Arguments) -> Mapping[str, object]:
    values = {each.name: getattr(arguments, each.name) for each in dataclasses.fields(arguments)}
    return {name: value for name, value in values.items() if value is not None}


def _at_end(instance: Instance, end: End) -> Instance:
    """Return the instance as it is at one end of a move, with its flavor there."""
    made: Instance = instance.with_values(
        host=end.host,
        node=end.node,
        attempt=end.attempt,
        cell_uuid=end.cell_uuid or instance.cell_uuid,
    )
    if end.flavor is not None:
        made.flavor = end.flavor.load()
    return made


def _spec(move: Move) -> RequestSpec | None:
    if move.request_spec is None:
        return None
    spec = move.request_spec.load()
    if move.selections:
        take_claimed(spec, move.selection)
    return spec
