"""Work of several callers in one transaction: each gets its own outcome."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from armillary import exception
from armillary.db import Database
from objects.allocations.allocation import ClaimStatus
from placement.engine import PlacementEngine
from placement.ledger.consumer_writes import ConsumerWrite
from placement.providers.inventory import Inventory
from tests.builders import a_claim, a_provider, a_uuid

WAIT_SECONDS_MAX = 60


@pytest.fixture
def together(
    engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch
) -> Callable[[list[Callable[[], Any]]], list[Any]]:
    """Return a function that has calls committed in one transaction, in their order.

    It holds up one of its own until all of them wait; it returns what they returned or raised.
    """
    run_in_writer = Database.run_in_writer
    is_first, go_on = threading.Event(), threading.Event()
    transactions = []

    def held_up(self: Database, fn: Any, *arguments: Any) -> Any:
        transactions.append(fn)
        if len(transactions) == 1:
            is_first.set()
            assert go_on.wait(WAIT_SECONDS_MAX)
        return run_in_writer(self, fn, *arguments)

    def run(calls: list[Callable[[], Any]]) -> list[Any]:
        monkeypatch.setattr(Database, "run_in_writer", held_up)
        outcomes: list[Any] = [None] * len(calls)

        def call(number: int) -> None:
            try:
                outcomes[number] = calls[number]()
            except exception.ArmillaryError as error:
                outcomes[number] = type(error)

        first = threading.Thread(target=engine.claims.release, args=({a_uuid(): 1},))
        threads = [threading.Thread(target=call, args=(number,)) for number in range(len(calls))]
        first.start()
        assert is_first.wait(WAIT_SECONDS_MAX)
        for number, thread in enumerate(threads, start=1):
            thread.start()
            while len(engine.claims._commit._group_commit._waiting) < number:
                thread.join(0.01)
        go_on.set()
        for thread in [first, *threads]:
            thread.join(WAIT_SECONDS_MAX)
        assert len(transactions) == 2
        return outcomes

    return run


def test_writes_and_claims_share_a_transaction(
    engine: PlacementEngine, together: Callable[..., list[Any]]
) -> None:
    """Each is accepted or refused on its own, in the order in which they came."""
    report = a_provider()
    engine.providers.set_providers([report])
    provider = report["uuid"]
    claim = a_claim(provider, 3)

    def put(vcpus: int) -> Callable[[], None]:
        write = ConsumerWrite(a_uuid(), {provider: {"VCPU": vcpus}}, "p1", "u1", generation=None)
        return lambda: engine.consumer_writes.put([write])

    outcomes = together(
        [
            lambda: engine.claims.claim([claim])[0].status,
            put(6),
            put(5),
            lambda: engine.claims.claim([a_claim(provider, 1)])[0].status,
            lambda: engine.consumer_writes.delete(claim.consumer_uuid),
            put(3),
        ]
    )
    assert outcomes == [
        ClaimStatus.CLAIMED,
        exception.CapacityExceeded,
        None,
        ClaimStatus.NO_CAPACITY,
        None,
        None,
    ]
    assert engine.usages.get_of_provider(provider) == (2, {"VCPU": 8})


def test_of_two_reshapes_of_one_provider_the_second_is_late(
    engine: PlacementEngine, together: Callable[..., list[Any]]
) -> None:
    """It has not seen what the first made of it, nor does it undo that."""
    report = a_provider()
    engine.providers.set_providers([report])

    def reshape(name: str) -> Callable[[], None]:
        inventories = {name: Inventory(4, 0, 1, 4, 1, 1.0)}
        return lambda: engine.consumer_writes.reshape({report["uuid"]: (1, inventories)}, [])

    outcomes = together([reshape("DISK_GB"), reshape("VCPU")])
    assert outcomes == [None, exception.ResourceProviderGenerationConflict]
    assert engine.usages.get_of_provider(report["uuid"]) == (3, {"DISK_GB": 0})


def test_a_class_that_goes_and_comes_back_begins_at_zero(
    engine: PlacementEngine, together: Callable[..., list[Any]]
) -> None:
    """Taken away and given again in one transaction, by reshapes that know of each other."""
    report = a_provider()
    engine.providers.set_providers([report])
    provider = report["uuid"]
    claim = a_claim(provider, 3)
    engine.claims.claim([claim])
    inventories = {"VCPU": Inventory(4, 0, 1, 4, 1, 1.0)}
    gone = ConsumerWrite(claim.consumer_uuid, {}, "p1", "u1")
    taken = ConsumerWrite(a_uuid(), {provider: {"VCPU": 2}}, "p1", "u1")
    outcomes = together(
        [
            lambda: engine.consumer_writes.reshape({provider: (2, {})}, [gone]),
            lambda: engine.consumer_writes.reshape({provider: (4, inventories)}, [taken]),
        ]
    )
    assert outcomes == [None, None]
    assert engine.usages.get_of_provider(provider) == (6, {"VCPU": 2})
