"""Quotas: a project's limits and usage, how many more servers fit; usage totals of placement."""

from collections.abc import Mapping

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.db import claims
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from objects.allocations.allocation import AllocationPage
from placement.interface import PlacementAPI

RESOURCES = (
    "instances", "cores", "ram", "server_groups", "server_group_members", "metadata_items",
    "key_pairs",
)  # fmt: skip
UNCOUNTED = {"floating_ips": -1, "fixed_ips": -1, "security_groups": -1, "security_group_rules": -1}
"""Limits that clients set and read, and their defaults: nothing here is counted against them."""
OF_FILES = {
    "injected_files": 5,
    "injected_file_content_bytes": 10240,
    "injected_file_path_bytes": 255,
}
"""Default limits of the files that one request gives to its servers."""
UNLIMITED = -1
LIMIT_MAX = 2**31 - 1


def limits_of(session: Session, conf: cfg.ConfigOpts, project_id: str) -> dict[str, int]:
    """Return the limits of a project: its own, or those set or configured as defaults."""
    configured = {name: conf.quota[name] for name in RESOURCES}
    limits = quotas_db.get_limits(session, project_id)
    stored = {name: limit for name, limit in limits.items() if not claims.is_quota(name)}
    return {**UNCOUNTED, **OF_FILES, **configured, **stored}


def check_files(limits: Mapping[str, int], files: Mapping[str, str]) -> None:
    """Raise QuotaExceeded for too many, too large files (in Base64), or too long paths of them."""
    sizes = [len(contents) * 3 // 4 - contents.count("=") for contents in files.values()]
    amounts = {
        "injected_files": len(files),
        "injected_file_content_bytes": max(sizes, default=0),
        "injected_file_path_bytes": max((len(path.encode()) for path in files), default=0),
    }
    fitting_count(limits, dict.fromkeys(amounts, 0), amounts, min_count=1, max_count=1)


def fitting_count(
    limits: Mapping[str, int],
    used: Mapping[str, int],
    per_server: Mapping[str, int],
    *,
    min_count: int,
    max_count: int,
) -> int:
    """Return how many of ``max_count`` servers fit. Raises QuotaExceeded below ``min_count``.

    ``per_server`` has the amounts that one server uses of the resources to check.
    """
    count = max_count
    for resource, amount in per_server.items():
        if limits[resource] == UNLIMITED or amount == 0:
            continue
        fits = max(0, (limits[resource] - used[resource]) // amount)
        if fits < min_count:
            raise exception.QuotaExceeded(
                resource=resource,
                requested=min_count * amount,
                used=used[resource],
                limit=limits[resource],
            )
        count = min(count, fits)
    return count


def check_limits(limits: Mapping[str, int]) -> None:
    """Raise Invalid for an unknown resource or an invalid limit."""
    known = (*RESOURCES, *UNCOUNTED, *OF_FILES)
    for resource, limit in limits.items():
        if resource not in known:
            raise exception.Invalid(reason=f"unknown quota {resource}; known: {', '.join(known)}")
        if not UNLIMITED <= limit <= LIMIT_MAX:
            raise exception.Invalid(
                reason=f"the limit of {resource} must be -1 (unlimited) to {LIMIT_MAX}, not {limit}"
            )


class QuotasEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(
        self, conf: cfg.ConfigOpts, database: Database, placed_usage: PlacedUsageReader
    ) -> None:
        self._conf = conf
        self._database = database
        self._placed_usage = placed_usage

    def get_quotas(self, context: RequestContext, project_id: str) -> dict[str, dict[str, int]]:
        placed = self._placed_usage.read(context, project_id)
        with self._database.reader() as session:
            limits = limits_of(session, self._conf, project_id)
            used = quotas_db.count_usage(session, project_id, placed)
        return {
            name: {"limit": limit, "in_use": used.get(name, 0)} for name, limit in limits.items()
        }

    def update_quotas(
        self, context: RequestContext, project_id: str, limits: dict[str, int]
    ) -> dict[str, dict[str, int]]:
        check_limits(limits)
        self._database.run_in_writer(quotas_db.set_limits, project_id, limits)
        return self.get_quotas(context, project_id)

    def reset_quotas(self, context: RequestContext, project_id: str) -> None:
        self._database.run_in_writer(quotas_db.delete_limits, project_id)


class AllocationsEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, placement: PlacementAPI) -> None:
        self._placement = placement

    def list_allocations(
        self, context: RequestContext, marker: str | None = None, limit: int = 1000
    ) -> AllocationPage:
        found = self._placement.list_allocations(context, marker=marker, limit=limit)
        return AllocationPage(found, self._placement.get_usage_totals(context))
