"""Claims, releases, moves on a database: what is written, by how many statements, by whom."""

import dataclasses
import datetime as dt
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import event, select

from armillary import exception
from armillary.db import Database
from objects.allocations.allocation import ALREADY_HELD, AllocationClaim, ClaimStatus
from placement.db.models import Consumer, ConsumerFence, PlacementEpoch, ResourceProvider, Usage
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement import NewEngine


def a_fleet(engine: PlacementEngine, count: int = 1, vcpus: int = 8) -> list[str]:
    inventories = {"VCPU": {"total": vcpus, "allocation_ratio": 1.0}}
    reports = [a_provider(f"host{number}", inventories=inventories) for number in range(count)]
    results = engine.providers.set_providers(reports)
    assert not any(result.error for result in results)
    return [result.uuid for result in results]


def rows(engine: PlacementEngine, model: Any) -> list[dict[str, Any]]:
    with engine._database.reader() as session:
        return [dict(row._mapping) for row in session.execute(select(model.__table__))]


def statuses(engine: PlacementEngine, *claims: AllocationClaim) -> list[str]:
    return [result.status for result in engine.claims.claim(claims)]


@contextmanager
def statements_of(engine: PlacementEngine) -> Iterator[list[str]]:
    """Collect the statements that an engine sends; one for many rows counts once."""
    seen: list[str] = []

    def collect(*arguments: Any) -> None:
        seen.append(arguments[2])

    event.listen(engine._database.engine, "before_cursor_execute", collect)
    yield seen
    event.remove(engine._database.engine, "before_cursor_execute", collect)


def test_a_claim_that_stands_already_says_so(engine: PlacementEngine) -> None:
    """Another caller may have claimed it, and rely on it."""
    (provider,) = a_fleet(engine)
    claim = a_claim(provider, 1, fence=5)
    (first,), (second,) = engine.claims.claim([claim]), engine.claims.claim([claim])
    assert (first.reason, second.reason) == (None, ALREADY_HELD)
    assert first.is_claimed
    assert second.is_claimed


def test_results_are_in_the_order_of_the_claims(engine: PlacementEngine) -> None:
    """Each claim succeeds or fails on its own."""
    (provider,) = a_fleet(engine, vcpus=2)
    assert statuses(
        engine,
        a_claim(provider, 1),
        a_claim(provider, 2),
        a_claim(a_uuid()),
        a_claim(provider, 1),
        a_claim(provider, 1),
    ) == [
        ClaimStatus.CLAIMED,
        ClaimStatus.NO_CAPACITY,
        ClaimStatus.NO_PROVIDER,
        ClaimStatus.CLAIMED,
        ClaimStatus.NO_CAPACITY,
    ]


def test_generations_and_the_epoch_count_writes(engine: PlacementEngine) -> None:
    """One more for the consumer and the provider with every change of what is held."""
    (provider,) = a_fleet(engine)
    claim = a_claim(provider, 1)
    before = rows(engine, PlacementEpoch)[0]["epoch"]
    statuses(engine, claim)
    more = {provider: {"resources": {"VCPU": 2}}}
    statuses(engine, dataclasses.replace(claim, allocations=more, replace=True))
    assert rows(engine, Consumer)[0]["generation"] == 2
    assert rows(engine, ResourceProvider)[0]["generation"] == 3
    assert rows(engine, PlacementEpoch)[0]["epoch"] == before + 2


def test_refused_and_repeated_claims_write_nothing(engine: PlacementEngine) -> None:
    """Not a row, not a generation, not an epoch: readers have nothing to load."""
    (provider,) = a_fleet(engine, vcpus=2)
    claim = a_claim(provider, 2, fence=5)
    statuses(engine, claim)
    with statements_of(engine) as seen:
        statuses(engine, claim, a_claim(provider, 1, fence=3), a_claim(a_uuid()))
    assert [statement for statement in seen if not statement.startswith(("SELECT", "BEGIN"))] == []


def test_a_batch_is_few_statements(engine: PlacementEngine) -> None:
    """Five hundred claims take as many statements as one."""
    providers = a_fleet(engine, 50, vcpus=100)
    with statements_of(engine) as for_one:
        statuses(engine, a_claim(providers[0], fence=1))
    batch = [a_claim(providers[number % 50], fence=1) for number in range(500)]
    with statements_of(engine) as for_many:
        assert set(statuses(engine, *batch)) == {ClaimStatus.CLAIMED}
    assert len(for_many) == len(for_one) <= 12


