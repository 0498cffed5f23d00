"""Images: records of what servers are built from."""

from collections.abc import Mapping
from typing import Any

from api.call import Call
from api.formats import times
from api.formats.links import page
from api.handlers.images import image_metadata
from api.policies.images import image as policies
from api.schemas.images import image as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from armillary.names.identifiers import uuid_of_request
from objects.extra_specs import known_names
from objects.images.image_meta import ImageMeta
from objects.images.image_record import (
    ACTIVE,
    DEACTIVATED,
    IMAGE_TYPE,
    INSTANCE_UUID,
    QUEUED,
    SAVING,
)

COLLECTION = "images"
COMPLETE = 100
PROGRESS_OF_OTHERS = 25
"""Progress of images that have no data yet: it is not measured."""
STATUSES = {ACTIVE: "ACTIVE", DEACTIVATED: "ACTIVE", QUEUED: "SAVING", SAVING: "SAVING"}


def index(call: Call) -> Answer:
    """List images by id and name."""
    images, links = _page(call)
    return Answer({"images": [_brief(call, image) for image in images], **links})


def detail(call: Call) -> Answer:
    """List images with details."""
    images, links = _page(call)
    return Answer({"images": [_show(call, image) for image in images], **links})


def show(call: Call) -> Answer:
    """Show an image."""
    image = call.site.images.get(call.context, call.path["image_id"])
    return Answer({"image": _show(call, image)})


def create(call: Call) -> Answer:
    """Create an image record; with the process driver its properties name a program."""
    wanted = call.body["image"]
    properties = wanted.get("properties", {})
    for name, reason in known_names.new_mistakes(properties):
        raise invalid(f"image.properties.{name}", properties[name], reason)
    image = ImageMeta.from_values(
        id=wanted.get("id", "").lower() or uuid_of_request(call.context, "image"),
        name=wanted["name"],
        disk_format=wanted.get("disk_format"),
        min_ram_mb=wanted.get("minRam", 0),
        min_disk_gb=wanted.get("minDisk", 0),
        size_bytes=wanted.get("size", 0),
        properties=properties,
    )
    made = call.site.images.create(call.context, image)
    return Answer({"image": _show(call, made)})


def delete(call: Call) -> Answer:
    """Delete an image and its data; existing servers keep their copy of the record."""
    found: image_metadata.OwnedImage = call.subject
    call.site.images.delete(call.context, found.record)
    return Answer()


def _page(call: Call) -> tuple[list[ImageMeta], Document]:
    images = [
        image for image in call.site.images.list(call.context) if _is_asked_for(call.query, image)
    ]
    cut, marker = page(images, lambda image: image.id, call.page_size, call.query.get("marker"))
    return cut, {} if marker is None else {"images_links": call.links.next_page(marker)}


def _is_asked_for(query: Mapping[str, Any], image: ImageMeta) -> bool:
    since = times.asked(query, "changes-since")
    changed_at = image.updated_at or image.created_at
    found = {
        "name": image.name,
        "status": STATUSES.get(image.status),
        "server": image.properties.get(INSTANCE_UUID),
        "type": image.properties.get(IMAGE_TYPE, "base"),
        "minDisk": image.min_disk_gb,
        "minRam": image.min_ram_mb,
    }
    if since is not None and changed_at is not None and changed_at < since:
        return False
    return all(_matches(query[name], value) for name, value in found.items() if name in query)


def _matches(wanted: Any, found: Any) -> bool:
    """Return whether a value is the wanted one; a server may be named by its URL."""
    text = str(wanted).rstrip("/").rpartition("/")[2] if "://" in str(wanted) else str(wanted)
    return text.lower() == str(found).lower()


def _brief(call: Call, image: ImageMeta) -> Document:
    return {"id": image.id, "name": image.name, "links": call.links.of(COLLECTION, image.id)}


def _server(call: Call, image: ImageMeta) -> Document:
    """Return the server that a snapshot was made of."""
    server_id = image.properties.get(INSTANCE_UUID)
    if server_id is None:
        return {}
    return {"server": {"id": server_id, "links": call.links.of("servers", server_id)}}


def _show(call: Call, image: ImageMeta) -> Document:
    return {
        **_brief(call, image),
        "status": STATUSES.get(image.status, "UNKNOWN"),
        "progress": COMPLETE if image.status == ACTIVE else PROGRESS_OF_OTHERS,
        "disk_format": image.disk_format,
        "minRam": image.min_ram_mb,
        "minDisk": image.min_disk_gb,
        "OS-EXT-IMG-SIZE:size": image.size_bytes,
        "metadata": image.properties,  # the Compute API's name for properties
        "properties": image.properties,
        **_server(call, image),
        "created": times.seconds(image.created_at),
        "updated": times.seconds(image.updated_at or image.created_at),
    }


ROUTES: Routes[Call] = {
    "/v2.1/images": {
        "GET": Action(index, policies.SHOW, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY),
        "POST": Action(
            create, policies.CREATE, schemas.SHOW_ANSWER, body=schemas.CREATE, status=201
        ),
    },
    "/v2.1/images/detail": {
        "GET": Action(detail, policies.SHOW, schemas.DETAIL_ANSWER, query=schemas.INDEX_QUERY)
    },
    "/v2.1/images/{image_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER),
        "DELETE": Action(delete, policies.DELETE, status=204, subject=image_metadata.load),
    },
}
