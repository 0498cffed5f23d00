"""Basic rules that others refer to: administrators, members and readers of a project."""

from __future__ import annotations

from collections.abc import Iterable

from oslo_policy import policy

IS_ADMIN = "context_is_admin"

ADMIN = f"rule:{IS_ADMIN}"
MEMBER = "rule:project_member_or_admin"
READER = "rule:project_reader_or_admin"
ANYBODY = "@"
NOBODY = "!"

Operation = tuple[str, str]
"""A method and a path."""


def rule(
    name: str, check: str, description: str, operations: Iterable[Operation]
) -> policy.DocumentedRuleDefault:
    """Return a rule with its default and the requests that it applies to."""
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[{"method": method, "path": path} for method, path in operations],
    )


RULES: list[policy.RuleDefault] = [
    policy.RuleDefault(
        IS_ADMIN, "role:admin", "Administrators: they see all projects, hosts and reasons."
    ),
    policy.RuleDefault(
        "project_member_or_admin",
        f"(role:member and project_id:%(project_id)s) or {ADMIN}",
        "Users who may change resources of a project.",
    ),
    policy.RuleDefault(
        "project_reader_or_admin",
        f"(role:reader and project_id:%(project_id)s) or {ADMIN}",
        "Users who may see resources of a project.",
    ),
]
