"""Conditions of lists of servers and migrations; a field that is None matches everything."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerFilters:
    """Conditions that listed servers meet. ``name`` is a part of the name, in any case.

    ``status``: one of the Compute API, such as ACTIVE; an unknown one matches nothing. With
    ``all_projects`` an administrator sees the servers of all projects, which ``project_id`` limits
    in queries within the deployment.
    """

    name: str | None = None
    status: str | None = None
    host: str | None = None
    reservation_id: str | None = None
    project_id: str | None = None
    all_projects: bool = False


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
