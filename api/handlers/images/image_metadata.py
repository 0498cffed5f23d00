"""Metadata of images: their properties, as the Compute API calls them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from api.call import Call
from api.policies.images import image_metadata as policies
from api.policies.images import image_service
from api.schemas.images import image_metadata as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from objects.extra_specs import known_names
from objects.images.image_meta import PROGRAM_PROPERTIES
from objects.images.image_record import ImageRecord


@dataclass(frozen=True, slots=True)
class OwnedImage:
    """An image, and its owner as policy target."""

    record: ImageRecord
    project_id: str | None
    user_id: str | None = None

    @property
    def properties(self) -> Mapping[str, str]:
        """Metadata of the image."""
        return self.record.image.properties


def load(call: Call) -> OwnedImage:
    """Return the image of the path. Raises ImageNotFound."""
    image = call.site.images.lookup(call.context, call.path["image_id"])
    record = call.conductor.get_image(call.context, image)
    return OwnedImage(record, record.owner)


def index(call: Call) -> Answer:
    """List the metadata of an image."""
    return Answer({"metadata": call.subject.properties})


def create(call: Call) -> Answer:
    """Add metadata to an image, or change some."""
    return Answer({"metadata": _changed(call, {**_present(call), **call.body["metadata"]})})


def update_all(call: Call) -> Answer:
    """Replace the metadata of an image."""
    return Answer({"metadata": _changed(call, call.body["metadata"])})


def show(call: Call) -> Answer:
    """Show one item of an image's metadata."""
    return _item(call, _present(call))


def update(call: Call) -> Answer:
    """Set one item of an image's metadata."""
    item, key = call.body["meta"], call.path["key"]
    if key not in item:
        raise invalid("meta", item, f"Its only field must be {key}, as in the path")
    return _item(call, _changed(call, {**_present(call), **item}))


def delete(call: Call) -> Answer:
    """Delete one item of an image's metadata."""
    _item(call, _present(call))
    _changed(call, {key: value for key, value in _present(call).items() if key != call.path["key"]})
    return Answer()


def _present(call: Call) -> Mapping[str, str]:
    image: OwnedImage = call.subject
    return image.properties


def _changed(call: Call, properties: Mapping[str, str]) -> Mapping[str, str]:
    """Store the properties.

    Raises Invalid, ImageChanged, and PolicyNotAuthorized for programs of hosts.
    """
    image: OwnedImage = call.subject
    present = image.properties
    for name, reason in known_names.new_mistakes(properties, present):
        raise invalid(f"metadata.{name}", properties[name], reason)
    if any(present.get(name) != properties.get(name) for name in PROGRAM_PROPERTIES):
        call.authorize(image_service.SET_PROGRAM, {"project_id": image.project_id})
    meta = image.record.image.with_values(properties=dict(properties))
    changed = call.site.images.change(call.context, replace(image.record, image=meta))
    stored: Mapping[str, str] = changed.image.properties
    return stored


def _item(call: Call, metadata: Mapping[str, str]) -> Answer:
    key = call.path["key"]
    if key not in metadata:
        raise exception.NotFound(what=f"Metadata item {key} of image {call.path['image_id']}")
    return Answer({"meta": {key: metadata[key]}})


UNTIL = (2, 38)
ROUTES: Routes[Call] = {
    "/v2.1/images/{image_id}/metadata": {
        "GET": Action(index, policies.INDEX, schemas.ANSWER, until=UNTIL, subject=load),
        "POST": Action(
            create, policies.CREATE, schemas.ANSWER, until=UNTIL, body=schemas.ALL, subject=load
        ),
        "PUT": Action(
            update_all,
            policies.UPDATE_ALL,
            schemas.ANSWER,
            until=UNTIL,
            body=schemas.ALL,
            subject=load,
        ),
    },
    "/v2.1/images/{image_id}/metadata/{key}": {
        "GET": Action(show, policies.SHOW, schemas.ITEM_ANSWER, until=UNTIL, subject=load),
        "PUT": Action(
            update,
            policies.UPDATE,
            schemas.ITEM_ANSWER,
            until=UNTIL,
            body=schemas.ITEM,
            subject=load,
        ),
        "DELETE": Action(delete, policies.DELETE, until=UNTIL, status=204, subject=load),
    },
}
