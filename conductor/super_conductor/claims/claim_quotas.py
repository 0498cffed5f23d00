"""Quotas of claims: their number, and the amounts of resource classes, for each project."""

from collections.abc import Mapping

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.accept.quotas import LIMIT_MAX, UNLIMITED, fitting_count
from conductor.super_conductor.db import claims as queries
from conductor.super_conductor.db.catalogue import quotas as quotas_db
from objects.claims.resource_claim import NewClaim
from objects.extra_specs.extra_specs import is_resource_class

Quotas = dict[str, dict[str, int]]
"""Resource -> {"limit", "in_use"}."""


def check(session: Session, conf: cfg.ConfigOpts, project_id: str, claim: NewClaim) -> None:
    """Raise QuotaExceeded unless one more claim fits.

    Amounts are added up, while the project is locked, only if their classes have limits and the
    number of claims is within its own.
    """
    limits = _limits(session, conf, project_id)
    amounts = {queries.amount_of(name): amount for name, amount in claim.resources.items()}
    number = {queries.COUNT: queries.count(session, project_id)}
    fitting_count(limits, number, {queries.COUNT: 1}, min_count=1, max_count=1)
    limited = {name: n for name, n in amounts.items() if limits.get(name, UNLIMITED) != UNLIMITED}
    if limited:
        used = {**dict.fromkeys(limited, 0), **queries.usage(session, project_id)}
        fitting_count(limits, used, limited, min_count=1, max_count=1)


def get(session: Session, conf: cfg.ConfigOpts, project_id: str) -> Quotas:
    """Return limits and usage: ``claims``, and ``claims:CLASS`` for each class with either."""
    limits, used = _limits(session, conf, project_id), queries.usage(session, project_id)
    return {
        name: {"limit": limits.get(name, UNLIMITED), "in_use": used.get(name, 0)}
        for name in sorted({*limits, *used})
    }


def set_limits(session: Session, project_id: str, limits: Mapping[str, int]) -> None:
    """Set limits of a project; others are unchanged. Raises Invalid."""
    for name, limit in limits.items():
        resource_class = name.removeprefix(queries.amount_of(""))
        if name != queries.COUNT and (
            resource_class == name or not is_resource_class(resource_class)
        ):
            raise exception.Invalid(
                reason=f"unknown quota {name}; known: {queries.COUNT}, and "
                f"{queries.amount_of('CLASS')} for a resource class"
            )
        if not UNLIMITED <= limit <= LIMIT_MAX:
            raise exception.Invalid(
                reason=f"the limit of {name} must be -1 (unlimited) to {LIMIT_MAX}, not {limit}"
            )
    quotas_db.set_limits(session, project_id, limits)


def _limits(session: Session, conf: cfg.ConfigOpts, project_id: str) -> dict[str, int]:
    configured = {
        queries.amount_of(name): limit for name, limit in conf.quota.claim_amounts.items()
    }
    stored = quotas_db.get_limits(session, project_id)
    own = {name: limit for name, limit in stored.items() if queries.is_quota(name)}
    return {queries.COUNT: conf.quota.claims, **configured, **own}