def test_usage_is_the_sum_of_what_is_held(engine: PlacementEngine) -> None:
    """Also after claims were replaced and released."""
    one, two = a_fleet(engine, 2)
    claims = [a_claim(one, 3), a_claim(one, 2), a_claim(two, 1)]
    statuses(engine, *claims)
    moved = {two: {"resources": {"VCPU": 4}}}
    statuses(engine, dataclasses.replace(claims[0], allocations=moved, replace=True))
    engine.claims.release({claims[2].consumer_uuid: 1})
    usages = engine.usages.get_provider_usages([one, two])
    assert {uuid: item["VCPU"]["used"] for uuid, item in usages.items()} == {one: 2, two: 4}


def test_a_released_consumer_leaves_its_fence_only(engine: PlacementEngine) -> None:
    """There is no consumer without allocations."""
    (provider,) = a_fleet(engine)
    claim = a_claim(provider)
    statuses(engine, claim)
    engine.claims.release({claim.consumer_uuid: 9})
    assert rows(engine, Consumer) == []
    assert [row["fence"] for row in rows(engine, ConsumerFence)] == [9]


def test_fences_hold_in_every_process(new_engine: NewEngine) -> None:
    """A claim that comes late through another process is refused."""
    one, two = new_engine(), new_engine()
    (provider,) = a_fleet(one)
    claim = a_claim(provider, fence=1000)
    one.claims.release({claim.consumer_uuid: 2000})
    assert statuses(two, claim) == [ClaimStatus.FENCED]


def test_the_last_one_goes_to_one_process_only(new_engine: NewEngine) -> None:
    """Both read the rows as the other left them."""
    one, two = new_engine(), new_engine()
    (provider,) = a_fleet(one, vcpus=1)
    assert statuses(one, a_claim(provider)) == [ClaimStatus.CLAIMED]
    assert statuses(two, a_claim(provider)) == [ClaimStatus.NO_CAPACITY]


def test_calls_at_the_same_time_share_a_transaction(
    new_engine: NewEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever they want: a conflict of one is not the others' matter."""
    engine = new_engine()
    (provider,) = a_fleet(engine)
    held = a_claim(provider, 2)
    statuses(engine, held)
    transactions = []
    is_first, go_on = threading.Event(), threading.Event()
    run_in_writer = Database.run_in_writer

    def counted(self: Database, fn: Any, *arguments: Any) -> Any:
        transactions.append(fn)
        if len(transactions) == 1:
            is_first.set()
            assert go_on.wait(20)
        return run_in_writer(self, fn, *arguments)

    monkeypatch.setattr(Database, "run_in_writer", counted)
    outcomes: dict[str, Any] = {}
    work = {
        "first": lambda: statuses(engine, a_claim(provider, 1)),
        "claim": lambda: statuses(engine, a_claim(provider, 1)),
        "release": lambda: engine.claims.release({held.consumer_uuid: 1}),
        "move": lambda: engine.claims.move(a_uuid(), a_uuid(), 1),
    }

    def run(name: str) -> None:
        try:
            outcomes[name] = work[name]()
        except exception.NotFound as error:
            outcomes[name] = type(error)

    threads = [threading.Thread(target=run, args=(name,)) for name in work]
    threads[0].start()
    assert is_first.wait(20)
    for number, thread in enumerate(threads[1:], start=1):
        thread.start()
        while len(engine.claims._commit._group_commit._waiting) < number:
            thread.join(0.01)
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert len(transactions) == 2
    assert outcomes == {
        "first": [ClaimStatus.CLAIMED],
        "claim": [ClaimStatus.CLAIMED],
        "release": None,
        "move": exception.ConsumerNotFound,
    }
    assert [row["used"] for row in rows(engine, Usage)] == [2]


def test_nothing_to_do_needs_no_database(engine: PlacementEngine) -> None:
    """Empty calls are fine."""
    with statements_of(engine) as seen:
        assert engine.claims.claim([]) == []
        engine.claims.release({})
    assert seen == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"fence": -1}, "fence must be from 0"),
        ({"project_id": ""}, "project_id must have 1 to 255"),
        ({"user_id": "x" * 256}, "user_id must have 1 to 255"),
        ({"project_id": "a\0b"}, "project_id must have 1 to 255"),
        ({"allocations": {}}, "at least one provider"),
        ({"allocations": []}, "at least one provider"),
        (
            {"allocations": {"host1": {"resources": {"VCPU": 1}}}},
            "provider must be named by its UUID",
        ),
        ({"allocations": {a_uuid(): {}}}, "at least one resource class"),
        ({"allocations": {a_uuid(): {"resources": {"VCPU": 0}}}}, "amount of VCPU must be"),
        ({"allocations": {a_uuid(): {"resources": {"VCPU": True}}}}, "amount of VCPU must be"),
        ({"allocations": {a_uuid(): {"resources": {"VCPU": "1"}}}}, "amount of VCPU must be"),
    ],
)
def test_a_claim_that_makes_no_sense_refuses_the_call(
    engine: PlacementEngine, values: dict[str, Any], words: str
) -> None:
    """Nothing of it is written, the good claim beside it included."""
    (provider,) = a_fleet(engine)
    with pytest.raises(exception.Invalid, match=words):
        engine.claims.claim([a_claim(provider), a_claim(provider, **values)])
    assert rows(engine, Consumer) == []


