"""Sources of unfinished work in a cell's database."""

import sqlalchemy as sa

from conductor.common.cell_db.models import InstanceBuild, InstanceDelete, InstanceOperation
from conductor.common.unfinished_work import source

SOURCES = (
    source(
        InstanceBuild,
        stage=InstanceBuild.stage,
        instance_uuid=InstanceBuild.instance_uuid,
        since=InstanceBuild.created_at,
        tries=InstanceBuild.tries,
    ),
    source(
        InstanceDelete,
        stage=sa.case((InstanceDelete.is_guest_gone, "records"), else_="guest"),
        instance_uuid=InstanceDelete.instance_uuid,
        since=InstanceDelete.created_at,
        tries=InstanceDelete.tries,
    ),
    source(
        InstanceOperation,
        operation=InstanceOperation.operation,
        stage=InstanceOperation.stage,
        instance_uuid=InstanceOperation.instance_uuid,
        migration_uuid=InstanceOperation.migration_uuid,
        since=InstanceOperation.created_at,
        tries=InstanceOperation.tries,
    ),
)
