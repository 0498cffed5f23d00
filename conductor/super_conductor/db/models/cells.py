"""Tables of cells, and of the hosts in them."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Mapped, mapped_column

from conductor.super_conductor.db.models.base import NAME_LENGTH, UUID_LENGTH, Base


class Cell(Base):
    """A cell and how to reach it; cell0 has no row."""

    __tablename__ = "cells"

    uuid: Mapped[str] = mapped_column(sa.String(UUID_LENGTH), primary_key=True)
    name: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), unique=True)
    transport_url: Mapped[str] = mapped_column(sa.Text)
    disabled: Mapped[bool]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime | None]


class HostMapping(Base):
    """The cell of a host, and its compute nodes at the last discovery.

    ``is_leaving``: the deletion of its service was requested; the mapping goes with it.
    """

    __tablename__ = "host_mappings"

    host: Mapped[str] = mapped_column(sa.String(NAME_LENGTH), primary_key=True)
    cell_uuid: Mapped[str] = mapped_column(
        sa.ForeignKey(Cell.uuid, name="fk_host_mappings_cell"), index=True
    )
    node_uuids: Mapped[list[Any]]
    is_leaving: Mapped[bool] = mapped_column(default=False, server_default=sa.false())


class MetadataSeq(Base):
    """One row: sequence number of the cluster metadata that schedulers cache.

    ``hosts_value`` is the number of the last change that took a host from its cell,
    ``members_value`` that of the last message about members of an aggregate to placement. For
    ``zone_changes`` see ``conductor.super_conductor.db.zone_changes``.
    """

    __tablename__ = "metadata_seq"

    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    value: Mapped[int] = mapped_column(sa.BigInteger)
    hosts_value: Mapped[int] = mapped_column(sa.BigInteger)
    members_value: Mapped[int] = mapped_column(sa.BigInteger)
    zone_changes: Mapped[dict[str, Any] | None]
