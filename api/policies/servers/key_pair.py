"""Key pairs: users manage their own."""

from api.policies.base import ADMIN, rule

INDEX = "os_compute_api:os-keypairs:index"
SHOW = "os_compute_api:os-keypairs:show"
CREATE = "os_compute_api:os-keypairs:create"
DELETE = "os_compute_api:os-keypairs:delete"

OWNER = f"user_id:%(user_id)s or {ADMIN}"

RULES = [
    rule(INDEX, OWNER, "List a user's key pairs."),
    rule(SHOW, OWNER, "Show a key pair."),
    rule(CREATE, OWNER, "Store or make a key pair."),
    rule(DELETE, OWNER, "Delete a key pair."),
]
