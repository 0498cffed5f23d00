"""An operation as a flow: its stages, where each leads, and how it begins and ends.

A stage of an agent is an order that its host answers; one of the conductor's own talks to
placement; one of the super conductor's waits until that goes on. Each may be done twice. A flow
that cannot be finished goes back by stages that take back, and ends undone.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_db import models
from conductor.cell_tasks.operations.other_cells import OtherCells
from conductor.cell_tasks.operations.rows import Rows
from objects.instance_order import Verb
from placement.rpcapi import PlacementAPI

DONE = "done"
UNDONE = "undone"

TRIES_MAX = 6
"""So often is tried what has something in its place; the pauses between grow."""


class Side(enum.StrEnum):
    """Which host is told."""

    HERE = "here"
    """That of the instance."""
    SOURCE = "source"
    DESTINATION = "destination"


@dataclasses.dataclass(frozen=True)
class Parts:
    """What stages of the conductor's own work with."""

    conf: cfg.ConfigOpts
    placement: PlacementAPI
    others: OtherCells


Facts = Mapping[str, Any]
Answer = Mapping[str, Any]


def nothing(_rows: Rows) -> None:
    """Change nothing."""


def note_nothing(_rows: Rows, _answer: Answer) -> None:
    """Take nothing from an answer."""


def no_arguments(_facts: Facts) -> dict[str, Any]:
    """Tell an agent nothing more than the verb."""
    return {}


@dataclasses.dataclass(frozen=True)
class AgentStage:
    """An order to the agent of a host, and where it leads.

    ``failed`` follows when the host could not; the stage itself means to try it again. Then
    ``given_up`` follows once that was so ``TRIES_MAX`` times; None: it is tried for ever. ``down``
    follows when the host is down; None: it is waited for. ``away`` follows instead of ``then`` when
    the host is in another cell. ``begun`` and ``done`` write in the transactions that store the
    order and take its answer.
    """

    verb: Verb
    at: Side
    then: str
    failed: str
    given_up: str | None = None
    down: str | None = None
    away: str | None = None
    arguments: Callable[[Facts], dict[str, Any]] = no_arguments
    needs_spec: bool = False
    is_abortable: bool = False
    begun: Callable[[Rows], None] = nothing
    done: Callable[[Rows, Answer], None] = note_nothing


@dataclasses.dataclass(frozen=True)
class OwnStage:
    """Something that the conductor does itself; ``do`` returns the stage that follows.

    ``do`` may talk to others and writes nothing here; ``done``, in the transaction that stores what
    follows, is given that. ``leads_to`` are all that may follow.
    """

    do: Callable[[Parts, RequestContext, models.Instance, models.InstanceOperation], str]
    leads_to: tuple[str, ...]
    begun: Callable[[Rows], None] = nothing
    done: Callable[[Rows, str], None] = lambda _rows, _next: None


@dataclasses.dataclass(frozen=True)
class SuperStage:
    """Wait for the super conductor, which goes on with ``then``, or with ``failed``."""

    then: str
    failed: str
    begun: Callable[[Rows], None] = nothing


Stage = AgentStage | OwnStage | SuperStage


@dataclasses.dataclass(frozen=True)
class Flow:
    """An operation.

    ``check`` raises Conflict, or Invalid, when the instance is in no state for it. ``begin`` takes
    the arguments that it was asked with. ``end`` and ``undo`` leave the instance at rest. ``needs``
    is the host that has to be up when it begins; None: it gets along without any.
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
                reason=f"it is {instance.vm_state}, and has to be {' or '.join(self.vm_states)}",
            )
        if instance.host is None and instance.vm_state == "error":
            raise exception.InstanceInvalidState(  # its build failed everywhere: nobody to tell
                instance_uuid=instance.uuid, operation=self.operation, reason="it is on no host"
            )


def _leads_to(stage: Stage) -> tuple[str, ...]:
    if isinstance(stage, OwnStage):
        return stage.leads_to
    if isinstance(stage, SuperStage):
        return stage.then, stage.failed
    others = (stage.given_up, stage.down, stage.away)
    return stage.then, stage.failed, *(other for other in others if other is not None)


def take_nothing(_rows: Rows, _arguments: Mapping[str, Any]) -> None:
    """Begin without further ado."""
