"""Basic rules that others refer to: administrators, members and readers of a project."""

from collections.abc import Iterable

from oslo_policy import policy

IS_ADMIN = "context_is_admin"

ADMIN = f"rule:{IS_ADMIN}"
MEMBER = "rule:project_member_or_admin"
READER = "rule:project_reader_or_admin"
ANYBODY = "@"
NOBODY = "!"


def rule(
    name: str, check: str, description: str, asked_at: Iterable[tuple[str, str]] = ()
) -> policy.RuleDefault:
    """Return a rule with its default.

    The routes tell which requests it applies to; ``asked_at`` are the methods and paths where a
    handler asks for it.
    """
    if not asked_at:
        return policy.RuleDefault(name, check, description)
    operations: list[policy.Operation] = [{"method": each, "path": path} for each, path in asked_at]
    return policy.DocumentedRuleDefault(name, check, description, operations)


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
