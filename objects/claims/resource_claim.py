"""Claims: amounts of a kind of resource that a project holds of one pool."""

import dataclasses
from datetime import datetime

from objects.traces.decision_trace import PlainTrace


class ClaimState:
    """States of a claim. An ended claim is deleted, so it has none."""

    PENDING = "PENDING"
    """It has no pool yet."""
    ACTIVE = "ACTIVE"
    """It holds its resources."""
    ERROR = "ERROR"
    """No pool could serve it; it holds nothing."""
    DELETING = "DELETING"
    """Its end is accepted; its resources are being released."""


@dataclasses.dataclass(frozen=True, slots=True)
class NewClaim:
    """What is asked for. The API gives it its UUID, so that a repeat claims nothing twice.

    ``pool`` is the name of the only acceptable pool. A claim with a ``server_uuid`` is on a pool
    that shares an aggregate with the server's host, and ends with the server. ``is_delegated``: a
    parent zone asks, ``parent_zone``, which counts the claim against its quota.
    """

    uuid: str
    kind: str
    resources: dict[str, int]
    name: str | None = None
    required_traits: list[str] = dataclasses.field(default_factory=list)
    forbidden_traits: list[str] = dataclasses.field(default_factory=list)
    pool: str | None = None
    server_uuid: str | None = None
    ends_at: datetime | None = None
    is_delegated: bool = False
    parent_zone: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceClaim:
    """A claim as stored. ``alternates`` are the next best pools, which hold nothing for it.

    ``zone`` is the path of the zone that has the pool, None for this one.
    """

    asked: NewClaim
    project_id: str
    user_id: str
    state: str
    created_at: datetime
    updated_at: datetime | None
    pool_uuid: str | None = None
    pool_name: str | None = None
    zone: str | None = None
    alternates: list[str] = dataclasses.field(default_factory=list)
    fault: str | None = None

    @property
    def uuid(self) -> str:
        """The claim's UUID, which is its consumer's in placement."""
        return self.asked.uuid


@dataclasses.dataclass(frozen=True, slots=True)
class ClaimExplanation:
    """A claim and the plain trace of the decision about it; None if there is none (yet)."""

    claim: ResourceClaim
    trace: PlainTrace | None
