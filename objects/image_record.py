"""ImageRecord: an image with everything that the image service shows of it."""

from dataclasses import dataclass, field

from objects.image_meta import ImageMeta

PUBLIC, PRIVATE, SHARED, COMMUNITY = "public", "private", "shared", "community"
VISIBILITIES = (PUBLIC, PRIVATE, SHARED, COMMUNITY)

PENDING, ACCEPTED, REJECTED = "pending", "accepted", "rejected"

QUEUED, ACTIVE, DEACTIVATED = "queued", "active", "deactivated"


@dataclass(frozen=True, slots=True)
class ImageRecord:
    """``image`` is what scheduler and drivers see.

    ``checksum`` (MD5) and ``sha512`` are those of the stored data, as hexadecimal digits; an image
    without data has none. ``members`` are the projects that a shared image is for, and whether they
    accepted it. A write increments ``generation``.
    """

    image: ImageMeta
    owner: str | None = None
    visibility: str = PUBLIC
    is_protected: bool = False
    is_hidden: bool = False
    container_format: str | None = None
    checksum: str | None = None
    sha512: str | None = None
    virtual_size_bytes: int | None = None
    tags: list[str] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)
    generation: int = 0
