"""Operations as flows: stages, the transitions between them, and how a flow begins and ends.

An agent stage is a command that a host answers. The conductor's own stages call placement or
another cell. A super conductor stage waits until the super conductor continues. Each may run twice.
A flow that cannot be completed goes through stages that undo its work, and ends undone.
"""

import dataclasses
import enum
from collections.abc import Callable, Mapping
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_conductor.operations.fencing import Fencing
from conductor.cell_conductor.operations.other_cells import OtherCells
from conductor.cell_conductor.operations.rows import Rows
from conductor.cell_conductor.operations.snapshots import Snapshots
from conductor.common.cell_db import models
from objects.instances import operation_rules
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.operation_arguments import CellOperation
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


@dataclasses.dataclass(frozen=True, slots=True)
class OwnWork:
    """What an own stage works on, and the services that it calls."""

    context: RequestContext
    instance: models.Instance
    operation: models.InstanceOperation
    placement: PlacementAPI
    others: OtherCells
    snapshots: Snapshots
    fencing: Fencing


@dataclasses.dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments of a command besides its verb; those that are None are not sent.

    ``is_on``: whether the guest is to run. ``migration_payload``, ``source`` and ``destination``
    are a driver's, as another host's driver answered them. ``image`` is a versioned object.
    ``former_host`` is down, and its guest is to be built again. ``is_aborted``: the user has
    aborted it already; ``is_forced``: an administrator has it completed immediately.
    ``is_rebuilt``: the ``former_host`` was to replace the guest, or had begun to.
    """

    is_on: bool | None = None
    is_hard: bool | None = None
    migration_payload: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None
    destination: Mapping[str, Any] | None = None
    image: Mapping[str, Any] | None = None
    former_host: str | None = None
    is_aborted: bool | None = None
    is_forced: bool | None = None
    is_rebuilt: bool | None = None


def nothing(_rows: Rows) -> None:
    """Change nothing."""


def ignore_answer(_rows: Rows, _answer: CommandAnswer) -> None:
    """Ignore an answer."""


def replaces_nothing(_instance: models.Instance, _arguments: CellOperation) -> bool:
    """Return False: begin only when no other operation is running."""
    return False


def no_arguments(_operation: models.InstanceOperation) -> Arguments:
    """Send no arguments besides the verb."""
    return Arguments()


@dataclasses.dataclass(frozen=True)
class AgentStage:
    """A command to a host's agent, and the stages that may follow.

    ``then`` follows success, ``undo`` failure; without an ``undo``, a command that failed is sent
    again; if ``given_up`` says what follows, at most ``TRIES_MAX`` times and not once the guest is
    lost. ``down`` follows if the host is down: by default ``undo``, or a wait for the host if there
    is none or ``is_awaited``. ``given_up_host`` replaces that wait if the host is down for certain:
    an operator has forced it down, or has deleted its service. ``away`` replaces ``then`` if the
    host is in another cell. ``on_enter`` and ``done`` write in the transactions that store the
    command and its answer.
    """

    verb: Verb
    at: Side
    then: str
    undo: str | None = None
    given_up: str | None = None
    down: str | None = None
    given_up_host: str | None = None
    is_awaited: bool = False
    away: str | None = None
    arguments: Callable[[models.InstanceOperation], Arguments] = no_arguments
    needs_spec: bool = False
    is_abortable: bool = False
    on_enter: Callable[[Rows], None] = nothing
    done: Callable[[Rows, CommandAnswer], None] = ignore_answer

    @property
    def without_host(self) -> str | None:
        """The stage that follows if the host is down; None: wait for it."""
        return self.down or (None if self.is_awaited else self.undo)


@dataclasses.dataclass(frozen=True)
class OwnStage:
    """A stage that the conductor performs itself; ``do`` returns the stage that follows.

    ``do`` may call other services and writes nothing here. ``done`` is given the next stage and
    writes in the transaction that stores it. ``leads_to`` lists all stages that may follow.
    """

    do: Callable[[OwnWork], str]
    leads_to: tuple[str, ...]
    on_enter: Callable[[Rows], None] = nothing
    done: Callable[[Rows, str], None] = lambda _rows, _next: None


@dataclasses.dataclass(frozen=True)
class SuperStage:
    """A wait for the super conductor, which continues with ``then`` or ``undo``."""

    then: str
    undo: str
    on_enter: Callable[[Rows], None] = nothing


Stage = AgentStage | OwnStage | SuperStage


@dataclasses.dataclass(frozen=True)
class Flow:
    """An operation.

    ``check`` raises Conflict or Invalid if the instance's state does not allow it. ``begin`` takes
    the arguments of the request. ``end`` and ``undo`` leave the instance with no task running.
    ``needs`` is the host that must be up at the start; None: no host needs to be. ``replaces``
    returns whether it may take the place of the instance's running operation; this has to be a
    single command, whose late answer is ignored. With ``only_interrupts`` that operation is part of
    this one: it ends with it, and continues if this one fails.
    """

    operation: str
    task_state: str
    vm_states: tuple[str, ...]
    first: str
    stages: Mapping[str, Stage]
    begin: Callable[[Rows, CellOperation], None]
    end: Callable[[Rows], None]
    undo: Callable[[Rows], None]
    needs: Side | None = Side.HERE
    replaces: Callable[[models.Instance, CellOperation], bool] = replaces_nothing
    only_interrupts: bool = False

    def __post_init__(self) -> None:
        known = {*self.stages, DONE, UNDONE}
        for name, stage in self.stages.items():
            if unknown := _leads_to(stage) - known:
                raise ValueError(f"{self.operation}.{name} leads to {', '.join(sorted(unknown))}")

    def check(self, instance: models.Instance) -> None:
        """Raise InstanceInvalidState unless the operation may begin."""
        operation_rules.check_state(instance, self.operation, self.vm_states)
        if instance.host is None and instance.vm_state == "error":
            raise self.refusal(instance, "it is on no host")  # its build failed on every host

    def refusal(self, instance: models.Instance, reason: str) -> exception.InstanceInvalidState:
        """Return the error of an operation that the instance's state does not allow."""
        return operation_rules.refusal(instance, self.operation, reason)


def _leads_to(stage: Stage) -> set[str]:
    if isinstance(stage, OwnStage):
        return set(stage.leads_to)
    if isinstance(stage, SuperStage):
        return {stage.then, stage.undo}
    following = {
        stage.then, stage.undo, stage.given_up, stage.down, stage.given_up_host, stage.away,
    }  # fmt: skip
    return {name for name in following if name is not None}


def ignore_arguments(_rows: Rows, _arguments: CellOperation) -> None:
    """Begin without using the arguments."""
