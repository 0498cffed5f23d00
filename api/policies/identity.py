"""Identity: users see themselves and their projects, administrators all accounts."""

from api.policies.base import ADMIN, ANYBODY, rule

ADMIN_OR_OWN = f"user_id:%(user_id)s or {ADMIN}"

VALIDATE_TOKEN = "identity:validate_token"  # noqa: S105 - names of rules
REVOKE_TOKEN = "identity:revoke_token"  # noqa: S105
OWN = "identity:get_own"
LIST = "identity:list_accounts"
CHANGE = "identity:change_accounts"
CHANGE_PASSWORD = "identity:change_password"  # noqa: S105
GET_USER = "identity:get_user"
GET_PROJECT = "identity:get_project"
GET_CATALOG = "identity:get_catalog"

RULES = [
    rule(
        VALIDATE_TOKEN,
        ADMIN_OR_OWN,
        "Show what a token is for.",
        [("GET", "/v3/auth/tokens"), ("HEAD", "/v3/auth/tokens")],
    ),
    rule(REVOKE_TOKEN, ADMIN_OR_OWN, "Revoke a token.", [("DELETE", "/v3/auth/tokens")]),
    rule(
        OWN,
        ANYBODY,
        "See one's own projects, and the domain.",
        [
            ("GET", "/v3/auth/projects"),
            ("GET", "/v3/auth/domains"),
            ("GET", "/v3/domains"),
            ("GET", "/v3/domains/{id}"),
        ],
    ),
    rule(
        LIST,
        ADMIN,
        "List users, projects, roles and who has which role.",
        [
            ("GET", "/v3/users"),
            ("GET", "/v3/projects"),
            ("GET", "/v3/roles"),
            ("GET", "/v3/roles/{id}"),
            ("GET", "/v3/role_assignments"),
            ("GET", "/v3/projects/{project_id}/users/{user_id}/roles"),
        ],
    ),
    rule(
        CHANGE,
        ADMIN,
        "Create, change and delete users, projects, roles, and who has which role.",
        [
            ("POST", "/v3/users"),
            ("PATCH", "/v3/users/{user_id}"),
            ("DELETE", "/v3/users/{user_id}"),
            ("POST", "/v3/projects"),
            ("PATCH", "/v3/projects/{project_id}"),
            ("DELETE", "/v3/projects/{project_id}"),
            ("POST", "/v3/roles"),
            ("DELETE", "/v3/roles/{id}"),
            ("PUT", "/v3/projects/{project_id}/users/{user_id}/roles/{role_id}"),
            ("DELETE", "/v3/projects/{project_id}/users/{user_id}/roles/{role_id}"),
        ],
    ),
    rule(
        CHANGE_PASSWORD,
        "user_id:%(user_id)s",
        "Change one's own password.",
        [("POST", "/v3/users/{user_id}/password")],
    ),
    rule(
        GET_USER,
        ADMIN_OR_OWN,
        "Show a user, and the projects in which the user has a role.",
        [
            ("GET", "/v3/users/{user_id}"),
            ("GET", "/v3/users/{user_id}/projects"),
            ("GET", "/v3/users/{user_id}/groups"),
        ],
    ),
    rule(
        GET_PROJECT,
        ADMIN_OR_OWN,
        "Show a project; its users may.",
        [("GET", "/v3/projects/{project_id}")],
    ),
    rule(
        GET_CATALOG,
        ANYBODY,
        "See where services are.",
        [
            ("GET", "/v3/auth/catalog"),
            ("GET", "/v3/services"),
            ("GET", "/v3/endpoints"),
            ("GET", "/v3/regions"),
        ],
    ),
]
