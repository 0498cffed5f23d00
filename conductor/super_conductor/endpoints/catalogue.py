"""The catalogue: flavors, images and key pairs; create, show, change, delete."""

from collections.abc import Callable

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import Database
from armillary.db.changes_once import ChangeOnce
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
        now = self._now()
        once = ChangeOnce.of(context, "create_flavor", flavor.flavorid, flavor.name)
        return self._database.insert_in_writer(
            lambda session: once.run(
                session,
                lambda: flavors.create_flavor(session, flavor, now=moment(now)),
                name=lambda made: made.flavorid,
                get=lambda flavorid: flavors.get_any_flavor(session, flavorid),
                now=now,
            )
        )

    def get_flavor(self, context: RequestContext, flavor: str) -> Flavor:
        return self._database.read(flavors.get_flavor, flavor, context)

    def list_flavors(
        self, context: RequestContext, *, is_public: bool | None = True
    ) -> list[Flavor]:
        return self._database.read(flavors.list_flavors, context, is_public=is_public)

    def change_extra_specs(
        self, context: RequestContext, flavor: str, changes: dict[str, str | None]
    ) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(flavors.change_extra_specs, flavor, changes, now=now)

    def set_flavor_description(
        self, context: RequestContext, flavor: str, description: str | None
    ) -> Flavor:
        now = moment(self._now())
        return self._database.run_in_writer(flavors.set_description, flavor, description, now=now)

    def list_flavor_access(self, context: RequestContext, flavor: str) -> list[str]:
        return self._database.read(flavors.list_access, flavor)

    def add_flavor_access(self, context: RequestContext, flavor: str, project_id: str) -> list[str]:
        return self._change_access(context, flavors.add_access, flavor, project_id)

    def remove_flavor_access(
        self, context: RequestContext, flavor: str, project_id: str
    ) -> list[str]:
        return self._change_access(context, flavors.remove_access, flavor, project_id)

    def _change_access(
        self,
        context: RequestContext,
        change: Callable[[Session, str, str], list[str]],
        flavor: str,
        project_id: str,
    ) -> list[str]:
        once = ChangeOnce.of(context, change.__name__, flavor, project_id)
        return self._database.insert_in_writer(
            lambda session: once.run(
                session,
                lambda: change(session, flavor, project_id),
                get=lambda _: flavors.list_access(session, flavor),
                now=self._now(),
            )
        )

    def delete_flavor(self, context: RequestContext, flavor: str) -> None:
        self._database.run_in_writer(flavors.delete_flavor, flavor)


class ImagesEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, database: Database, now: Clock) -> None:
        self._database = database
        self._now = now

    def delete_image(self, context: RequestContext, image: str) -> None:
        now = moment(self._now())
        self._database.run_in_writer(images.delete_image, image, context, now=now)

    def create_image(
        self, context: RequestContext, record: ImageRecord, *, of_owner_max: int | None = None
    ) -> ImageRecord:
        now = self._now()
        once = ChangeOnce.of(context, "create_image", record.image.id)
        return self._database.insert_in_writer(
            lambda session: once.run(
                session,
                lambda: images.create_record(
                    session, record, now=moment(now), of_owner_max=of_owner_max
                ),
                name=lambda made: made.image.id,
                get=lambda image_id: images.get_any_record(session, image_id),
                now=now,
            )
        )

    def get_image(self, context: RequestContext, image: str) -> ImageRecord:
        return self._database.read(images.get_record, image, context)

    def list_images(
        self, context: RequestContext, *, nameable_only: bool = False
    ) -> list[ImageRecord]:
        return self._database.read(images.list_records, context, nameable_only=nameable_only)

    def list_images_to_delete(self, context: RequestContext) -> list[ImageRecord]:
        return self._database.read(images.list_pending_delete)

    def answer_image_sharing(
        self, context: RequestContext, image: str, member: str, status: str
    ) -> ImageRecord:
        now = moment(self._now())
        return self._database.run_in_writer(images.answer_sharing, image, member, status, now=now)

    def update_image(self, context: RequestContext, record: ImageRecord) -> ImageRecord:
        now = moment(self._now())
        return self._database.run_in_writer(images.update_record, record, now=now)


class KeyPairsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database, now: Clock) -> None:
        self._conf = conf
        self._database = database
        self._now = now

    def create_key_pair(
        self, context: RequestContext, key_pair: KeyPair, *, replace: bool
    ) -> KeyPair:
        now = moment(self._now())

        def create(session: Session) -> KeyPair:
            quotas_db.lock_owner(session, key_pair.user_id)
            limits = quotas.limits_of(session, self._conf, context.project_id or "")
            return key_pairs.create_key_pair(
                session, key_pair, request_id=str(context.request_id), replace=replace,
                of_user_max=limits["key_pairs"], now=now,
            )  # fmt: skip

        return self._database.run_in_writer(create)

    def get_key_pair(self, context: RequestContext, user_id: str, name: str) -> KeyPair:
        return self._database.read(key_pairs.get_key_pair, user_id, name)

    def list_key_pairs(self, context: RequestContext, user_id: str) -> list[KeyPair]:
        return self._database.read(key_pairs.list_key_pairs, user_id)

    def delete_key_pair(self, context: RequestContext, user_id: str, name: str) -> None:
        self._database.run_in_writer(key_pairs.delete_key_pair, user_id, name)
