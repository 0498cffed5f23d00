"""Tickets by which hosts read and write the data of images over HTTP.

A ticket is for one image and expires soon; it is signed, not stored. The conductor of a cell asks
for one when a host needs it, so a host without servers of a project gets none for its images.
"""

import dataclasses
from collections.abc import Sequence

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from armillary.keys import signed_text
from conductor.common.clock import Clock
from conductor.super_conductor.db import (
    cell_changes,
    deployment_secrets,
    instance_mappings,
    request_specs,
)
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.db.zones import zone_attempts
from conductor.super_conductor.db.zones.zone_attempts import DelegatedAttempt
from objects.images.image_meta import ImageMeta
from objects.images.image_record import INSTANCE_UUID, PENDING_DELETE, SAVING, STATUSES, ImageRecord
from objects.images.image_ticket import READ, WRITE, ImageTicket
from objects.instances.instance_mapping import InstanceMapping

PREFIX = "img1"
PREFIX_OF_SERVER = "img2"
"""Of tickets for another zone: for the server's image alone, as long as the server is there."""


class ImageTickets:
    """Issues and redeems tickets.

    The key is a secret of the deployment: ``armillary-manage image rotate-ticket-key`` replaces it.
    Tickets for another zone have a key of their own, which stays, since a child zone knows no way
    to ask for another ticket; it is replaced after a theft alone.
    """

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def issue_image_ticket(
        self,
        context: RequestContext,
        cell_uuid: str,
        instance_uuid: str,
        image_id: str,
        access: str,
    ) -> ImageTicket | None:
        with self._database.reader() as session:
            mapping = instance_mappings.find_mapping(session, instance_uuid)
            record = images.find_record(session, image_id)
            if mapping is None or not _is_in(session, mapping, cell_uuid):
                raise exception.InstanceNotFound(instance_uuid=instance_uuid)
            if record is None and (delegated := _delegated(session, instance_uuid)) is not None:
                return _of_origin(delegated, image_id, access)
            if not self._conf.image.endpoint:
                return None
            if record is None or record.image.status == PENDING_DELETE:
                raise exception.ImageNotFound(image=image_id)
            if not _is_for(session, mapping, record, access):
                raise exception.ImageNotFound(image=image_id)
        return self.ticket(record, access)

    def ticket(self, record: ImageRecord, access: str = READ) -> ImageTicket | None:
        """Return a new ticket; None if hosts have no way to the image service, or it has no data.

        The caller has checked that the receiver may have it.
        """
        endpoint: str = self._conf.image.endpoint or ""
        if not endpoint or (access == READ and record.sha512 is None):
            return None
        image_id = record.image.id
        until = int(self._now()) + self._conf.image.ticket_lifetime_seconds
        return ImageTicket(
            image_id=image_id,
            url=f"{endpoint.rstrip('/')}/v2/transfers/{image_id}",
            token=signed_text.seal(PREFIX, [image_id, access, until], self._keys()[0]),
            size_bytes=record.image.size_bytes,
            sha512=record.sha512,
        )

    def of_servers(
        self, image: ImageMeta | None, instance_uuids: Sequence[str]
    ) -> list[ImageTicket]:
        """Return tickets to read the image of servers that another zone builds, one for each.

        Each is valid for as long as its server exists. None are returned if there is no way to the
        data, or no data.
        """
        if image is None:
            return []
        record = self._database.read(images.find_record, image.id)
        ticket = None if record is None else self.ticket(record)
        if ticket is None:
            return []
        key = self._server_key()
        return [
            dataclasses.replace(
                ticket, token=signed_text.seal(PREFIX_OF_SERVER, [image.id, uuid], key)
            )
            for uuid in instance_uuids
        ]

    def redeem_image_ticket(
        self, context: RequestContext, token: str, image_id: str, access: str
    ) -> ImageRecord:
        keys = self._keys()
        found = signed_text.open_sealed(PREFIX, token, keys)
        is_valid = found is not None and found[:2] == [image_id, access] and found[2] > self._now()
        with self._database.reader() as session:
            if not is_valid and not self._is_of_server(session, token, image_id, access):
                raise exception.Unauthorized(
                    "The ticket is malformed, has expired, or is for another image or access; the "
                    "host has to ask its cell's conductor for a new one."
                )
            record = images.find_record(session, image_id)
        gone = {PENDING_DELETE} if access == READ else set(STATUSES) - {SAVING}
        if record is None or record.image.status in gone:
            raise exception.ImageNotFound(image=image_id)
        return record

    def _is_of_server(self, session: Session, token: str, image_id: str, access: str) -> bool:
        """Return whether a ticket is for a server's image, and the server exists."""
        found = signed_text.open_sealed(PREFIX_OF_SERVER, token, [self._server_key()])
        if found is None or access != READ or found[0] != image_id:
            return False
        mapping = instance_mappings.find_mapping(session, found[1])
        return mapping is not None and not mapping.queued_for_delete

    def _keys(self) -> list[bytes]:
        """Return the key that signs, then one that it replaced a short while ago."""
        name, now = deployment_secrets.IMAGE_TICKET_KEY, self._now()
        return [key.encode() for key in deployment_secrets.accepted(self._database, name, now=now)]

    def _server_key(self) -> bytes:
        """Return the key of tickets for another zone, at first that of all tickets."""
        return deployment_secrets.find_or_copy(
            self._database,
            deployment_secrets.SERVER_TICKET_KEY,
            other=deployment_secrets.IMAGE_TICKET_KEY,
        ).encode()


def _delegated(session: Session, instance_uuid: str) -> DelegatedAttempt | None:
    """Return the attempt of another zone that an instance is of, if it is of one."""
    delegated = zone_attempts.by_local_uuid(session, [instance_uuid]).get(instance_uuid)
    return None if delegated is None or delegated.origin == zone_attempts.OWN else delegated


def _of_origin(delegated: DelegatedAttempt, image_id: str, access: str) -> ImageTicket:
    """Return the ticket that came with a server. Raises Invalid if it does not open the image."""
    ticket = None if delegated.image_ticket is None else ImageTicket(**delegated.image_ticket)
    if ticket is None or ticket.image_id != image_id or access != READ:
        raise exception.Invalid(
            reason=f"this zone has no image {image_id}, and zone {delegated.origin}, which asked "
            f"for the server, gave no way to {access} its data; only the image that a server was "
            "created from is read from there, if [image] endpoint is set there"
        )
    return ticket


def _is_in(session: Session, mapping: InstanceMapping, cell_uuid: str) -> bool:
    """Return whether an instance is in a cell, or in a move from or to it."""
    if mapping.cell_uuid == cell_uuid:
        return True
    return any(move.has(cell_uuid) for move in cell_changes.list_of(session, mapping.instance_uuid))


def _is_for(session: Session, mapping: InstanceMapping, record: ImageRecord, access: str) -> bool:
    """Return whether the host of a server needs an image.

    It writes the snapshots of the server, and reads what keeps its disk, what it was asked to be
    built from, and all that its project may use: it may be rebuilt or rescued with any of these.
    """
    project_id = mapping.project_id
    is_of_it = record.image.properties.get(INSTANCE_UUID) == mapping.instance_uuid
    is_own = is_of_it and record.owner == project_id
    if access == WRITE:
        return is_own and record.image.status == SAVING
    if is_own or images.is_usable_by(record, project_id):
        return True
    spec = request_specs.find_spec(session, [mapping.instance_uuid])
    return spec is not None and spec.image is not None and spec.image.id == record.image.id
