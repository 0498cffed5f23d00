"""Never above capacity: threads of two engines want the last slots, on three databases."""

import random
import threading
from collections.abc import Iterator

import pytest

from armillary.db import Database
from objects.allocations.allocation import AllocationClaim, ClaimStatus
from objects.allocations.fence import FENCE_FINAL
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement import SCHEMA, NewEngine, engines
from tests.fixtures.placement.placement_rows import recorded_usage, true_providers

PROVIDERS = 3
SLOTS = 10  # of each provider
CLAIMS = 200
THREADS = 4  # of each of two engines
SECONDS_MAX = 600  # however busy the machine is


@pytest.fixture
def new_engine_on_all_three(any_database_url: str) -> Iterator[NewEngine]:
    database = Database(any_database_url, name="placement")
    database.sync(SCHEMA)
    database.dispose()
    with engines(any_database_url) as make:
        yield make


def claimed_together(
    workers: list[PlacementEngine], claims: list[AllocationClaim], *, is_released: bool
) -> list[str]:
    """Claim from as many threads as there are workers; return what became of each claim."""
    statuses: list[str] = []
    start = threading.Barrier(len(workers))

    def work(number: int) -> None:
        start.wait(SECONDS_MAX)
        for claim in claims[number :: len(workers)]:
            status = workers[number].claims.claim([claim])[0].status
            statuses.append(status)
            if is_released and status == ClaimStatus.CLAIMED:
                workers[number].claims.release({claim.consumer_uuid: FENCE_FINAL})

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(workers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS_MAX)
    assert not any(thread.is_alive() for thread in threads)
    return statuses


@pytest.mark.parametrize("is_released", [False, True], ids=["kept", "released"])
def test_usage_never_exceeds_capacity_under_concurrent_claims(
    new_engine_on_all_three: NewEngine, is_released: bool
) -> None:
    """Every slot is given away, none twice, and the counts are those of the rows."""
    one, other = new_engine_on_all_three(), new_engine_on_all_three()
    reports = [
        a_provider(f"host{number}", inventories={"VCPU": {"total": SLOTS}})
        for number in range(PROVIDERS)
    ]
    uuids = [result.uuid for result in one.providers.set_providers(reports)]
    rng = random.Random(7)
    claims = [a_claim(rng.choice(uuids)) for _ in range(CLAIMS)]
    statuses = claimed_together([one, other] * THREADS, claims, is_released=is_released)
    assert len(statuses) == CLAIMS
    assert set(statuses) <= {ClaimStatus.CLAIMED, ClaimStatus.NO_CAPACITY}
    truth = true_providers(one._database)
    used = [truth[uuid].used["VCPU"] for uuid in uuids]
    assert used == ([0] * PROVIDERS if is_released else [SLOTS] * PROVIDERS)
    assert {uuid: +item for uuid, item in recorded_usage(one._database).items()} == {
        uuid: truth[uuid].used for uuid in uuids
    }
    if not is_released:
        assert statuses.count(ClaimStatus.CLAIMED) == PROVIDERS * SLOTS
    for engine in (one, other):
        usages = engine.usages.get_provider_usages(uuids)
        assert [usages[uuid]["VCPU"]["used"] for uuid in uuids] == used


def test_a_reader_never_sees_half_a_write(new_engine_on_all_three: NewEngine) -> None:
    """While a consumer is moved between two providers, every reader finds it exactly once."""
    writer, reader = new_engine_on_all_three(), new_engine_on_all_three()
    reports = [a_provider(f"host{number}") for number in range(2)]
    uuids = [result.uuid for result in writer.providers.set_providers(reports)]
    consumer = a_uuid()
    claims = [a_claim(uuid, consumer_uuid=consumer, replace=True) for uuid in uuids]
    writer.claims.claim(claims[:1])
    is_over = threading.Event()

    def move_to_and_fro() -> None:
        for number in range(100):
            writer.claims.claim([claims[number % 2]])
        is_over.set()

    thread = threading.Thread(target=move_to_and_fro)
    thread.start()
    seen = set()
    while not is_over.is_set():
        usages = reader.usages.get_provider_usages(uuids)
        seen.add(tuple(usages[uuid]["VCPU"]["used"] for uuid in uuids))
    thread.join(SECONDS_MAX)
    assert seen <= {(1, 0), (0, 1)}
