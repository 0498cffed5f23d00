"""Snapshots of servers: the record of the image, from the request to its data."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator, Mapping

from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from armillary.names.identifiers import uuid_of_request
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import instance_mappings, request_specs
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.servers.server_operations import ServerOperations
from conductor.super_conductor.servers.server_views import ServerReader
from objects.images.image_meta import PRIVATE_PROPERTIES, PROGRAM_PROPERTIES, ImageMeta
from objects.images.image_record import (
    ACTIVE,
    BACKUP,
    IMAGE_TYPE,
    INSTANCE_UUID,
    OF_OTHER_DATA,
    PRIVATE,
    SAVING,
    SHELVED,
    SNAPSHOT,
    ImageRecord,
    NewSnapshot,
    StoredImage,
)
from objects.instance import Instance
from objects.instances.operation_arguments import OperationArguments

LOG = logging.getLogger(__name__)

DISK_FORMAT, CONTAINER_FORMAT = "raw", "bare"
_NEVER_KEPT = OF_OTHER_DATA | PRIVATE_PROPERTIES
"""What no image of a cell's has: a file of hosts, secrets."""


class SnapshotsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(
        self, database: Database, servers: ServerReader, operations: ServerOperations, now: Clock
    ) -> None:
        self._database = database
        self._servers = servers
        self._operations = operations
        self._now = now

    def create_snapshot(
        self, context: RequestContext, instance_uuid: str, snapshot: NewSnapshot
    ) -> ImageRecord:
        server = self._servers.get_server(context, instance_uuid)

        def write(session: Session) -> ImageRecord:
            record = _record(session, context, server, snapshot)
            known = images.find_record(session, record.image.id)
            if known is not None:
                return known  # the conductor that made it has not kept the answer for repeats
            return images.create_record(
                session, record, now=moment(self._now()), of_owner_max=snapshot.of_owner_max
            )

        made = self._database.run_in_writer(write)
        if made.image.status != SAVING:
            return made
        operation = "backup" if snapshot.properties.get(IMAGE_TYPE) == BACKUP else "snapshot"
        try:
            arguments = OperationArguments(new_image=made.image)
            self._operations.operate(context, instance_uuid, operation, arguments)
        except (exception.Unavailable, exception.RpcFailed):
            raise  # perhaps it begins: then it makes the image; if not, the repair ends that
        except exception.ArmillaryError:
            self._database.run_in_writer(images.delete_record, made.image.id)
            raise
        return made

    def create_shelved_image(
        self, context: RequestContext, cell_uuid: str, instance_uuid: str, image: ImageMeta
    ) -> bool:
        """See ``SuperConductorAPI``; the quota of images does not count what a cell must keep."""
        is_for_it = image.properties.get(INSTANCE_UUID) == instance_uuid
        if not is_for_it or image.properties.get(IMAGE_TYPE) != SHELVED:
            return False

        def write(session: Session) -> bool:
            instance_mappings.lock(session, instance_uuid)  # or its delete would not see the image
            mapping = instance_mappings.find_mapping(session, instance_uuid)
            if mapping is None or mapping.cell_uuid != cell_uuid or mapping.queued_for_delete:
                return False
            found = images.find_record(session, image.id)
            if found is not None:
                return found.image.properties.get(INSTANCE_UUID) == instance_uuid
            known = _inherited(
                session, mapping.project_id, instance_uuid, image.properties, _NEVER_KEPT
            )
            record = ImageRecord(
                image.with_values(status=SAVING, properties=known),
                owner=mapping.project_id,
                visibility=PRIVATE,
                container_format=CONTAINER_FORMAT,
            )
            images.create_record(session, record, now=moment(self._now()))
            return True

        return self._database.run_in_writer(write)

    def end_snapshot(
        self,
        context: RequestContext,
        cell_uuid: str,
        instance_uuid: str,
        image_id: str,
        stored: StoredImage | None,
    ) -> bool:
        def write(session: Session) -> bool:
            mapping = instance_mappings.find_mapping(session, instance_uuid)
            record = images.find_record(session, image_id)
            if mapping is None or mapping.cell_uuid != cell_uuid or record is None:
                return False
            image = record.image
            if image.properties.get(INSTANCE_UUID) != instance_uuid:
                return False
            is_shelved = image.properties.get(IMAGE_TYPE) == SHELVED
            if stored is None and (is_shelved or image.status == SAVING):
                images.give_up(session, record, now=moment(self._now()))
                return False
            if stored is None or image.status != SAVING:
                return image.status == ACTIVE and stored is not None  # a repeated call
            image = image.with_values(status=ACTIVE, size_bytes=stored.size_bytes)
            ended = dataclasses.replace(
                record, image=image, checksum=stored.md5, sha512=stored.sha512
            )
            images.update_record(session, ended, now=moment(self._now()))
            return True

        return self._database.run_in_writer(write)


