"""Flavors and images: create, show, change, delete."""

from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.db import flavors, images
from objects.flavor import Flavor
from objects.image_meta import ImageMeta


class FlavorsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def create_flavor(self, context: RequestContext, flavor: Flavor) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: flavors.create_flavor(session, flavor, now=now)
        )

    def get_flavor(self, context: RequestContext, flavor: str) -> Flavor:
        with self._database.reader() as session:
            return flavors.get_flavor(session, flavor)

    def list_flavors(self, context: RequestContext) -> list[Flavor]:
        with self._database.reader() as session:
            return flavors.list_flavors(session)

    def set_extra_specs(
        self, context: RequestContext, flavor: str, extra_specs: dict[str, str]
    ) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: flavors.set_extra_specs(session, flavor, extra_specs, now=now)
        )

    def delete_flavor(self, context: RequestContext, flavor: str) -> None:
        self._database.run_in_writer(lambda session: flavors.delete_flavor(session, flavor))


class ImagesEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def create_image(self, context: RequestContext, image: ImageMeta) -> ImageMeta:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: images.create_image(session, image, owner=context.project_id, now=now)
        )

    def get_image(self, context: RequestContext, image: str) -> ImageMeta:
        with self._database.reader() as session:
            return images.show_image(session, image, context)

    def list_images(self, context: RequestContext) -> list[ImageMeta]:
        with self._database.reader() as session:
            return images.list_images(session, context)

    def delete_image(self, context: RequestContext, image: str) -> None:
        self._database.run_in_writer(lambda session: images.delete_image(session, image))
