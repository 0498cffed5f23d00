"""ZoneRequest: a user's request about servers of another zone, forwarded there."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ZoneRequest:
    """A request for one server, or for those of a list.

    ``operation`` is the method that the user called, ``arguments`` are that method's others in wire
    form. The zone uses its own UUID for ``instance_uuid``, which is the origin's.
    """

    operation: str
    arguments: Mapping[str, object]
    instance_uuid: str | None = None
