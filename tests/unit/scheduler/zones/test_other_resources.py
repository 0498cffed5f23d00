"""The same tree places other resources: the kind of resource is a word in the request."""

import random

import pytest

from armillary import exception
from armillary.conf import placement as placement_options
from armillary.conf import register
from armillary.context import admin_context
from simulator.memory_placement import MemoryPlacement
from tests.builders import a_flavor
from tests.fixtures.zones.zone_trees import Zone
from tests.fleets import Clock, a_host, a_request_spec

VOLUME = "CUSTOM_VOLUME_GB"


def a_store(zone: str, *sizes_gb: int, clock: Clock, children: list[Zone] | None = None) -> Zone:
    """Return a zone of stores, whose providers have nothing but room for volumes."""
    hosts = [a_host(f"{zone}-{number}") for number in range(len(sizes_gb))]
    made = Zone(zone, hosts, children or [], clock=clock)
    register(made.conf, placement_options)
    reports = [
        {
            "uuid": host.uuid,
            "name": host.name,
            "inventories": {VOLUME: {"total": size}},
            "traits": ["OWNER_NOVA", *(["CUSTOM_SSD"] if size < 1000 else [])],
        }
        for host, size in zip(hosts, sizes_gb, strict=True)
    ]
    placement = MemoryPlacement(made.conf, reports, {}, rng=random.Random(1))
    made.driver._placement = placement  # type: ignore[assignment]  # as far as asked
    made.placement_summary = (  # type: ignore[method-assign]
        lambda excluded: placement.get_summary(admin_context(), excluded=excluded)
    )
    made.summariser._ask_placement = made.placement_summary
    return made


def a_volume(size_gb: int, **extra: str) -> object:
    specs = {
        f"resources:{VOLUME}": str(size_gb),
        "resources:VCPU": "0",
        "resources:MEMORY_MB": "0",
        "resources:DISK_GB": "0",
        **extra,
    }
    return a_request_spec(flavor=a_flavor("volume", extra_specs=specs))


def a_tree() -> Zone:
    clock = Clock()
    disks = a_store("disks", 5000, 8000, clock=clock)
    flash = a_store("flash", 400, 800, clock=clock)
    return a_store("root", clock=clock, children=[disks, flash]).push_all()


def chosen(root: Zone, spec: object) -> list[list[str]]:
    return [entry["path"] for entry in root.select(spec).zone_entries]  # type: ignore[arg-type]


def test_a_resource_of_another_kind_goes_through_the_tree() -> None:
    """BZ-13: capability, pruning and request take its name; there is no other code for it."""
    root = a_tree()
    assert sorted(chosen(root, a_volume(100))) == [["disks"], ["disks"], ["flash"], ["flash"]]
    assert root.summary().capabilities["resources"] == {VOLUME: 8000}


def test_zones_that_are_too_small_for_it_are_not_asked() -> None:
    """BZ-13, BZ-41."""
    root = a_tree()
    assert chosen(root, a_volume(1000)) == [["disks"], ["disks"]]
    assert root.questions == {"disks": 1}


def test_its_traits_prune_too() -> None:
    """BZ-13, BZ-41."""
    root = a_tree()
    spec = a_volume(100, **{"trait:CUSTOM_SSD": "required"})
    assert chosen(root, spec) == [["flash"], ["flash"]]
    assert root.questions == {"flash": 1}


def test_nothing_of_it_anywhere() -> None:
    """BZ-13: one clear error."""
    root = a_tree()
    with pytest.raises(exception.NoValidHost, match="2 without the required capabilities"):
        chosen(root, a_volume(9000))
    assert root.questions == {}
