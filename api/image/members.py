"""Members of shared images: projects that may use them."""

from dataclasses import replace

from api.formats import times
from api.image.call import Call, load
from api.image.schemas import MEMBERS_MAX
from armillary import exception
from armillary.http.call import Answer, Document
from objects.images.image_record import PENDING, SHARED, ImageRecord


def index(call: Call) -> Answer:
    """List the members that the caller may see."""
    _require_shared(call.image)
    members = [_shown(call.image, member) for member in call.image.members]
    return Answer({"members": members, "schema": "/v2/schemas/members"})


def show(call: Call) -> Answer:
    """Show one member."""
    return Answer(_shown(call.image, _member(call)))


def create(call: Call) -> Answer:
    """Let another project use the image, once it has accepted it."""
    _require_shared(call.image)
    member = call.body["member"]
    if member in call.image.members:
        raise exception.Conflict(f"The image is shared with {member} already.")
    if len(call.image.members) >= MEMBERS_MAX:
        raise exception.Forbidden(reason=f"an image has at most {MEMBERS_MAX} members")
    made = call.change(lambda record: replace(record, members={**record.members, member: PENDING}))
    return Answer(_shown(made, member))


def answer(call: Call) -> Answer:
    """Accept or reject an image that is shared with the caller's project."""
    _require_shared(call.image)
    member = _member(call)
    status = call.body["status"]
    # Others' members are hidden from a member, so the change starts from the whole record.
    changed = call.conductor.answer_image_sharing(call.context, call.image.image.id, member, status)
    return Answer(_shown(changed, member))


def delete(call: Call) -> Answer:
    """Stop sharing the image with a project."""
    member = _member(call)
    call.change(
        lambda record: replace(
            record, members={key: value for key, value in record.members.items() if key != member}
        )
    )
    return Answer()


def member_target(call: Call) -> Document:
    """Load the image; return the member's project, as policy target."""
    load(call)
    return {"project_id": call.path["member_id"], "user_id": None}


def _member(call: Call) -> str:
    member = call.path["member_id"]
    if member not in call.image.members:
        raise exception.NotFound(f"The image is not shared with {member}.")
    return member


def _require_shared(record: ImageRecord) -> None:
    if record.visibility != SHARED:
        raise exception.Forbidden(reason=f"the image is {record.visibility}, not {SHARED}")


def _shown(record: ImageRecord, member: str) -> Document:
    return {
        "image_id": record.image.id,
        "member_id": member,
        "status": record.members[member],
        "created_at": times.seconds(record.image.created_at),
        "updated_at": times.seconds(record.image.updated_at or record.image.created_at),
        "schema": "/v2/schemas/member",
    }
