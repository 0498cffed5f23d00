"""Tickets for agents that read images and write snapshots over HTTP: whose need is checked here.

An agent gets a ticket only for a host of its own, and only for an image of an instance that is, is
built or arrives there. So a stolen key of an agent opens no images but those of its own servers.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.cell_conductor.base_task import Environment
from conductor.cell_conductor.operations import commands
from conductor.cell_conductor.operations.flow import AgentStage
from conductor.cell_conductor.operations.flows import FLOWS
from conductor.common.cell_db import instances, migrations, models, services
from conductor.common.cell_db.stored_object import StoredObject
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import READ, WRITE, ImageTicket
from objects.instances.instance_command import Verb


class ImageTickets:
    """Endpoint, see ``CellConductorAPI``; the super conductor signs."""

    def __init__(self, env: Environment, top: SuperConductorAPI) -> None:
        self._cell_uuid = str(env.conf.cell.uuid)
        self._database = env.database
        self._top = top

    def get_image_ticket(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        image_id: str,
        access: str,
    ) -> ImageTicket | None:
        """Return a ticket for what a host of the agent does now. Raises Forbidden, Invalid."""
        if access not in (READ, WRITE):
            raise exception.Invalid(reason=f"access must be {READ} or {WRITE}, not {access!a:.20}")
        find = _written if access == WRITE else _read
        with self._database.reader() as session:
            instance = instances.find_rows(session, [instance_uuid]).get(instance_uuid)
            is_theirs = services.belongs_to_agent(session, host, agent)
            is_here = is_theirs and instance is not None and instance.deleted_at is None
            found = find(session, instance, host) if is_here and instance is not None else set()
        if image_id not in found:
            raise exception.Forbidden(
                reason=f"host {host} has nothing to {access} of image {image_id} for instance "
                f"{instance_uuid} now"
            )
        return self._top.issue_image_ticket(
            context, self._cell_uuid, instance_uuid, image_id, access
        )


def _read(session: Session, instance: models.Instance, host: str) -> set[str]:
    """Return the images that a host may need for an instance."""
    stage = _stage_at(session, instance, host)
    is_here = instance.host == host or stage is not None or _is_copy_at(session, instance, host)
    image = instance.image if is_here else None
    found = set() if image is None else {_id_in(image.primitive)}
    return found if stage is None else found | _of_command(*stage)


def _written(session: Session, instance: models.Instance, host: str) -> set[str]:
    """Return the image whose data a host stores: of a snapshot, a backup or a shelved server."""
    stage = _stage_at(session, instance, host)
    return _of_command(*stage) if stage is not None and stage[1].verb is Verb.SNAPSHOT else set()


def _stage_at(
    session: Session, instance: models.Instance, host: str
) -> tuple[models.InstanceOperation, AgentStage] | None:
    """Return the operation on an instance that waits for a host of this cell, and its stage."""
    row = session.get(models.InstanceOperation, instance.uuid)
    stage = None if row is None else FLOWS[row.operation].stages[row.stage]
    if row is None or not isinstance(stage, AgentStage):
        return None
    if commands.host_of(instance, row, stage) != host or commands.cell_at(row, stage.at):
        return None
    return row, stage


def _of_command(row: models.InstanceOperation, stage: AgentStage) -> set[str]:
    image = stage.arguments(row).image
    return set() if image is None else {_id_in(image)}


def _is_copy_at(session: Session, instance: models.Instance, host: str) -> bool:
    """Return whether an instance of another cell moves to or from a host here."""
    return bool(instance.hidden) and any(
        host in (move.source_host, move.dest_host)
        for move in migrations.find_unfinished(session, [instance.uuid])
    )


def _id_in(primitive: Mapping[str, Any]) -> str:
    stored: StoredObject[ImageMeta] = StoredObject(dict(primitive))
    return stored.load().id
