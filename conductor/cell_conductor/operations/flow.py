"""Operations as flows: stages, the transitions between them, and how a flow begins and ends.

An agent stage is a command that a host answers. The conductor's own stages call placement or
another cell. A super conductor stage waits until the super conductor continues. Each may run twice.
A flow that cannot be completed goes through stages that undo its work, and ends undone.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_conductor.operations.other_cells import OtherCells
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import models
from objects.instances.instance_command import Verb
from placement.interface import PlacementAPI

DONE = "done"
UNDONE = "undone"

TRIES_MAX = 6
"""Maximum number of tries of a stage that has a fallback; they are tried with a backoff."""


class Side(enum.StrEnum):
    """The host that a command goes to."""

    HERE = "here"
    """The instance's host."""
    SOURCE = "source"
    DESTINATION = "destination"


@dataclasses.dataclass(frozen=True)
class StageDependencies:
    """Dependencies of the conductor's own stages."""

    conf: cfg.ConfigOpts
    placement: PlacementAPI
    others: OtherCells


Answer = Mapping[str, Any]


def nothing(_rows: Rows) -> None:
    """Change nothing."""


def ignore_answer(_rows: Rows, _answer: Answer) -> None:
    """Ignore an answer."""


def no_arguments(_operation: models.InstanceOperation) -> dict[str, Any]:
    """Send no arguments besides the verb."""
    return {}


@dataclasses.dataclass(frozen=True)
class AgentStage:
    """A command to a host's agent, and the stages that may follow.

    ``failed`` follows if the host failed; naming the stage itself means to retry. ``given_up``
    follows after ``TRIES_MAX`` failed tries; None: retry forever. ``down`` follows if the host is
    down; None: wait for it. ``away`` replaces ``then`` if the host is in another cell. ``on_enter``
    and ``done`` write in the transactions that store the command and its answer.
    """

    verb: Verb
    at: Side
    then: str
    failed: str
    given_up: str | None = None
    down: str | None = None
    away: str | None = None
    arguments: Callable[[models.InstanceOperation], dict[str, Any]] = no_arguments
    needs_spec: bool = False
    is_abortable: bool = False
    on_enter: Callable[[Rows], None] = nothing
    done: Callable[[Rows, Answer], None] = ignore_answer


@dataclasses.dataclass(frozen=True)
class OwnStage:
    """A stage that the conductor performs itself; ``do`` returns the stage that follows.

    ``do`` may call other services and writes nothing here. ``done`` is given the next stage and
    writes in the transaction that stores it. ``leads_to`` lists all stages that may follow.
    """

    do: Callable[
        [StageDependencies, RequestContext, models.Instance, models.InstanceOperation], str
    ]
    leads_to: tuple[str, ...]
    on_enter: Callable[[Rows], None] = nothing
    done: Callable[[Rows, str], None] = lambda _rows, _next: None


@dataclasses.dataclass(frozen=True)
class SuperStage:
    """A wait for the super conductor, which continues with ``then`` or ``failed``."""

    then: str
    failed: str
    on_enter: Callable[[Rows], None] = nothing


Stage = AgentStage | OwnStage | SuperStage


@dataclasses.dataclass(frozen=True)
class Flow:
    """An operation.

    ``check`` raises Conflict or Invalid if the instance's state does not allow it. ``begin`` takes
    the arguments of the request. ``end`` and ``undo`` leave the instance with no task running.
    ``needs`` is the host that must be up at the start; None: no host needs to be.
    """

    operation: str
    task_state: str
    vm_states: tuple[str, ...]
    first: str
    stages: Mapping[str, Stage]
    begin: Callable[[Rows, Mapping[str, Any]], None]
    end: Callable[[Rows], None]
    undo: Callable[[Rows], None]
    needs: Side | None = Side.HERE

    def __post_init__(self) -> None:
        known = {*self.stages, DONE, UNDONE}
        for name, stage in self.stages.items():
            if unknown := set(_leads_to(stage)) - known:
                raise ValueError(f"{self.operation}.{name} leads to {', '.join(sorted(unknown))}")

    def check(self, instance: models.Instance) -> None:
        """Raise InstanceInvalidState unless the operation may begin."""
        if instance.task_state is not None:
            raise exception.InstanceInvalidState(
                instance_uuid=instance.uuid,
                operation=self.operation,
                reason=f"it is {instance.task_state}",
            )
        if instance.vm_state not in self.vm_states:
            raise exception.InstanceInvalidState(
                instance_uuid=instance.uuid,
                operation=self.operation,
                reason=f"it is {instance.vm_state}, and must be {' or '.join(self.vm_states)}",
            )
        if instance.host is None and instance.vm_state == "error":
            raise exception.InstanceInvalidState(  # its build failed on every host
                instance_uuid=instance.uuid, operation=self.operation, reason="it is on no host"
            )


def _leads_to(stage: Stage) -> tuple[str, ...]:
    if isinstance(stage, OwnStage):
        return stage.leads_to
    if isinstance(stage, SuperStage):
        return stage.then, stage.failed
    others = (stage.given_up, stage.down, stage.away)
    return stage.then, stage.failed, *(other for other in others if other is not None)


def ignore_arguments(_rows: Rows, _arguments: Mapping[str, Any]) -> None:
    """Begin without using the arguments."""
