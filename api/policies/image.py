"""Images: all users see the records, administrators create and delete them."""

from __future__ import annotations

from api.policies.base import ADMIN, ANYBODY, rule

SHOW = "os_compute_api:images:show"
CREATE = "os_compute_api:images:create"
DELETE = "os_compute_api:images:delete"

RULES = [
    rule(
        SHOW,
        ANYBODY,
        "List and show images.",
        [
            ("GET", "/v2.1/images"),
            ("GET", "/v2.1/images/detail"),
            ("GET", "/v2.1/images/{image_id}"),
        ],
    ),
    rule(
        CREATE,
        ADMIN,
        "Create an image. With the process driver an image names a program: users who may "
        "create one can run any program on the hosts.",
        [("POST", "/v2.1/images")],
    ),
    rule(DELETE, ADMIN, "Delete an image.", [("DELETE", "/v2.1/images/{image_id}")]),
]
