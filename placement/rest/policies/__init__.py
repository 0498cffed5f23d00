"""Default policies; one file per noun, each rule can be overridden in the policy file."""

from collections import defaultdict

from oslo_policy import policy

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
    resource_provider, resource_class, inventory, aggregate, usage, trait, allocation,
    allocation_candidate, reshaper,
)  # fmt: skip


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules, with the operations of the routes, for the enforcer and the sample."""
    from placement.rest.routes import ROUTES  # which name the rules of this package

    operations: dict[str | None, list[policy.Operation]] = defaultdict(list)
    for path, methods in ROUTES.items():
        for method, action in methods.items():
            operations[action.rule].append({"method": method, "path": path})
    return [
        *base.RULES,
        *(
            base.documented(name, rule, operations[name])
            for noun in _NOUNS
            for name, rule in noun.RULES.items()
        ),
    ]
