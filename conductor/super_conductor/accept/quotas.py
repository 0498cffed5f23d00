"""Quota arithmetic: how many more servers fit a project's limits."""

from collections.abc import Mapping

from armillary import exception

RESOURCES = ("instances", "cores", "ram", "server_groups", "server_group_members")
UNLIMITED = -1
LIMIT_MAX = 2**31 - 1


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
    for resource, limit in limits.items():
        if resource not in RESOURCES:
            raise exception.Invalid(
                reason=f"unknown quota {resource}; known: {', '.join(RESOURCES)}"
            )
        if not UNLIMITED <= limit <= LIMIT_MAX:
            raise exception.Invalid(
                reason=f"the limit of {resource} must be -1 (unlimited) to {LIMIT_MAX}, not {limit}"
            )
