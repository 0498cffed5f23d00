"""Child zones as their parent stores them; no answer of the API has a transport URL."""

from dataclasses import dataclass, fields
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ZoneSettings:
    """Settings of a child zone; None keeps a value, or takes its default.

    ``transport_url`` has the account on the child's broker, so it is a secret.
    """

    transport_url: str | None = None
    disabled: bool | None = None
    weight_offset: float | None = None
    weight_scale: float | None = None


@dataclass(frozen=True, slots=True)
class ZoneRecord:
    """A child zone as stored, without its transport URL."""

    uuid: str
    name: str
    disabled: bool
    weight_offset: float
    weight_scale: float
    created_at: datetime | None
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChildZone(ZoneRecord):
    """A child zone and how to reach it; ``name`` is its component in zone paths.

    ``transport_url`` is the child's broker, with the account that the child created for its parent.
    In the parent's lists its hosts weigh ``weight_offset`` + ``weight_scale`` times their weight.
    """

    transport_url: str

    def without_secret(self) -> ZoneRecord:
        """Return what administrators may see."""
        values = {each.name: getattr(self, each.name) for each in fields(ZoneRecord)}
        return ZoneRecord(**values)
