"""Capacity and use of all trees as columns."""

from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid


def set_up(engine: PlacementEngine) -> tuple[str, str]:
    """Store a host with two GPUs below it, and one without; return their UUIDs."""
    root = a_uuid()
    gpus = [
        a_provider(name, parent_uuid=root, inventories={"VGPU": {"total": 4}})
        for name in ("h1_gpu0", "h1_gpu1")
    ]
    host = a_provider("h1", uuid=root, traits=["HW_CPU_X86_AVX"], children=gpus)
    plain = a_provider("h2", inventories={"VCPU": {"total": 8, "allocation_ratio": 2.0}})
    results = engine.providers.set_providers([host, plain])
    assert [result.error for result in results] == [None] * 2
    engine.claims.claim([a_claim(host["uuid"], vcpus=3)])
    return host["uuid"], plain["uuid"]


def test_a_tree_is_one_row_at_its_root(engine: PlacementEngine) -> None:
    """A host without a class is told from one whose capacity is 0."""
    host, plain = set_up(engine)
    found = engine.get_fleet_usage()
    assert found.resource_classes == ["VCPU", "VGPU"]
    rows = {uuid: row for row, uuid in enumerate(found.provider_uuids)}
    assert set(rows) == {host, plain}
    assert found.capacity[rows[host]].tolist() == [8, 8]
    assert found.used[rows[host]].tolist() == [3, 0]
    assert found.capacity[rows[plain]].tolist() == [16, -1]
    names = [found.traits[trait] for trait in found.trait_sets[found.trait_set[rows[host]]]]
    assert names == ["HW_CPU_X86_AVX"]


def test_who_knows_the_epoch_gets_no_rows(engine: PlacementEngine) -> None:
    """Until something is written."""
    host, _plain = set_up(engine)
    epoch = engine.get_fleet_usage().epoch
    known = engine.get_fleet_usage(epoch)
    assert (known.epoch, known.provider_uuids) == (epoch, [])
    engine.claims.claim([a_claim(host)])
    assert len(engine.get_fleet_usage(epoch).provider_uuids) == 2


def test_an_empty_placement_has_no_rows(engine: PlacementEngine) -> None:
    """And can be sent."""
    found = engine.get_fleet_usage()
    sent = type(found).obj_from_primitive(found.obj_to_primitive())
    assert (sent.provider_uuids, sent.resource_classes) == ([], [])


def test_a_tree_is_listed_parents_first(engine: PlacementEngine) -> None:
    """With inventories, use and traits; an unknown root is left out."""
    host, _plain = set_up(engine)
    found = engine.provider_trees.list([host, "00000000-0000-4000-8000-000000000000"])
    assert [(one.name, one.parent_uuid) for one in found] == [
        ("h1", None), ("h1_gpu0", host), ("h1_gpu1", host),
    ]  # fmt: skip
    assert found[0].inventories["VCPU"]["used"] == 3
    assert found[1].inventories["VGPU"]["capacity"] == 4
    assert found[0].traits == ["HW_CPU_X86_AVX"]
