"""Request specs of simulated requests, as the super conductor would build them."""

from __future__ import annotations

from objects.flavor import Flavor
from objects.instances.instance_group import InstanceGroup
from objects.instances.local_resources import local_resources_of
from objects.numa import InstanceTopology
from objects.request_spec import RequestSpec
from scheduler.request import resource_query
from simulator.load.load import Request
from simulator.scenario.scenario import Scenario


def spec_of(request: Request, scenario: Scenario, group: InstanceGroup | None) -> RequestSpec:
    """Return the request spec of a request. Raises ``InvalidNUMATopology``."""
    flavor = scenario.flavors[request.flavor]
    image = scenario.images[request.image] if request.image else None
    return RequestSpec.from_values(
        local_resources_of(flavor, image, {}),
        project_id=request.project,
        user_id=request.project,
        flavor=flavor,
        image=image,
        num_instances=request.count,
        availability_zone=request.zone,
        scheduler_hints={name: list(values) for name, values in request.hints.items()},
        instance_group=group,
    )


def topology_of(spec: RequestSpec) -> InstanceTopology | None:
    """Return the requested NUMA topology of an instance, if any."""
    plain = spec.numa_topology
    return None if plain is None else InstanceTopology.from_plain(plain)


def resources_of(flavor: Flavor) -> dict[str, int]:
    """Return the resources of an instance of a flavor, by class.

    Raises what the scheduler raises for invalid extra specs.
    """
    spec = RequestSpec.from_values(
        local_resources_of(flavor, None, {}), project_id="p", user_id="u", flavor=flavor
    )
    needed: dict[str, int] = {}
    for group in resource_query.build(spec, limit=0).groups:
        for name, amount in group.resources.items():
            needed[name] = needed.get(name, 0) + amount
    return needed
