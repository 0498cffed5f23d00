"""Parent zones that ask this one, told apart by the keys that sign.

A parent is the scope of its keys, ``world``. A zone between passes on who asked it, so that the
lowest zone knows ``eu/world``: a request that ``eu`` signed for its own parent ``world``. What each
says stands below its own name, so none can speak as another.
"""

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.db.zones import zone_attempts
from objects.instances.instance_group import InstanceGroup

PARENT_ZONE = "parent_zone"


def with_parent(context: RequestContext) -> RequestContext:
    """Return the context of a request that has just come in, with its ``parent_zone``.

    Raises Invalid if that is too long.
    """
    signer, name = context.signer, zone_attempts.UNNAMED
    if signer is not None and signer.role == PARENT_ZONE and signer.scope:
        name = signer.scope
    if context.asked_by:
        name = f"{name}/{context.asked_by}"
    if len(name) > zone_attempts.PARENT_LENGTH_MAX:
        raise exception.Invalid(reason=f"the names of the zones that ask are too long: {name:.80}")
    return context.with_parent_zone(name)


def check_group(database: Database, context: RequestContext, group: InstanceGroup) -> None:
    """Leave out of a parent's server group the members that another parent has sent here.

    They would tell where these are. Raises Invalid for a group of this zone itself.
    """
    parent = zone_attempts.parent_of(context)
    with database.reader() as session:
        if server_groups.is_known(session, group.uuid):
            raise exception.Invalid(reason=f"server group {group.uuid} is not of the asking zone")
        foreign = zone_attempts.of_others(session, group.members, parent)
    group.members = [uuid for uuid in group.members if uuid not in foreign]