def test_a_call_has_a_bound(new_engine: NewEngine) -> None:
    """The error names the option."""
    engine = new_engine(claim_batch_size_max=2)
    (provider,) = a_fleet(engine)
    with pytest.raises(exception.Invalid, match="claim_batch_size_max"):
        engine.claims.claim([a_claim(provider) for _ in range(3)])
    with pytest.raises(exception.Invalid, match="claim_batch_size_max"):
        engine.claims.release({a_uuid(): 1 for _ in range(3)})


def test_a_consumer_cannot_be_moved_onto_itself(engine: PlacementEngine) -> None:
    """That is a mistake of the caller's, not an empty move."""
    consumer = a_uuid()
    with pytest.raises(exception.Invalid, match=consumer):
        engine.claims.move(consumer, consumer, 1)


def test_what_is_not_a_claim_refuses_a_batch(engine: PlacementEngine) -> None:
    """A batch says what it likes: no object has looked at its values."""
    (provider,) = a_fleet(engine)
    good = AllocationClaim(a_uuid(), "p1", "u1", {provider: {"resources": {"VCPU": 1}}})
    for values in ({"fence": "7"}, {"replace": "no"}, {"consumer_uuid": [1]}, {"project_id": 5}):
        bad: Any = dataclasses.replace(good, **values)
        with pytest.raises(exception.Invalid, match=r"not|must"):
            engine.claims.claim([good, bad])
    assert rows(engine, Consumer) == []


def test_a_move_may_change_the_type_of_what_replaces(engine: PlacementEngine) -> None:
    """What is written is what the target holds then: the source's, under the type asked for."""
    first, second = a_fleet(engine, 2)
    source, target = a_uuid(), a_uuid()
    engine.claims.claim(
        [a_claim(first, consumer_uuid=source), a_claim(second, consumer_uuid=target)]
    )
    engine.claims.move(source, target, 1, is_replacing=True, consumer_type="MIGRATION")
    (row,) = rows(engine, Consumer)
    assert (row["uuid"], row["consumer_type"]) == (target, "MIGRATION")
    assert list(engine.allocations.get([target])[target]) == [first]


def test_a_move_asks_for_a_type_that_can_be_written(engine: PlacementEngine) -> None:
    """As a claim does."""
    with pytest.raises(exception.Invalid, match="consumer_type"):
        engine.claims.move(a_uuid(), a_uuid(), 1, consumer_type="")


def test_a_fence_is_dated_when_it_is_written(new_engine: NewEngine) -> None:
    """Its time to live begins then."""
    moment = dt.datetime(2030, 1, 31, 12, 0, 0)
    engine = new_engine(clock=lambda: moment)
    engine.claims.release({a_uuid(): 1})
    assert [row["updated_at"] for row in rows(engine, ConsumerFence)] == [moment]
