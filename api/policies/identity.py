"""Identity: users see themselves and their projects, administrators all accounts."""

from api.policies.base import ADMIN, ANYBODY, rule

ADMIN_OR_OWN = f"user_id:%(user_id)s or {ADMIN}"

VALIDATE_TOKEN = "identity:validate_token"  # noqa: S105 - names of rules
REVOKE_TOKEN = "identity:revoke_token"  # noqa: S105
OWN = "identity:get_own"
LIST = "identity:list_accounts"
CHANGE = "identity:change_accounts"
CHANGE_PASSWORD = "identity:change_password"  # noqa: S105
CREATE_CREDENTIAL = "identity:create_application_credential"
GET_CREDENTIAL = "identity:get_application_credential"
DELETE_CREDENTIAL = "identity:delete_application_credential"
GET_USER = "identity:get_user"
GET_PROJECT = "identity:get_project"
GET_CATALOG = "identity:get_catalog"

RULES = [
    rule(VALIDATE_TOKEN, ADMIN_OR_OWN, "Show what a token is for."),
    rule(REVOKE_TOKEN, ADMIN_OR_OWN, "Revoke a token."),
    rule(OWN, ANYBODY, "See one's own projects, and the domain."),
    rule(LIST, ADMIN, "List users, projects, roles and who has which role."),
    rule(
        CHANGE, ADMIN, "Create, change and delete users, projects, roles, and who has which role."
    ),
    rule(CHANGE_PASSWORD, "user_id:%(user_id)s", "Change one's own password."),
    rule(CREATE_CREDENTIAL, "user_id:%(user_id)s", "Create an application credential for oneself."),
    rule(GET_CREDENTIAL, ADMIN_OR_OWN, "List and show the application credentials of a user."),
    rule(DELETE_CREDENTIAL, ADMIN_OR_OWN, "Delete an application credential of a user."),
    rule(GET_USER, ADMIN_OR_OWN, "Show a user, and the projects in which the user has a role."),
    rule(GET_PROJECT, ADMIN_OR_OWN, "Show a project; its users may."),
    rule(GET_CATALOG, ANYBODY, "See where services are."),
]
