"""Queries on child zones and how to reach them, for conductors and ``armillary-manage``."""

import re
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.db.endpoint_records import RecordTable, Use, count
from objects.zones.zone_record import ChildZone

_RANGES = (("weight_offset", -1e9, 1e9), ("weight_scale", 0.0, 1e6))
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,64}")


def _is_below(path: Any, name: str) -> sa.ColumnElement[bool]:
    """Return whether a path leads to or through a child zone."""
    below: sa.ColumnElement[bool] = sa.or_(
        path == name, path.startswith(f"{name}/", autoescape=True)
    )
    return below


def _count_living(session: Session, row: models.Zone) -> int:
    mapping = models.InstanceMapping
    return count(
        session, _is_below(mapping.zone_path, row.name), mapping.queued_for_delete.is_(False)
    ) + count(session, _is_below(models.ZoneWalk.path, row.name))


def _count_mapped(session: Session, row: models.Zone) -> int:
    return count(session, _is_below(models.InstanceMapping.zone_path, row.name))


def _count_claims(session: Session, row: models.Zone) -> int:
    query = sa.select(sa.func.count()).where(_is_below(models.Claim.zone, row.name))
    return session.scalar(query) or 0


def _remove_mappings(session: Session, row: models.Zone) -> None:
    for model in (models.InstanceMapping, models.Cleanup):
        session.execute(
            sa.delete(model)
            .where(_is_below(model.zone_path, row.name))
            .execution_options(synchronize_session=False)
        )


def _check_values(**values: Any) -> None:
    for name, low, high in _RANGES:
        if name in values and not low <= values[name] <= high:
            raise exception.Invalid(
                reason=f"the {name} of a zone must be from {low:,.0f} to {high:,.0f}, "
                f"not {values[name]}"
            )
    if "name" in values and not _NAME.fullmatch(values["name"]):
        raise exception.Invalid(
            reason="the name of a zone must have 1 to 64 letters, digits, '.', '_' and '-', "
            f"as its [zones] name does, not {values['name']!r:.80}"
        )
    if "transport_url" in values and not values["transport_url"].strip():
        raise exception.Invalid(reason="the transport_url of a zone must not be empty")


def _to_object(row: models.Zone) -> ChildZone:
    return ChildZone(
        uuid=row.uuid, name=row.name, transport_url=row.transport_url, disabled=row.disabled,
        weight_offset=row.weight_offset, weight_scale=row.weight_scale,
        created_at=row.created_at, updated_at=row.updated_at,
    )  # fmt: skip


_USES = (
    Use(
        "servers", "servers are there or on their way ({count}); delete them first",
        _count_living, is_forcible=False,
    ),
    Use(
        "claims", "claims are there or on their way ({count}); delete them first",
        _count_claims, is_forcible=False,
    ),
    Use("leftovers", "mappings of deleted servers are left ({count})", _count_mapped, True),
)  # fmt: skip

_ZONES = RecordTable(
    models.Zone,
    "zone",
    _to_object,
    not_found=exception.ZoneNotFound,
    exists=exception.ZoneExists,
    in_use=exception.ZoneInUse,
    check=_check_values,
    uses=_USES,
    remove_mappings=_remove_mappings,
    is_name_stored=True,
    defaults={"weight_offset": 0.0, "weight_scale": 1.0},
)

create_zone = _ZONES.create
list_zones = _ZONES.list
get_zone = _ZONES.get
update_zone = _ZONES.update
delete_zone = _ZONES.delete
