"""Request specs that the load sends to the scheduler."""

from __future__ import annotations

from pathlib import Path

from simulator.load.load import Request
from simulator.load.request_specs import resources_of, spec_of
from tests.builders import a_flavor
from tests.fixtures.simulations import a_scenario, some_hosts


def test_a_spec_says_what_the_request_says(tmp_path: Path) -> None:
    """Flavor, image, zone, hints, project, how many."""
    scenario = a_scenario(
        tmp_path, hosts=[some_hosts(zone="z1")], images={"linux": {"disk_format": "raw"}}
    )
    request = Request(
        0.0, "small", (1.0, 2.0), image="linux", zone="z1", hints={"query": ["a"]}, project="p"
    )
    spec = spec_of(request, scenario, None)
    assert (spec.flavor.name, spec.num_instances, spec.project_id) == ("small", 2, "p")
    assert spec.image is not None
    assert (spec.image.name, spec.availability_zone) == ("linux", "z1")
    assert spec.scheduler_hints == {"query": ["a"]}


def test_resources_are_those_that_placement_is_asked_for() -> None:
    """With what extra specs change, over all groups."""
    flavor = a_flavor(
        vcpus=2, memory_mb=512, root_gb=0,
        extra_specs={"resources:MEMORY_MB": "256", "resources1:CUSTOM_GPU": "1",
                     "resources2:CUSTOM_GPU": "2"},
    )  # fmt: skip
    assert resources_of(flavor) == {"VCPU": 2, "MEMORY_MB": 256, "CUSTOM_GPU": 3}
