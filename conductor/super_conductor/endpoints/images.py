"""Images: create, show, delete."""

from __future__ import annotations

from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import images
from objects.image_meta import ImageMeta


class ImagesEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def create_image(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: images.create_image(session, image, now=now)
        )

    def get_image(self, context: RequestContext, image: str) -> ImageMeta:
        with self._database.reader() as session:
            return images.get_image(session, image)

    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        with self._database.reader() as session:
            return images.list_images(session)

    def delete_image(self, context: RequestContext, image: str) -> None:
        self._database.run_in_writer(lambda session: images.delete_image(session, image))
