"""Quota of resizes: the larger of both sizes counts until the resize has ended; of unshelving."""

from collections.abc import Mapping

from oslo_config import cfg
from sqlalchemy.orm import Session

from conductor.common.clock import Clock, exact_moment
from conductor.super_conductor.accept import quotas
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from conductor.super_conductor.db.catalogue.quotas import PlacedUsage
from objects.flavor import Flavor
from objects.instance import Instance
from objects.instances.instance_mapping import InstanceMapping


class ResizeQuota:
    """Counts accepted resizes, in the transaction that stores them."""

    def __init__(self, conf: cfg.ConfigOpts, now: Clock) -> None:
        self._conf = conf
        self._now = now

    def reserve(
        self,
        session: Session,
        instance: Instance,
        flavor: Flavor,
        placed: PlacedUsage | None,
        *,
        is_counted: bool,
    ) -> None:
        """Count the larger of both flavors until the resize has ended. Raises QuotaExceeded.

        Without ``is_counted`` another zone has checked its quota; only the size is noted here.
        """
        if is_counted:
            quotas_db.lock_owner(session, instance.project_id)
            vcpus, memory_mb = instance.flavor.vcpus, instance.flavor.memory_mb
            more = {"cores": flavor.vcpus - vcpus, "ram": flavor.memory_mb - memory_mb}
            self._check_quota(session, instance.project_id, more, placed)
        self._raise_size(session, instance.uuid, flavor)

    def check_unshelve(
        self, session: Session, instance: Instance, placed: PlacedUsage | None
    ) -> None:
        """Raise QuotaExceeded if what an offloaded server needs is not counted yet, and too much.

        It counts from now on, in the transaction that stores its move.
        """
        if placed is None:
            return
        quotas_db.lock_owner(session, instance.project_id)
        more = {"cores": instance.flavor.vcpus, "ram": instance.flavor.memory_mb}
        self._check_quota(session, instance.project_id, more, placed)

    def reserve_remote(
        self, session: Session, mapping: InstanceMapping, flavor: Flavor, placed: PlacedUsage | None
    ) -> None:
        """Count the larger of the present usage and the new flavor. Raises QuotaExceeded."""
        quotas_db.lock_owner(session, mapping.project_id)
        size = instance_mappings.sizes(session, [mapping.instance_uuid]).get(mapping.instance_uuid)
        if size is None:
            return  # its record has expired
        more = {"cores": flavor.vcpus - size.vcpus, "ram": flavor.memory_mb - size.memory_mb}
        self._check_quota(session, mapping.project_id, more, placed)
        self._raise_size(session, mapping.instance_uuid, flavor)

    def _raise_size(self, session: Session, instance_uuid: str, flavor: Flavor) -> None:
        asked_at = exact_moment(self._now())
        instance_mappings.raise_quota_size(
            session, instance_uuid, vcpus=flavor.vcpus, memory_mb=flavor.memory_mb,
            asked_at=asked_at,
        )  # fmt: skip

    def _check_quota(
        self, session: Session, project_id: str, more: Mapping[str, int], placed: PlacedUsage | None
    ) -> None:
        """Raise QuotaExceeded if a project, whose row is locked, exceeds its limits by ``more``."""
        limits = quotas.limits_of(session, self._conf, project_id)
        grown = {resource: max(0, amount) for resource, amount in more.items()}
        used = quotas_db.count_usage(session, project_id, placed)
        quotas.fitting_count(limits, used, grown, min_count=1, max_count=1)
