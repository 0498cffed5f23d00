"""Image service: users see public, own and shared images, and create images of their project."""

from api.policies.base import ADMIN, ANYBODY, MEMBER, rule

GET = "image:get_image"
ADD = "image:add_image"
MODIFY = "image:modify_image"
DELETE = "image:delete_image"
UPLOAD = "image:upload_image"
DOWNLOAD = "image:download_image"
PUBLICIZE = "image:publicize_image"
CHOOSE_OWNER = "image:choose_owner"
SET_PROGRAM = "image:set_program"
DEACTIVATE = "image:deactivate"
SHARE = "image:share"
ANSWER_SHARING = "image:answer_sharing"

RULES = [
    rule(
        GET,
        ANYBODY,
        "List and show images that are public, one's own or shared with one's project.",
    ),
    rule(ADD, MEMBER, "Create an image."),
    rule(MODIFY, MEMBER, "Change an image, its properties and tags."),
    rule(DELETE, MEMBER, "Delete an image."),
    rule(UPLOAD, MEMBER, "Upload data."),
    rule(DOWNLOAD, ANYBODY, "Download data."),
    rule(
        PUBLICIZE,
        ADMIN,
        "Let all projects use an image.",
        [("POST", "/v2/images"), ("PATCH", "/v2/images/{image_id}")],
    ),
    rule(
        CHOOSE_OWNER,
        ADMIN,
        "Let an image belong to another project.",
        [("POST", "/v2/images"), ("PATCH", "/v2/images/{image_id}")],
    ),
    rule(
        SET_PROGRAM,
        ADMIN,
        "Set properties that name a program or a file of the hosts: users who may can run any "
        "program there.",
        [("POST", "/v2/images"), ("PATCH", "/v2/images/{image_id}")],
    ),
    rule(DEACTIVATE, ADMIN, "Keep an image from being used, and allow it again."),
    rule(SHARE, MEMBER, "Share an image with other projects, and stop it."),
    rule(ANSWER_SHARING, MEMBER, "Accept or reject an image that is shared with one's project."),
]
