"""An operation on a server as it was requested, and the records that its arguments name."""

import dataclasses

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db.catalogue import flavors, images
from objects.instance import Instance
from objects.instances.operation_arguments import OperationArguments


@dataclasses.dataclass(frozen=True)
class RequestedOperation:
    """An operation on a server that is in a cell."""

    context: RequestContext
    instance: Instance
    cell_uuid: str
    operation: str
    arguments: OperationArguments
    is_delegated: bool = False
    """Whether another zone requested it; that zone counts the server against its quotas."""
    is_cross_cell: bool = False


def resolved(
    database: Database, context: RequestContext, arguments: OperationArguments
) -> OperationArguments:
    """Return arguments with the flavor and image that their references name.

    For servers in other zones this is done at their origin, which has the flavors that its users
    know. Raises FlavorNotFound, ImageNotFound.
    """
    flavor, image = arguments.new_flavor, arguments.new_image
    with database.reader() as session:
        if flavor is None and arguments.flavor is not None:
            flavor = flavors.get_flavor(session, arguments.flavor, context)
        if image is None and arguments.image is not None:
            image = images.get_image(session, arguments.image, context)
    return dataclasses.replace(arguments, new_flavor=flavor, new_image=image)
