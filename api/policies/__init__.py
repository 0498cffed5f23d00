"""Default policies; one file per noun, each rule can be overridden in the policy file."""

from oslo_policy import policy

from api.policies.rules import RULES
from armillary.http.policy_rules import documented


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules, with the operations of the routes, for the sample policy file."""
    from api.identity.routes import (
        ROUTES as IDENTITY_ROUTES,
    )  # which name the rules of this package
    from api.image.routes import ROUTES as IMAGE_ROUTES
    from api.routes import ROUTES

    return documented(RULES, [ROUTES, IMAGE_ROUTES, IDENTITY_ROUTES])
