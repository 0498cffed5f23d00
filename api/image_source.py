"""Source of the Compute API's images: our own image service, or a Glance."""

import contextlib
import logging
from dataclasses import replace
from typing import Protocol

from oslo_config import cfg

from api.image import unneeded
from api.image.store import ImageStore
from armillary import exception
from armillary.context import RequestContext, admin_context
from armillary.http.call import Document
from armillary.images.glance import Glance
from armillary.names.identifiers import is_uuid
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images import glance_documents
from objects.images.image_meta import ImageMeta
from objects.images.image_record import ACTIVE, COMMUNITY, PUBLIC, SAVING, SHARED, ImageRecord

LOG = logging.getLogger(__name__)


class ImageSource(Protocol):
    """What handlers ask for images; all of it may raise Unavailable."""

    takes_data_of_zones: bool
    """Whether hosts of other zones can store snapshots there."""

    def lookup(self, context: RequestContext, image: str) -> str:
        """Return the reference by which the conductor finds an image, having stored its record.

        ``image`` is an id or a name. Raises ImageNotFound.
        """

    def get(self, context: RequestContext, image: str) -> ImageMeta:
        """Return an image that the user may see. Raises ImageNotFound."""

    def list(self, context: RequestContext) -> list[ImageMeta]:
        """Return the images that the user may use, ordered by name and id."""

    def create(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        """Store a public image. Raises ImageExists, Invalid."""

    def change(self, context: RequestContext, record: ImageRecord) -> ImageRecord:
        """Store an image's properties. Raises ImageNotFound, ImageChanged."""

    def delete(self, context: RequestContext, record: ImageRecord) -> None:
        """Delete an image with its data. Raises ImageNotFound, ImageProtected."""

    def announce(self, record: ImageRecord) -> None:
        """Make the image of a snapshot known, whose data the server's host is storing."""

    def delete_unneeded(self) -> None:
        """Delete the images of servers that were unshelved or deleted; conductors have no data."""


def make_image_source(conf: cfg.ConfigOpts, conductor: SuperConductorAPI) -> ImageSource:
    """Return the source that is configured. Raises ConfigurationError."""
    glance = Glance.from_conf(conf)
    if glance is None:
        return OwnImages(conductor, ImageStore(conf))
    return GlanceImages(conductor, glance)


class OwnImages:
    """Images of our own image service: records of the conductor, data in files."""

    takes_data_of_zones = False

    def __init__(self, conductor: SuperConductorAPI, store: ImageStore) -> None:
        self._conductor = conductor
        self._store = store

    def lookup(self, context: RequestContext, image: str) -> str:
        return image

    def get(self, context: RequestContext, image: str) -> ImageMeta:
        return self._conductor.get_image(context, image).image

    def list(self, context: RequestContext) -> list[ImageMeta]:
        records = self._conductor.list_images(context, nameable_only=True)
        return [record.image for record in records]

    def create(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        record = ImageRecord(image, owner=context.project_id)
        return self._conductor.create_image(context, record).image

    def change(self, context: RequestContext, record: ImageRecord) -> ImageRecord:
        return self._conductor.update_image(context, record)

    def delete(self, context: RequestContext, record: ImageRecord) -> None:
        self._conductor.delete_image(context, record.image.id)
        unneeded.delete_with_data(self._conductor, record, self._store.remove)

    def announce(self, record: ImageRecord) -> None:
        """Nothing to do: the conductor has the record."""

    def delete_unneeded(self) -> None:
        unneeded.delete(self._conductor, self._store.remove)


class GlanceImages:
    """Images of a Glance; the conductor has a copy of the record of each that was asked for.

    So whatever the conductor decides from an image's record, such as who may use it, is the same
    for both sources. A copy is not enough to use an image: Glance is asked first, each time.
    """

    takes_data_of_zones = True

    def __init__(self, conductor: SuperConductorAPI, glance: Glance) -> None:
        self._conductor = conductor
        self._glance = glance

    def lookup(self, context: RequestContext, image: str) -> str:
        document = self._glance.get(image) if is_uuid(image) else self._named(context, image)
        self._copy(document)
        return str(document["id"])

    def get(self, context: RequestContext, image: str) -> ImageMeta:
        document = self._glance.get(self.lookup(context, image))
        record = self._conductor.get_image(context, document["id"])
        return _with_times(record.image, document)

    def list(self, context: RequestContext) -> list[ImageMeta]:
        self.delete_unneeded()
        records = self._conductor.list_images(admin_context())
        known = {record.image.id: record for record in records}
        found = []
        for document in self._glance.list():
            copy = known.get(document["id"])
            record = glance_documents.record_of(document, {} if copy is None else copy.members)
            if _may_use(record, context):
                found.append(_with_times(record.image, document))
        return sorted(found, key=lambda image: (image.name, image.id))

    def create(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        raise exception.Invalid(reason="images are kept by Glance; create it there")

    def change(self, context: RequestContext, record: ImageRecord) -> ImageRecord:
        image_id, after = record.image.id, record.image.properties
        if any(map(glance_documents.is_of_hosts, after)):
            raise exception.Invalid(reason="images in Glance name no programs or files of hosts")
        before = glance_documents.properties_of(self._glance.get(image_id))
        self._glance.change(image_id, before, after)
        self._copy(self._glance.get(image_id))
        return self._conductor.get_image(context, image_id)

    def delete(self, context: RequestContext, record: ImageRecord) -> None:
        self._glance.delete(record.image.id)
        self._conductor.delete_image(context, record.image.id)
        unneeded.delete_with_data(self._conductor, record, self._delete_data)

    def announce(self, record: ImageRecord) -> None:
        try:
            self.delete_unneeded()
            self._glance.create(glance_documents.new_document(record))
        except exception.Unavailable as error:  # the host creates it together with its data
            LOG.warning("Image %s cannot be announced: %s", record.image.id, error.message)

    def delete_unneeded(self) -> None:
        unneeded.delete(self._conductor, self._delete_data)

    def _named(self, context: RequestContext, name: str) -> Document:
        """Return the only image with a name that is public or the project's own."""
        own = context.project_id
        found = [
            document
            for document in self._glance.list(name=name)
            if document["name"] == name
            and (document["visibility"] == PUBLIC or document["owner"] == own)
        ]
        if not found:
            raise exception.ImageNotFound(image=name)
        if len(found) > 1:
            raise exception.Invalid(
                reason=f"several images have the name {name}; use the id of one of them"
            )
        return found[0]

    def _copy(self, document: Document) -> None:
        """Store what Glance has, unless the conductor knows it."""
        is_shared = document["visibility"] == SHARED
        members = self._glance.members(document["id"]) if is_shared else {}
        record, context = glance_documents.record_of(document, members), admin_context()
        with contextlib.suppress(exception.ImageExists, exception.ImageChanged):  # by another call
            try:
                found = self._conductor.get_image(context, document["id"])
            except exception.ImageNotFound:
                self._conductor.create_image(context, record)
            else:
                if _is_newer(record, found):
                    changed = replace(record, generation=found.generation)
                    self._conductor.update_image(context, changed)

    def _delete_data(self, record: ImageRecord) -> None:
        with contextlib.suppress(exception.NotFound, exception.ImageProtected):
            self._glance.delete(record.image.id)


def _may_use(record: ImageRecord, context: RequestContext) -> bool:
    own = context.project_id
    if context.is_admin or record.visibility in (PUBLIC, COMMUNITY) or record.owner == own:
        return True
    return record.visibility == SHARED and own in record.members


def _is_newer(record: ImageRecord, found: ImageRecord) -> bool:
    """Return whether what Glance has is to replace a copy.

    A snapshot that the conductor waits for is its own until Glance has the data.
    """
    if found.image.status == SAVING and record.image.status != ACTIVE:
        return False
    return _facts(record) != _facts(found)


def _facts(record: ImageRecord) -> tuple[object, ...]:
    """Return all of a record but its times and generation."""
    image, times = record.image, ("created_at", "updated_at")
    values = {name: getattr(image, name) for name in image.fields if name not in times}
    return (values, replace(record, image=None, generation=0))  # type: ignore[arg-type]


def _with_times(image: ImageMeta, document: Document) -> ImageMeta:
    return image.with_values(**glance_documents.times_of(document))
