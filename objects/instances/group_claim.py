"""A claim's part in a server group: where the member goes, and which members were counted."""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any, Self


class GroupRule(enum.StrEnum):
    """Where members that a scheduler had not counted make its choice wrong."""

    HERE = "here"
    """On the same host: anti-affinity, hard or soft."""
    ELSEWHERE = "elsewhere"
    """On another host: affinity, hard or soft."""
    ANYWHERE = "anywhere"
    """On any host: topology spread."""
    NOWHERE = "nowhere"
    """Nowhere: a host that was forced."""


@dataclasses.dataclass(frozen=True, slots=True)
class GroupClaim:
    """Where a claim puts a member of a server group, and what its scheduler knew of the group.

    The scheduler had counted the members that placement recorded up to the write ``as_of``, and
    those of ``counted`` (member -> host), which it selected hosts for. ``limit`` is the maximum
    number of members on the host, 0 for none. Without a ``group_uuid``, the consumer stays in its
    group: so an alternate is claimed.
    """

    host: str
    group_uuid: str | None = None
    rule: str = GroupRule.NOWHERE
    limit: int = 0
    as_of: int = 0
    counted: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def packed(self) -> list[Any]:
        """Return the wire form."""
        return [self.host, self.group_uuid, self.rule, self.limit, self.as_of, dict(self.counted)]

    @classmethod
    def unpacked(cls, values: Sequence[Any]) -> Self:
        """Return what ``packed`` made. Raises ``TypeError`` for another number of values."""
        return cls(*values)


@dataclasses.dataclass(frozen=True, slots=True)
class GroupMember:
    """A member of a server group with allocations, its host, and the write that put it there."""

    instance_uuid: str
    host: str
    as_of: int
