"""Availability zones that servers are pinned to, and their change by an unshelve."""

from oslo_config import cfg
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import request_specs
from conductor.super_conductor.db.catalogue import aggregates


def check_known(session: Session, conf: cfg.ConfigOpts, zone: str) -> None:
    """Raise AvailabilityZoneNotFound for a zone that no host can be in."""
    known = aggregates.zone_names(session) | {conf.default_availability_zone}
    if zone not in known:
        raise exception.AvailabilityZoneNotFound(zone=zone, known=", ".join(sorted(known)))


def check_host(
    session: Session, conf: cfg.ConfigOpts, instance_uuid: str, *, zone: str | None, host: str
) -> None:
    """Raise Invalid if a host is in another zone than the one that a server is pinned to."""
    found = aggregates.zones_of(session, {host}).get(host, conf.default_availability_zone)
    if zone is not None and found != zone:
        raise exception.Invalid(
            reason=f"host {host} is in the availability zone {found}, server {instance_uuid} is "
            f"pinned to {zone}; name another zone, or none"
        )


def find(session: Session, instance_uuid: str) -> str | None:
    """Return the zone that a server is pinned to, if any."""
    return request_specs.asked_of(session, [instance_uuid]).get(instance_uuid, (None, {}))[0]


def pin(session: Session, instance_uuid: str, zone: str | None) -> None:
    """Pin a server to a zone from now on, or to none."""
    spec = request_specs.get_spec(session, instance_uuid)
    spec.availability_zone = zone
    request_specs.replace_spec(session, instance_uuid, spec)
