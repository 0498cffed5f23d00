"""Request specs for instances that move."""

from collections.abc import Sequence

from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.builds import group_members
from conductor.super_conductor.db import request_specs
from conductor.super_conductor.db.moves import Move
from conductor.super_conductor.hosts.cells import Cells
from objects.flavor import Flavor
from objects.instance import Instance
from objects.instances.local_resources import local_resources_of
from objects.pci import pci
from objects.request_spec import Destination, RequestSpec


def make(
    database: Database,
    cells: Cells,
    aliases: Sequence[str],
    context: RequestContext,
    *,
    move: Move,
    instance: Instance,
) -> RequestSpec:
    """Return the instance's request spec, adapted to a move.

    Hosts that were forced at creation are dropped (specification, workflow, section 7.1). The
    instance stays in its cell unless the move may leave it. A host that the user requested is the
    only one allowed. ``aliases`` are [pci] alias.
    """
    spec = database.read(request_specs.get_spec, move.instance_uuid)
    spec.flavor = new_flavor_of(move) or instance.flavor
    spec.image = instance.image
    spec.num_instances = 1
    spec.force_hosts, spec.force_nodes = [], []
    spec.limits = spec.retry = None
    spec.ignore_hosts = move.arguments.ignore_hosts
    spec.requested_destination = Destination.from_values(
        host=move.arguments.host,
        cell_uuid=move.cell_uuid,
        allow_cross_cell_move=move.arguments.is_cross_cell,
    )
    known = pci.parse_aliases(aliases)
    for name, value in local_resources_of(spec.flavor, spec.image, known).items():
        setattr(spec, name, value)
    if spec.instance_group is not None:
        group_members.refresh(
            spec.instance_group,
            database,
            cells,
            request_id=context.request_id,
            leaving_out=instance.uuid,
        )
    return spec


def new_flavor_of(move: Move) -> Flavor | None:
    """Return the flavor after the move; None if it does not change."""
    primitive = move.arguments.new_flavor
    return None if primitive is None else Flavor.obj_from_primitive(primitive)
