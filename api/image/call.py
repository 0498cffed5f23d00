"""Arguments of the image service's handlers: the request, and the state shared by all requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

import falcon

from api.image.store import ImageStore
from armillary import exception
from armillary.http import call
from armillary.http.own_origin import own_origin
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images.image_record import ImageRecord

CHANGE_ATTEMPTS_MAX = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState(call.Site):
    """State shared by all requests to the image service."""

    conductor: SuperConductorAPI
    store: ImageStore
    max_limit: int
    link_prefix: str | None
    images_per_project_max: int


@dataclass(slots=True, kw_only=True)
class Call(call.Call[AppState]):
    """A request to the image service.

    ``root`` is the address of this API. ``data`` is the body of an upload, of ``data_bytes`` bytes;
    None: of unknown length. ``header`` returns another header of the request. ``record`` is the
    image of the path, once it is loaded.
    """

    root: str
    data: IO[bytes]
    data_bytes: int | None
    media_type: str
    header: Callable[[str], str | None]
    record: ImageRecord | None = None

    @classmethod
    def of(cls, req: falcon.Request, **fields: Any) -> Call:
        """Return the call of a request, with these other fields."""
        site: AppState = fields["site"]
        origin = site.link_prefix or own_origin(req.env)
        is_chunked = bool(req.get_header("Transfer-Encoding"))
        return cls(
            root=f"{origin}{req.root_path}",
            data=req.stream if is_chunked else req.bounded_stream,  # type: ignore[arg-type]
            data_bytes=None if is_chunked else req.content_length,
            header=req.get_header,
            media_type=(req.content_type or "").partition(";")[0].strip().lower(),
            **fields,
        )

    @property
    def conductor(self) -> SuperConductorAPI:
        """Client of the super conductor, which stores the records."""
        return self.site.conductor

    @property
    def image(self) -> ImageRecord:
        """The image of the path."""
        assert self.record is not None, "its action loads it"
        return self.record

    def allows(self, rule: str, target: Mapping[str, Any]) -> bool:
        """Return whether ``authorize`` would succeed."""
        try:
            self.authorize(rule, target)
        except exception.PolicyNotAuthorized:
            return False
        return True

    def change(self, edit: Callable[[ImageRecord], ImageRecord]) -> ImageRecord:
        """Store what ``edit`` makes of the image of the path; again if it was changed meanwhile.

        Raises ImageNotFound, ImageChanged after some attempts, and what ``edit`` raises.
        """
        for _attempt in range(CHANGE_ATTEMPTS_MAX - 1):
            try:
                return self.conductor.update_image(self.context, edit(self.image))
            except exception.ImageChanged:
                load(self)
        return self.conductor.update_image(self.context, edit(self.image))

    @property
    def default_target(self) -> Mapping[str, Any]:
        """The caller's own project."""
        return {"project_id": self.context.project_id, "user_id": self.context.user_id}


def load(call: Call) -> Mapping[str, Any]:
    """Load the image of the path; return its owner, as policy target. Raises ImageNotFound."""
    image_id = call.path["image_id"]
    call.record = call.conductor.get_image(call.context, image_id)
    if call.record.image.id != image_id:  # found by its name, which paths do not contain
        raise exception.ImageNotFound(image=image_id)
    return {"project_id": call.record.owner, "user_id": None}
