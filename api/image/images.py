"""Images: list, show, create, change, delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from api.formats.links import page
from api.image import schemas, unneeded
from api.image.call import Call
from api.image.documents import shown, values_of, with_values
from api.image.patches import patched
from api.policies.images import image_service as policies
from api.validation import Check
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.validation import invalid
from armillary.names.identifiers import uuid_of_request
from objects.extra_specs import known_names
from objects.images.image_meta import PROGRAM_PROPERTIES, ImageMeta
from objects.images.image_record import (
    ACCEPTED,
    ACTIVE,
    DEACTIVATED,
    PUBLIC,
    QUEUED,
    SAVING,
    SHARED,
    ImageRecord,
)

SORT_KEYS = (
    "name", "status", "id", "created_at", "updated_at", "size", "disk_format", "container_format",
)  # fmt: skip
_NOT_FILTERS = frozenset({"limit", "marker", "sort", "sort_key", "sort_dir", "member_status"})
_VALUES = Check(schemas.VALUES)


def index(call: Call) -> Answer:
    """List images."""
    records = call.conductor.list_images(call.context)
    found = [each for each in records if _is_asked_for(each, call)]
    documents = _sorted([shown(each) for each in found], call.query)
    limit = min(call.query.get("limit", call.site.max_limit), call.site.max_limit)
    cut, marker = page(documents, lambda each: each["id"], limit, call.query.get("marker"))
    answer: Document = {"images": cut, "first": "/v2/images", "schema": "/v2/schemas/images"}
    if marker is not None:
        query = urlencode({**call.query, "marker": marker}, doseq=True)
        answer["next"] = f"/v2/images?{query}"
    return Answer(answer)


def show(call: Call) -> Answer:
    """Show an image."""
    return Answer(shown(call.image))


def create(call: Call) -> Answer:
    """Create an image without data, which is uploaded later."""
    values = dict(call.body)
    image_id = values.pop("id", "").lower() or uuid_of_request(call.context, "image")
    draft = ImageRecord(
        ImageMeta.from_values(id=image_id, name="", status=QUEUED),
        owner=call.context.project_id,
        visibility=SHARED,
    )
    _require_settable(values)
    record = with_values(draft, values)
    _check_names(draft, record)
    _authorize_change(call, draft, record)
    made = call.conductor.create_image(
        call.context, record, of_owner_max=call.site.images_per_project_max
    )
    return Answer(shown(made), headers={"Location": f"{call.root}/v2/images/{image_id}"})


def update(call: Call) -> Answer:
    """Change fields and properties by a JSON patch."""

    def edit(record: ImageRecord) -> ImageRecord:
        values = patched(values_of(record), call.body)
        _require_settable(values)
        _VALUES.body(values)
        changed = with_values(record, values)
        _check_names(record, changed)
        _check_formats(record, changed)
        _authorize_change(call, record, changed)
        return changed

    return Answer(shown(call.change(edit)))


def delete(call: Call) -> Answer:
    """Delete an image and its data; servers keep their copy of the record."""
    call.conductor.delete_image(call.context, call.image.image.id)
    unneeded.delete_with_data(call.conductor, call.image, call.site.store.remove)
    return Answer()


def list_tasks(call: Call) -> Answer:
    """List the tasks of an image: none, as its data is stored without one."""
    return Answer({"tasks": []})


def deactivate(call: Call) -> Answer:
    """Keep an image from being used for new servers."""
    return _with_status(call, ACTIVE, DEACTIVATED)


def reactivate(call: Call) -> Answer:
    """Allow an image again."""
    return _with_status(call, DEACTIVATED, ACTIVE)


def add_tag(call: Call) -> Answer:
    """Add a tag."""
    tag = call.path["tag"]
    tags = [*call.image.tags, tag]
    if len(set(tags)) > schemas.TAGS_MAX:
        raise invalid("tag", tag, f"An image has at most {schemas.TAGS_MAX} tags")
    call.change(lambda record: replace(record, tags=list(dict.fromkeys([*record.tags, tag]))))
    return Answer()


def remove_tag(call: Call) -> Answer:
    """Remove a tag."""
    tag = call.path["tag"]
    if tag not in call.image.tags:
        raise exception.NotFound(f"The image has no tag {tag}.")
    call.change(lambda record: replace(record, tags=[each for each in record.tags if each != tag]))
    return Answer()


def _with_status(call: Call, before: str, after: str) -> Answer:
    def edit(record: ImageRecord) -> ImageRecord:
        status = record.image.status
        if status not in (before, after):
            raise exception.Forbidden(reason=f"the image is {status}, not {before}")
        return replace(record, image=record.image.with_values(status=after))

    call.change(edit)
    return Answer()


def _require_settable(values: Mapping[str, Any]) -> None:
    for name in values:
        if name in schemas.READ_ONLY or name == "id":
            raise exception.Forbidden(reason=f"attribute '{name}' is read-only")


def _check_names(before: ImageRecord, after: ImageRecord) -> None:
    """Reject new properties whose names are typing errors."""
    properties = after.image.properties
    for name, reason in known_names.new_mistakes(properties, before.image.properties):
        raise invalid(name, properties[name], reason)


def _check_formats(before: ImageRecord, after: ImageRecord) -> None:
    """Reject another format of data that is there, or is being stored: hosts read it as that."""
    has_data = before.sha512 is not None or before.image.status == SAVING
    for name, old, new in (
        ("disk_format", before.image.disk_format, after.image.disk_format),
        ("container_format", before.container_format, after.container_format),
    ):
        if has_data and old != new:
            raise exception.Forbidden(reason=f"{name} can be changed until the image has data")


def _authorize_change(call: Call, before: ImageRecord, after: ImageRecord) -> None:
    """Raise PolicyNotAuthorized for changes that only some users may make."""
    target = {"project_id": before.owner, "user_id": None}
    if after.visibility == PUBLIC != before.visibility:
        call.authorize(policies.PUBLICIZE, target)
    if after.owner != before.owner:
        call.authorize(policies.CHOOSE_OWNER, target)
    old, new = before.image.properties, after.image.properties
    if any(old.get(name) != new.get(name) for name in PROGRAM_PROPERTIES):
        call.authorize(policies.SET_PROGRAM, target)


def _is_asked_for(record: ImageRecord, call: Call) -> bool:
    query = call.query
    if not _is_visible_as(record, call, query.get("visibility")):
        return False
    if "os_hidden" not in query and record.is_hidden:
        return False
    document = shown(record)
    size = document["size"] or 0
    if not query.get("size_min", 0) <= size <= query.get("size_max", size):
        return False
    return all(
        _matches(document, name, value)
        for name, value in query.items()
        if name not in _NOT_FILTERS and name not in ("visibility", "size_min", "size_max")
    )


def _is_visible_as(record: ImageRecord, call: Call, visibility: str | None) -> bool:
    """Return whether an image is listed; community images only where they are asked for."""
    own = call.context.project_id or ""
    if visibility is not None and visibility not in ("all", record.visibility):
        return False
    if call.context.is_admin or record.owner == own or record.visibility == PUBLIC:
        return True
    if record.visibility == SHARED:
        wanted = call.query.get("member_status", ACCEPTED)
        return wanted == "all" or record.members.get(own) == wanted
    return visibility is not None


def _matches(document: Document, name: str, value: Any) -> bool:
    if name == "tag":
        wanted = value if isinstance(value, list) else [value]
        return set(wanted) <= set(document["tags"])
    found, text = document.get(name), str(value)
    if isinstance(found, bool):
        return text.lower() == str(found).lower()
    if text.startswith("in:"):
        return str(found) in [each.strip('"') for each in text.removeprefix("in:").split(",")]
    for operator, holds in _COMPARISONS.items():
        if text.startswith(operator) and name.endswith("_at"):
            return holds(str(found), text.removeprefix(operator))
    return found is not None and str(found) == text


_COMPARISONS: dict[str, Callable[[str, str], bool]] = {
    "gte:": str.__ge__, "gt:": str.__gt__, "lte:": str.__le__, "lt:": str.__lt__,
    "eq:": str.__eq__, "neq:": str.__ne__,
}  # fmt: skip


def _sorted(documents: list[Document], query: Mapping[str, Any]) -> list[Document]:
    """Return the list in the order of ``sort`` or ``sort_key``; by default newest first."""
    keys: dict[str, bool] = {}
    for name, is_descending in _sort_keys(query):
        keys.setdefault(name, is_descending)  # repeated, it would take time and change nothing
    ordered = sorted(documents, key=lambda each: str(each["id"]))
    for name, is_descending in reversed(keys.items()):
        if name not in SORT_KEYS:
            raise invalid("sort_key", name, f"Images are sorted by: {', '.join(SORT_KEYS)}")
        ordered.sort(
            key=lambda each: (each[name] is not None, each[name] or type(each[name])()),
            reverse=is_descending,
        )
    return ordered


def _sort_keys(query: Mapping[str, Any]) -> list[tuple[str, bool]]:
    if "sort" in query:
        parts = query["sort"] if isinstance(query["sort"], list) else query["sort"].split(",")
        return [(key, way != "asc") for key, _, way in (part.partition(":") for part in parts)]
    names = query.get("sort_key", "created_at")
    ways = query.get("sort_dir", "desc")
    names = names if isinstance(names, list) else [names]
    ways = ways if isinstance(ways, list) else [ways]
    ways = ways * len(names) if len(ways) == 1 else ways
    return [(name, way != "asc") for name, way in zip(names, ways, strict=False)]
