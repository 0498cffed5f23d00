"""Tables of child zones, and of instances on their way through zones."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from conductor.super_conductor.db.models.base import (
    NAME_LENGTH,
    UUID_LENGTH,
    WORD_LENGTH,
    ZONE_NAME_LENGTH,
    ZONE_PATH_LENGTH,
    Base,
)
from conductor.super_conductor.db.models.requests import BuildRequest, Reservation
from objects.images.image_ticket import PlainTicket


class Zone(Base):
    """A child zone and how to reach it."""

    __tablename__ = "zones"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(ZONE_NAME_LENGTH), unique=True)
    transport_url: Mapped[str] = mapped_column(sa.Text)
    disabled: Mapped[bool]
    weight_offset: Mapped[float]
    weight_scale: Mapped[float]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class ZoneEntries(Base):
    """Hosts that zones offered for a reservation, and the zones that have not answered.

    ``entries`` has a list for each search that found hosts, best first: {"host_id", "path"} each.
    ``silent`` has paths of zones.
    """

    __tablename__ = "zone_entries"

    reservation_id: Mapped[str] = mapped_column(
        sa.ForeignKey(
            Reservation.reservation_id, ondelete="CASCADE", name="fk_zone_entries_reservation"
        ),
        primary_key=True,
    )
    entries: Mapped[list[Any]]
    silent: Mapped[list[Any]]


class ZoneWalk(Base):
    """Progress of an instance through its reservation's entries, under the reservation's lease.

    It began at ``start`` and has tried ``step`` entries. ``state`` is a value of
    ``zone_walks.WalkState`` for the current attempt, which is at the zone of ``path`` on the host
    ``host_id``. ``heard_at`` is when that zone last reported on it.
    """

    __tablename__ = "zone_walks"

    instance_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(BuildRequest.instance_uuid, ondelete="CASCADE", name="fk_zone_walks_request"),
        primary_key=True,
    )
    reservation_id: Mapped[str] = mapped_column(sa.String(WORD_LENGTH), index=True)
    start: Mapped[int]
    step: Mapped[int]
    attempt: Mapped[int]
    state: Mapped[str] = mapped_column(sa.String(WORD_LENGTH))
    path: Mapped[str | None] = mapped_column(sa.String(ZONE_PATH_LENGTH))
    host_id: Mapped[str | None] = mapped_column(sa.String(NAME_LENGTH))
    since: Mapped[datetime]
    heard_at: Mapped[datetime]
    failures: Mapped[list[Any]]


class ZoneAttempt(Base):
    """Another zone's attempt to build an instance here, since it arrived or was refused.

    ``local_uuid`` is the instance's UUID here: the same as at its origin, unless an earlier attempt
    uses that. Null if it was cancelled before it arrived. ``parent`` is the parent zone that sent
    it: see ``conductor.super_conductor.zones.parents``. ``image_ticket`` is the ticket by which
    hosts read the data of its image from the origin, null without one.
    """

    __tablename__ = "zone_guests"
    __table_args__ = (sa.Index("ix_zone_guests_created_at", "created_at"),)

    instance_uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    parent: Mapped[str] = mapped_column(sa.String(ZONE_PATH_LENGTH), primary_key=True)
    local_uuid: Mapped[str | None] = mapped_column(sa.String(UUID_LENGTH), unique=True)
    origin: Mapped[str] = mapped_column(sa.String(ZONE_NAME_LENGTH))
    is_cancelled: Mapped[bool]
    created_at: Mapped[datetime]
    image_ticket: Mapped[PlainTicket | None] = mapped_column(sa.JSON(none_as_null=True))
