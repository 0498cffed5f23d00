"""Snapshot and backup: the host stores the data of an image, then its record becomes active."""

import dataclasses

from armillary import exception
from conductor.cell_conductor.operations.flow import (
    DONE,
    UNDONE,
    AgentStage,
    Arguments,
    Flow,
    OwnStage,
    OwnWork,
    Side,
)
from conductor.cell_conductor.operations.power import restore_unless_ended
from conductor.cell_conductor.operations.rows import Rows
from conductor.common.cell_db import models
from conductor.common.cell_db.flow_states import Snapshot
from conductor.common.cell_db.stored_object import StoredObject
from objects.images.image_meta import ImageMeta
from objects.images.image_record import StoredImage
from objects.instances.instance_command import CommandAnswer, Verb
from objects.instances.operation_arguments import CellOperation
from objects.instances.operation_rules import SNAPSHOT_STATES

STORE = "store"
PUBLISH = "publish"
DISCARD = "discard"


def set_image(rows: Rows, image: ImageMeta) -> None:
    """Store the record of the image that an operation makes."""
    state = dataclasses.replace(Snapshot.of(rows.operation), image=StoredObject.of(image))
    state.store(rows.operation)


def image_of(operation: models.InstanceOperation) -> ImageMeta:
    """Return the record of the image that an operation makes."""
    image = Snapshot.of(operation).image
    assert image is not None, "an operation without an image does not begin"
    return image.load()


def storing(*, then: str, undo: str, down: str | None = None) -> AgentStage:
    """Return the stage in which the host stores the data of the image."""
    return AgentStage(
        Verb.SNAPSHOT, Side.HERE, then=then, undo=undo, down=down,
        arguments=_image_arguments, done=_note_stored,
    )  # fmt: skip


def publish(work: OwnWork) -> bool:
    """Make the image active; return False if nothing was stored, or it was deleted meanwhile."""
    stored = Snapshot.of(work.operation).stored_image
    image = image_of(work.operation)
    return stored is not None and end_image(work, image, StoredImage(**stored))


def discard(work: OwnWork) -> None:
    """Delete the image."""
    end_image(work, image_of(work.operation), None)


def end_image(work: OwnWork, image: ImageMeta, stored: StoredImage | None) -> bool:
    """Make an image active with what was stored, or delete it; return whether it exists."""
    context = work.context.for_instance(work.instance.uuid)
    return work.snapshots.end(context, work.instance.uuid, image.id, stored)


def _take_image(rows: Rows, arguments: CellOperation) -> None:
    if arguments.image is None:
        raise exception.Invalid(reason="a snapshot needs the record of its image")
    set_image(rows, arguments.image)


def _image_arguments(operation: models.InstanceOperation) -> Arguments:
    image = Snapshot.of(operation).image
    return Arguments(image=None if image is None else image.primitive)


def _note_stored(rows: Rows, answer: CommandAnswer) -> None:
    state = dataclasses.replace(Snapshot.of(rows.operation), stored_image=answer.stored_image)
    state.store(rows.operation)


def _publish(work: OwnWork) -> str:
    return DONE if publish(work) else UNDONE


def _discard(work: OwnWork) -> str:
    discard(work)
    return UNDONE


def _flow(operation: str, task_state: str) -> Flow:
    return Flow(
        operation,
        task_state=task_state,
        vm_states=SNAPSHOT_STATES,
        first=STORE,
        stages={
            STORE: storing(then=PUBLISH, undo=DISCARD),
            PUBLISH: OwnStage(_publish, leads_to=(DONE, UNDONE)),
            DISCARD: OwnStage(_discard, leads_to=(UNDONE,)),
        },
        begin=_take_image,
        end=restore_unless_ended,
        undo=restore_unless_ended,
    )  # fmt: skip


SNAPSHOT = _flow("snapshot", "image_snapshot")
BACKUP = _flow("backup", "image_backup")
