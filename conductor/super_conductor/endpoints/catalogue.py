"""The catalogue: flavors, images and key pairs; create, show, change, delete."""

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.clock import Clock, moment
from conductor.super_conductor.accept import quotas
from conductor.super_conductor.db.catalogue import flavors, images, key_pairs
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from objects.flavor import Flavor
from objects.images.image_record import ImageRecord
from objects.key_pair import KeyPair


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
            return flavors.get_flavor(session, flavor, context)

    def list_flavors(
        self, context: RequestContext, *, is_public: bool | None = True
    ) -> list[Flavor]:
        with self._database.reader() as session:
            return flavors.list_flavors(session, context, is_public=is_public)

    def change_extra_specs(
        self, context: RequestContext, flavor: str, changes: dict[str, str | None]
    ) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: flavors.change_extra_specs(session, flavor, changes, now=now)
        )

    def set_flavor_description(
        self, context: RequestContext, flavor: str, description: str | None
    ) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: flavors.set_description(session, flavor, description, now=now)
        )

    def list_flavor_access(self, context: RequestContext, flavor: str) -> list[str]:
        with self._database.reader() as session:
            return flavors.list_access(session, flavor)

    def add_flavor_access(self, context: RequestContext, flavor: str, project_id: str) -> list[str]:
        return self._database.run_in_writer(
            lambda session: flavors.add_access(session, flavor, project_id)
        )

    def remove_flavor_access(
        self, context: RequestContext, flavor: str, project_id: str
    ) -> list[str]:
        return self._database.run_in_writer(
            lambda session: flavors.remove_access(session, flavor, project_id)
        )

    def delete_flavor(self, context: RequestContext, flavor: str) -> None:
        self._database.run_in_writer(lambda session: flavors.delete_flavor(session, flavor))


class ImagesEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def delete_image(self, context: RequestContext, image: str) -> None:
        now = moment(self._now())
        self._database.run_in_writer(
            lambda session: images.delete_image(session, image, context, now=now)
        )

    def create_image(
        self, context: RequestContext, record: ImageRecord, *, of_owner_max: int | None = None
    ) -> ImageRecord:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: images.create_record(
                session, record, now=now, of_owner_max=of_owner_max
            )
        )

    def get_image(self, context: RequestContext, image: str) -> ImageRecord:
        with self._database.reader() as session:
            return images.get_record(session, image, context)

    def list_images(
        self, context: RequestContext, *, nameable_only: bool = False
    ) -> list[ImageRecord]:
        with self._database.reader() as session:
            return images.list_records(session, context, nameable_only=nameable_only)

    def list_images_to_delete(self, context: RequestContext) -> list[ImageRecord]:
        with self._database.reader() as session:
            return images.list_pending_delete(session)

    def answer_image_sharing(
        self, context: RequestContext, image: str, member: str, status: str
    ) -> ImageRecord:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: images.answer_sharing(session, image, member, status, now=now)
        )

    def update_image(self, context: RequestContext, record: ImageRecord) -> ImageRecord:
        now = moment(self._now())
        return self._database.run_in_writer(
            lambda session: images.update_record(session, record, now=now)
        )


class KeyPairsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def create_key_pair(self, context: RequestContext, key_pair: KeyPair) -> KeyPair:
        now = moment(self._now())

        def create(session: Session) -> KeyPair:
            quotas_db.lock_owner(session, key_pair.user_id)
            limits = quotas.limits_of(session, self._conf, context.project_id or "")
            return key_pairs.create_key_pair(
                session, key_pair, of_user_max=limits["key_pairs"], now=now
            )

        return self._database.run_in_writer(create)

    def get_key_pair(self, context: RequestContext, user_id: str, name: str) -> KeyPair:
        with self._database.reader() as session:
            return key_pairs.get_key_pair(session, user_id, name)

    def list_key_pairs(self, context: RequestContext, user_id: str) -> list[KeyPair]:
        with self._database.reader() as session:
            return key_pairs.list_key_pairs(session, user_id)

    def delete_key_pair(self, context: RequestContext, user_id: str, name: str) -> None:
        self._database.run_in_writer(
            lambda session: key_pairs.delete_key_pair(session, user_id, name)
        )
