"""Child zones as administrators set them up over the API; no answer has a transport URL."""

from dataclasses import dataclass
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
