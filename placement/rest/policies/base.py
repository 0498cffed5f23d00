"""Basic rules that others refer to, and the declaration of rules for operations."""

from oslo_policy import policy

ADMIN_OR_SERVICE = "rule:admin_or_service_api"
ADMIN_OR_PROJECT_READER_OR_SERVICE = "rule:admin_or_project_reader_or_service_api"
SERVICE = "rule:service_api"

_PROJECT_SCOPE = ["project"]
_LEGACY = "role:admin"

RULES = [
    policy.RuleDefault(
        name="admin_api",
        check_str="role:admin",
        description="Administrators.",
        scope_types=_PROJECT_SCOPE,
    ),
    policy.RuleDefault(
        name="service_api",
        check_str="role:service",
        description="Other services.",
        scope_types=_PROJECT_SCOPE,
    ),
    policy.RuleDefault(
        name="admin_or_service_api",
        check_str="role:admin or role:service",
        description="Administrators and other services.",
        scope_types=_PROJECT_SCOPE,
    ),
    policy.RuleDefault(
        name="project_reader_api",
        check_str="role:reader and project_id:%(project_id)s",
        description="Readers of the project.",
    ),
    policy.RuleDefault(
        name="admin_or_project_reader_or_service_api",
        check_str="role:admin or rule:project_reader_api or role:service",
        description="Administrators, other services, and readers of the project.",
        scope_types=_PROJECT_SCOPE,
    ),
]


def rule(name: str, description: str, check: str = ADMIN_OR_SERVICE) -> policy.RuleDefault:
    """Return a rule of operations, with its default.

    The role admin satisfies every rule while ``[oslo_policy] enforce_new_defaults`` is off.
    """
    return policy.RuleDefault(
        name,
        check,
        description,
        scope_types=_PROJECT_SCOPE,
        deprecated_rule=policy.DeprecatedRule(
            name=name,
            check_str=_LEGACY,
            deprecated_reason="Services have a role of their own.",
            deprecated_since="0.1.0",
        ),
    )
