"""Conditions and order of lists of servers and migrations; a condition None matches everything."""

from dataclasses import dataclass
from datetime import datetime

from objects.instances.server_order import SortKey, SortValue

ALIVE, DELETED, ANY = "alive", "deleted", "any"


@dataclass(frozen=True, slots=True)
class ServerFilters:
    """Conditions that listed servers meet, and their order.

    ``name`` is a part of the name, or a simple regular expression, in any case of letters.
    ``flavor`` and ``image`` are ids. ``changed_since`` and ``changed_before`` are about the last
    change, at first the creation.

    ``equal`` has the values of attributes named in ``server_order.KEYS``. ``description``, ``ip``
    and ``ip6`` are parts or simple regular expressions, like ``name``; the latter two of the
    address of that IP version. A server has all of ``tags``, one of ``tags_any``, not all of
    ``not_tags`` and none of ``not_tags_any``.

    ``sort`` None is the order by creation, newest first; so are servers with equal values.

    ``status``: one of the Compute API, such as ACTIVE, or several with commas between them, of
    which a server has one; an unknown one matches nothing. With
    ``all_projects`` an administrator sees the servers of all projects, which ``project_id`` limits
    in queries within the deployment.

    ``existence`` is one of ``ALIVE``, ``DELETED``, ``ANY``: deleted servers are known for as long
    as their cell keeps them. ``soft_deleted_is_deleted``: the soft-deleted ones, which can be
    restored, count as deleted; otherwise as alive. ``existed_since`` leaves out those deleted
    before, ``created_before`` those created since.
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
    soft_deleted_is_deleted: bool = False
    existed_since: datetime | None = None
    created_before: datetime | None = None
    equal: dict[str, SortValue] | None = None
    hostname: str | None = None
    description: str | None = None
    ip: str | None = None
    ip6: str | None = None
    tags: list[str] | None = None
    tags_any: list[str] | None = None
    not_tags: list[str] | None = None
    not_tags_any: list[str] | None = None
    sort: list[SortKey] | None = None


@dataclass(frozen=True, slots=True)
class MigrationFilters:
    """Conditions that listed migrations meet; ``host`` is at either end.

    ``changed_since`` and ``changed_before`` are about the last change, at first the creation; both
    include their moment. ``marker`` is the UUID of the last migration of the page before, which
    cells are given as its time and UUID: those after it are older.
    """

    uuid: str | None = None
    instance_uuid: str | None = None
    status: str | None = None
    migration_type: str | None = None
    source_host: str | None = None
    dest_host: str | None = None
    host: str | None = None
    project_id: str | None = None
    user_id: str | None = None
    changed_since: datetime | None = None
    changed_before: datetime | None = None
    marker: str | None = None
    after_created_at: datetime | None = None
    after_uuid: str | None = None
