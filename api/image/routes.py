"""Route table of the image service: path, method, handler, policy, schemas."""

from api.image import discovery, files, images, members, schemas, transfers
from api.image.call import Call, load
from api.policies.images import image_service as policies
from armillary.http.dispatch import Action, Routes

_IMAGE = "/v2/images/{image_id}"
TRANSFERS = "/v2/transfers"

_VERSIONS = Action(discovery.index, None, query=schemas.ANY_QUERY, status=300)

ROUTES: Routes[Call] = {
    "/": {"GET": _VERSIONS},
    "/versions": {"GET": Action(discovery.index, None)},
    "/v2/schemas/{name}": {"GET": Action(discovery.schema, policies.GET)},
    "/v2/info/import": {"GET": Action(discovery.imports, policies.GET)},
    "/v2/images": {
        "GET": Action(images.index, policies.GET, query=schemas.ANY_QUERY),
        "POST": Action(images.create, policies.ADD, body=schemas.CREATE, status=201),
    },
    _IMAGE: {
        "GET": Action(images.show, policies.GET, subject=load),
        "PATCH": Action(images.update, policies.MODIFY, body=schemas.PATCH, subject=load),
        "DELETE": Action(images.delete, policies.DELETE, status=204, subject=load),
    },
    f"{_IMAGE}/tasks": {"GET": Action(images.list_tasks, policies.GET, subject=load)},
    f"{_IMAGE}/file": {
        "GET": Action(files.download, policies.DOWNLOAD, subject=load, media_type=files.DATA),
        "PUT": Action(files.upload, policies.UPLOAD, status=204, subject=load),
    },
    f"{TRANSFERS}/{{image_id}}": {  # of hosts: a ticket says what they may do
        "GET": Action(transfers.read, None, media_type=files.DATA),
        "PUT": Action(transfers.write, None, status=204),
    },
    f"{_IMAGE}/tags/{{tag}}": {
        "PUT": Action(images.add_tag, policies.MODIFY, status=204, subject=load),
        "DELETE": Action(images.remove_tag, policies.MODIFY, status=204, subject=load),
    },
    f"{_IMAGE}/actions/deactivate": {
        "POST": Action(images.deactivate, policies.DEACTIVATE, status=204, subject=load)
    },
    f"{_IMAGE}/actions/reactivate": {
        "POST": Action(images.reactivate, policies.DEACTIVATE, status=204, subject=load)
    },
    f"{_IMAGE}/members": {
        "GET": Action(members.index, policies.GET, subject=load),
        "POST": Action(members.create, policies.SHARE, body=schemas.ADD_MEMBER, subject=load),
    },
    f"{_IMAGE}/members/{{member_id}}": {
        "GET": Action(members.show, policies.GET, subject=load),
        "PUT": Action(
            members.answer,
            policies.ANSWER_SHARING,
            body=schemas.ANSWER,
            subject=members.member_target,
        ),
        "DELETE": Action(members.delete, policies.SHARE, status=204, subject=load),
    },
}
