"""Default policies; one file per noun, each rule can be overridden in the policy file."""

from oslo_policy import policy

from armillary.http.policy_rules import documented
from placement.rest.policies import (
    aggregate,
    allocation,
    allocation_candidate,
    base,
    inventory,
    reshaper,
    resource_class,
    resource_provider,
    trait,
    usage,
)

_NOUNS = (
    base, resource_provider, resource_class, inventory, aggregate, usage, trait, allocation,
    allocation_candidate, reshaper,
)  # fmt: skip


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules, with the operations of the routes, for the enforcer and the sample."""
    from placement.rest.routes import ROUTES  # which name the rules of this package

    return documented((rule for noun in _NOUNS for rule in noun.RULES), [ROUTES])