def _record(
    session: Session, context: RequestContext, server: Instance, snapshot: NewSnapshot
) -> ImageRecord:
    """Return the record of an image that has the properties of the server's image, too."""
    base = server.image
    of_base = {} if base is None else base.properties
    hidden = OF_OTHER_DATA if _is_own(session, server) else _NEVER_KEPT
    properties = {
        **_inherited(session, server.project_id, server.uuid, of_base, hidden),
        IMAGE_TYPE: SNAPSHOT,
        **snapshot.properties,
        INSTANCE_UUID: server.uuid,
        "user_id": str(context.user_id or ""),
        "base_image_ref": "" if base is None else base.id,
    }
    image = ImageMeta.from_values(
        id=uuid_of_request(context, f"snapshot/{server.uuid}/{snapshot.name}"),
        name=snapshot.name,
        status=SAVING,
        disk_format=(base.disk_format if base is not None else None) or DISK_FORMAT,
        min_ram_mb=0 if base is None else base.min_ram_mb,
        min_disk_gb=max(server.flavor.root_gb, 0 if base is None else base.min_disk_gb),
        properties=properties,
    )
    return ImageRecord(
        image, owner=server.project_id, visibility=PRIVATE, container_format=CONTAINER_FORMAT
    )


def _inherited(
    session: Session,
    project_id: str,
    instance_uuid: str,
    of_base: Mapping[str, str],
    hidden: frozenset[str],
) -> dict[str, str]:
    """Return the properties that an image inherits from its server's, as its cell reports them.

    The cell is not believed about a program: users may run it in other cells.
    """
    kept = {name: value for name, value in of_base.items() if name not in hidden}
    program = _program(kept)
    known = _known_images(session, project_id, instance_uuid)
    if not program or any(_program(each.properties, hidden) == program for each in known):
        return kept
    LOG.warning(
        "Instance %s: its new image is stored without the program that its cell reported: no image "
        "that its project may use has that program",
        instance_uuid,
    )
    return {name: value for name, value in kept.items() if name not in program}


def _program(properties: Mapping[str, str], hidden: frozenset[str] = frozenset()) -> dict[str, str]:
    return {
        name: properties[name]
        for name in PROGRAM_PROPERTIES
        if name in properties and name not in hidden
    }


def _known_images(session: Session, project_id: str, instance_uuid: str) -> Iterator[ImageMeta]:
    """Yield the image that a server was accepted with, then those it may be rebuilt from."""
    spec = request_specs.find_spec(session, [instance_uuid])
    if spec is not None and spec.image is not None:
        yield spec.image
    for record in images.list_usable_by(session, project_id):
        yield record.image


def _is_own(session: Session, server: Instance) -> bool:
    """Return whether the server's image belongs to its project, which knows all its properties."""
    record = None if server.image is None else images.find_record(session, server.image.id)
    return record is not None and record.owner == server.project_id
