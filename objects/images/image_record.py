"""ImageRecord: an image with everything that the image service shows of it."""

from dataclasses import dataclass, field

from objects.images.image_meta import ImageMeta

PUBLIC, PRIVATE, SHARED, COMMUNITY = "public", "private", "shared", "community"
VISIBILITIES = (PUBLIC, PRIVATE, SHARED, COMMUNITY)

PENDING, ACCEPTED, REJECTED = "pending", "accepted", "rejected"

QUEUED, SAVING, ACTIVE, DEACTIVATED = "queued", "saving", "active", "deactivated"
PENDING_DELETE = "pending_delete"
"""Not needed any more; the image service removes its data, then the record."""
STATUSES = (QUEUED, SAVING, ACTIVE, DEACTIVATED, PENDING_DELETE)

INSTANCE_UUID, IMAGE_TYPE, BACKUP_TYPE = "instance_uuid", "image_type", "backup_type"
"""Properties of snapshots: the server, ``snapshot`` or ``backup``, and the kind of backup."""
SNAPSHOT, BACKUP = "snapshot", "backup"
SHELVED = "shelved"
"""Type of an image that keeps the disk of an offloaded server, until it is unshelved."""
OF_OTHER_DATA = frozenset({"libvirt_disk_file"})
"""Properties that name the data of the image that a server was built from."""

DRAFT_PREFIX = ".upload-"
"""Files in the directory of images whose names begin so are removed when they are old."""


STORE_LOCK = ".lock"
"""Lock file of the image service in its directory: hosts that share the directory know it by it."""


def deletion_mark(image_id: str) -> str:
    """Return the name of the file that says: this snapshot was deleted before it had its data."""
    return f"{DRAFT_PREFIX}deleted-{image_id}"


@dataclass(frozen=True, slots=True)
class StoredImage:
    """Data that was written: its size and its digests, as hexadecimal digits."""

    size_bytes: int
    md5: str
    sha512: str


@dataclass(frozen=True, slots=True)
class NewSnapshot:
    """An image to make of a server; ``properties`` are added to those of the server's image.

    Its owner may have ``of_owner_max`` images, None: any number.
    """

    name: str
    properties: dict[str, str]
    of_owner_max: int | None


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
