"""Servers of cells and zones that do not answer, as far as mapping and request spec tell."""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from conductor.super_conductor.db import instance_mappings, request_specs
from objects.instance import UNKNOWN, Instance
from objects.instances.instance_mapping import InstanceMapping
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ServerFilters


def may_match(filters: ServerFilters) -> bool:
    """Return whether these filters ask only for what mappings tell.

    With others it is not known which servers match, and none is listed.
    """
    return filters == ServerFilters(
        project_id=filters.project_id,
        all_projects=filters.all_projects,
        uuid=filters.uuid,
        user_id=filters.user_id,
        soft_deleted_is_deleted=filters.soft_deleted_is_deleted,
    )


def list_page(
    session: Session,
    *,
    cell_uuids: Sequence[str],
    paths: Sequence[str],
    filters: ServerFilters,
    limit: int,
    marker: InstanceMarker | None,
) -> list[Instance]:
    """Return the servers of silent cells and zones, newest first, like a cell's ``list_page``."""
    if not (cell_uuids or paths) or not may_match(filters):
        return []
    found = instance_mappings.list_page(
        session, cell_uuids=cell_uuids, paths=paths, filters=filters, limit=limit, marker=marker
    )
    return [of_mapping(mapping) for mapping in found]


def of_mapping(mapping: InstanceMapping) -> Instance:
    """Return what a mapping tells of a server."""
    return Instance.from_values(
        uuid=mapping.instance_uuid,
        project_id=mapping.project_id,
        user_id=mapping.user_id,
        cell_uuid=mapping.cell_uuid,
        zone=mapping.zone_path or None,
        vm_state=UNKNOWN,
        task_state=None,
        created_at=mapping.created_at,
    )


def with_request_spec(session: Session, instance: Instance) -> Instance:
    """Return an unknown server with what its request spec tells.

    The flavor is left out after a resize, also to one of the same size: the spec has the one of
    the beginning.
    """
    uuid = instance.uuid
    spec = request_specs.get_spec(session, uuid)
    size = instance_mappings.sizes(session, [uuid])[uuid]
    is_same_size = (spec.flavor.vcpus, spec.flavor.memory_mb) == (size.vcpus, size.memory_mb)
    if is_same_size and size.resize_asked_at is None:
        instance.flavor = spec.flavor
    return instance.with_values(
        image=spec.image,
        availability_zone=spec.availability_zone,
        group_uuid=None if spec.instance_group is None else spec.instance_group.uuid,
    )
