"""Conditions of lists of servers and migrations; a field that is None matches everything."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

ALIVE, DELETED, ANY = "alive", "deleted", "any"


@dataclass(frozen=True, slots=True)
class ServerFilters:
    """Conditions that listed servers meet.

    ``name`` is a part of the name, or a simple regular expression, in any case of letters.
    ``flavor`` and ``image`` are ids. ``changed_since`` and ``changed_before`` are about the last
    change, at first the creation.

    ``status``: one of the Compute API, such as ACTIVE; an unknown one matches nothing. With
    ``all_projects`` an administrator sees the servers of all projects, which ``project_id`` limits
    in queries within the deployment.

    ``existence`` is one of ``ALIVE``, ``DELETED``, ``ANY``: deleted servers are known for as long
    as their cell keeps them. ``existed_since`` leaves out those deleted before,
    ``created_before`` those created since.
    """

    name: str | None = None
    status: str | None = None
    host: str | None = None
    reservation_id: str | None = None
    project_id: str | None = None
    all_projects: bool = False
    uuid: str | None = None
    user_id: str | None = None
    flavor: str | None = None
    image: str | None = None
    availability_zone: str | None = None
    vm_state: str | None = None
    changed_since: datetime | None = None
    changed_before: datetime | None = None
    existence: str = ALIVE
    existed_since: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class MigrationFilters:
    """Conditions that listed migrations meet; ``host`` is at either end."""

    uuid: str | None = None
    instance_uuid: str | None = None
    status: str | None = None
    migration_type: str | None = None
    source_host: str | None = None
    dest_host: str | None = None
    host: str | None = None
