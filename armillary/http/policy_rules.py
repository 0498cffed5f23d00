"""Rules of a policy beside the requests that they apply to, which the route tables tell."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from oslo_policy import policy

from armillary.http.dispatch import Routes, actions_of


def documented(
    rules: Iterable[policy.RuleDefault], tables: Iterable[Routes[Any]]
) -> list[policy.RuleDefault]:
    """Return rules for the sample policy file, with the operations of the routes that name them.

    Operations that a rule already has come last: handlers ask it there, beside that of the route.
    """
    operations = _operations(tables)
    return [_with_operations(rule, operations[rule.name]) for rule in rules]


def _operations(tables: Iterable[Routes[Any]]) -> dict[str | None, list[policy.Operation]]:
    operations: dict[str | None, list[policy.Operation]] = defaultdict(list)
    for table in tables:
        for path, methods in table.items():
            for name, method in methods.items():
                operation: policy.Operation = {"method": name, "path": path}
                for rule in {action.rule for action in actions_of(method)}:
                    operations[rule].append(operation)
    return operations


def _with_operations(
    rule: policy.RuleDefault, operations: list[policy.Operation]
) -> policy.RuleDefault:
    if isinstance(rule, policy.DocumentedRuleDefault):
        operations = [*operations, *rule.operations]
    if not operations:
        return rule
    return policy.DocumentedRuleDefault(
        name=rule.name,
        check_str=rule.check_str,
        description=rule.description or "",
        operations=operations,
        deprecated_rule=rule.deprecated_rule,
        scope_types=rule.scope_types,
    )
