"""Images: users see those that they may use; administrators create them, their projects delete."""

from api.policies.base import ADMIN, ANYBODY, MEMBER, rule

SHOW = "os_compute_api:images:show"
CREATE = "os_compute_api:images:create"
DELETE = "os_compute_api:images:delete"

RULES = [
    rule(SHOW, ANYBODY, "List and show images."),
    rule(
        CREATE,
        ADMIN,
        "Create an image. With the process driver an image names a program: users who may "
        "create one can run any program on the hosts.",
    ),
    rule(DELETE, MEMBER, "Delete an image of the project."),
]
