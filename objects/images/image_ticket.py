"""ImageTicket: leave for one host to read or write the data of one image, for a short time."""

from dataclasses import dataclass
from typing import NotRequired, TypedDict

HEADER = "X-Image-Ticket"
"""Header of HTTP requests with a ticket, instead of a user's token."""
DIGEST_HEADER = "X-Image-Sha512"
"""Header with the SHA-512 digest of data that is written, as hexadecimal digits."""

READ, WRITE = "read", "write"


class PlainTicket(TypedDict):
    """A ticket as it is stored, and sent to other zones."""

    image_id: str
    url: str
    token: str
    size_bytes: NotRequired[int]
    sha512: NotRequired[str | None]


@dataclass(frozen=True, slots=True)
class ImageTicket:
    """``url`` is where the data is read from or written to, with ``token`` in ``HEADER``.

    ``size_bytes`` and ``sha512`` are those of the stored data; to write, there is none yet.
    """

    image_id: str
    url: str
    token: str
    size_bytes: int = 0
    sha512: str | None = None
