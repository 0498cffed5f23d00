"""The engine as a whole: random candidates, and the law that every engine answers the truth."""

import shutil
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from placement.engine import PlacementEngine
from placement.providers.inventory import Inventory
from tests.builders import a_provider, a_query, a_uuid
from tests.fixtures.placement import NewEngine, engines
from tests.fixtures.placement.placement_law import LAW_PHASES, PlacementLaw
from tests.fixtures.plugins.examples import examples


def test_candidates_are_in_the_order_of_the_providers(new_engine: NewEngine) -> None:
    """Unless they are to be shuffled; then a limit is a sample."""
    plain, shuffling = new_engine(), new_engine(randomize_allocation_candidates=True)
    reports = [a_provider(f"host{number}") for number in range(20)]
    uuids = [result.uuid for result in plain.providers.set_providers(reports)]
    assert plain.get_candidates(a_query(limit=3)).provider_uuids == uuids[:3]
    samples = [shuffling.get_candidates(a_query(limit=3)).provider_uuids for _ in range(10)]
    assert len({*map(tuple, samples)}) > 1


def test_an_operator_may_bound_and_order_what_is_generated(new_engine: NewEngine) -> None:
    """Whatever limit the request has: the lower one counts. -1 means unlimited."""
    writer = new_engine()
    hosts = [a_provider(f"host{number}") for number in range(2)]
    writer.providers.set_providers(hosts)
    for number in range(4):
        device = a_uuid()
        writer.resource_providers.create(device, f"device{number}", hosts[number % 2]["uuid"])
        writer.inventories.set_all(device, 0, {"VGPU": Inventory(1, 0, 1, 1, 1, 1.0)})

    def hosts_found(limit: int | None = None, **options: Any) -> list[str]:
        query = a_query(resources={"VCPU": 1, "VGPU": 1}, limit=limit)
        return new_engine(**options).get_candidates(query).provider_uuids

    first, second = (host["uuid"] for host in hosts)
    assert hosts_found(max_allocation_candidates=-1) == [first, first, second, second]
    assert hosts_found(max_allocation_candidates=2) == [first, first]
    assert hosts_found(limit=1, max_allocation_candidates=2) == [first]
    in_turn: dict[str, Any] = {"allocation_candidates_generation_strategy": "breadth-first"}
    assert hosts_found(max_allocation_candidates=2, **in_turn) == [first, second]


def test_every_engine_answers_the_truth_after_any_writes(
    placement_template: Path, tmp_path: Path
) -> None:
    """Two processes write what they like: both answer as if they had just read everything."""
    count = iter(range(10_000))

    class Law(PlacementLaw):
        def make_engines(self) -> tuple[PlacementEngine, PlacementEngine]:
            path = shutil.copy(placement_template, tmp_path / f"{next(count)}.sqlite")
            make = self.stack.enter_context(engines(f"sqlite:///{path}"))
            return make(), make()

        def __init__(self) -> None:
            super().__init__()
            self.stack = ExitStack()

        def teardown(self) -> None:
            self.stack.close()

    run_state_machine_as_test(
        Law,
        settings=settings(
            max_examples=examples(15),
            stateful_step_count=30,
            deadline=None,
            phases=LAW_PHASES,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
