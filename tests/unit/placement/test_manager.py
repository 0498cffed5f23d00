"""The whole service at its border: every method, asked over the broker, on SQLite."""

import datetime as dt
import threading
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from objects.allocations.allocation import ClaimStatus, ClassUsage, ProviderAllocation, UsageTotals
from objects.allocations.fence import FENCE_FINAL
from placement.manager import PlacementManager
from placement.providers.inventory import Inventory
from rpc.transport import Bus
from tests.builders import a_claim, a_provider, a_query, a_uuid
from tests.fixtures.placement import PlacementService, placement_conf

CONTEXT = admin_context()


def set_one(placement: PlacementService, **values: Any) -> str:
    provider = a_provider(**values)
    result = placement.api.set_providers(CONTEXT, [provider])[0]
    assert result.error is None
    return str(provider["uuid"])


def test_a_provider_is_a_candidate_for_what_it_has(placement: PlacementService) -> None:
    """A provider that was just set is found."""
    uuid = set_one(placement)
    assert placement.providers_that_fit(a_query(resources={"VCPU": 8})) == [uuid]


def test_a_claim_uses_up_what_it_takes(placement: PlacementService) -> None:
    """The next question knows of the claim."""
    uuid = set_one(placement)
    results = placement.api.claim(CONTEXT, [a_claim(uuid, vcpus=6)])
    assert [result.status for result in results] == [ClaimStatus.CLAIMED]
    assert placement.providers_that_fit(a_query(resources={"VCPU": 3})) == []


def test_candidates_carry_figures_that_make_a_claim(placement: PlacementService) -> None:
    """The answer's own allocation request can be claimed as it is."""
    uuid = set_one(placement)
    answer = placement.api.get_allocation_candidates(CONTEXT, a_query(resources={"VCPU": 2}))
    claim = a_claim(uuid, allocations=answer.allocation_request(uuid))
    assert placement.api.claim(CONTEXT, [claim])[0].is_claimed
    answer = placement.api.get_allocation_candidates(CONTEXT, a_query(resources={"VCPU": 2}))
    assert (answer.total.tolist(), answer.used.tolist()) == ([[8]], [[2]])


def test_a_refused_claim_says_why(placement: PlacementService) -> None:
    """A refusal is a result with a sentence, not an error."""
    uuid = set_one(placement, name="small")
    result = placement.api.claim(CONTEXT, [a_claim(uuid, vcpus=9)])[0]
    assert (result.status, result.reason) == (
        ClaimStatus.NO_CAPACITY,
        "VCPU on small: 9 asked, more than max_unit 8",
    )


def test_a_release_gives_everything_back(placement: PlacementService) -> None:
    """After a release nothing is held or used."""
    uuid = set_one(placement)
    claim = a_claim(uuid)
    placement.api.claim(CONTEXT, [claim])
    placement.api.release(CONTEXT, {claim.consumer_uuid: FENCE_FINAL})
    assert placement.api.get_allocations(CONTEXT, [claim.consumer_uuid]) == {}
    totals = placement.api.get_usage_totals(CONTEXT)
    assert totals == UsageTotals(0, 1, {"VCPU": ClassUsage(used=0, capacity=8)})


def test_the_usage_of_a_project_is_that_of_its_servers(placement: PlacementService) -> None:
    """M04: not that of its claims on pools, nor of others."""
    uuid = set_one(placement)
    claims = [
        a_claim(uuid, vcpus=3), a_claim(uuid, consumer_type="MIGRATION"),
        a_claim(uuid, consumer_type="CLAIM"), a_claim(uuid, project_id="p2"),
    ]  # fmt: skip
    placement.api.claim(CONTEXT, claims)
    assert placement.api.get_project_usage(CONTEXT, "p1") == {"VCPU": 4}
    assert placement.api.get_project_usage(CONTEXT, "p9") == {}
    first, *_, foreign = [claim.consumer_uuid for claim in claims]
    without = [first, first, foreign, a_uuid()]
    assert placement.api.get_project_usage(CONTEXT, "p1", without=without) == {"VCPU": 1}


def test_a_move_changes_the_owner_only(placement: PlacementService) -> None:
    """The target holds what the source held; usage is the same."""
    uuid = set_one(placement)
    claim, target = a_claim(uuid, vcpus=3), a_uuid()
    placement.api.claim(CONTEXT, [claim])
    placement.api.move_allocations(CONTEXT, claim.consumer_uuid, target, fence=1)
    assert placement.api.get_allocations(CONTEXT, [claim.consumer_uuid, target]) == {
        target: claim.allocations
    }
    usages = placement.api.get_provider_usages(CONTEXT, [uuid])
    assert usages[uuid]["VCPU"]["used"] == 3


def test_a_move_of_nothing_is_an_error_the_caller_knows(placement: PlacementService) -> None:
    """Errors arrive as the classes of the contract."""
    with pytest.raises(exception.ConsumerNotFound):
        placement.api.move_allocations(CONTEXT, a_uuid(), a_uuid(), fence=1)


def test_a_query_that_makes_no_sense_is_an_error_the_caller_knows(
    placement: PlacementService,
) -> None:
    """An unknown class is named in the error."""
    with pytest.raises(exception.InvalidResourceQuery, match="NO_SUCH_CLASS"):
        placement.providers_that_fit(a_query(resources={"NO_SUCH_CLASS": 1}))


def test_allocations_are_listed_with_their_owners(placement: PlacementService) -> None:
    """An audit sees who holds what, and where."""
    uuid = set_one(placement, name="host7")
    claim = a_claim(uuid, vcpus=2)
    placement.api.claim(CONTEXT, [claim])
    (item,) = placement.api.list_allocations(CONTEXT)
    assert dt.datetime.fromisoformat(item.updated_at).tzinfo == dt.UTC
    assert item == ProviderAllocation(
        consumer_uuid=claim.consumer_uuid,
        consumer_type="INSTANCE",
        project_id="p1",
        user_id="u1",
        provider_uuid=uuid,
        provider_name="host7",
        updated_at=item.updated_at,
        resources={"VCPU": 2},
    )


def test_provider_usages_show_figures_and_capacity(placement: PlacementService) -> None:
    """Capacity is (total - reserved) * ratio; unknown providers are left out."""
    inventory = {"total": 8, "reserved": 1, "allocation_ratio": 1.5}
    uuid = set_one(placement, inventories={"VCPU": inventory})
    figures = {**inventory, "used": 0, "capacity": 10}
    usages = placement.api.get_provider_usages(CONTEXT, [uuid, a_uuid()])
    assert usages == {uuid: {"VCPU": figures}}


def test_a_trait_can_be_required_once_it_is_set(placement: PlacementService) -> None:
    """A single trait comes and goes."""
    uuid = set_one(placement)
    query = a_query(required_traits=[["COMPUTE_STATUS_DISABLED"]])
    placement.api.set_trait(CONTEXT, uuid, "COMPUTE_STATUS_DISABLED", present=True)
    assert placement.providers_that_fit(query) == [uuid]
    placement.api.set_trait(CONTEXT, uuid, "COMPUTE_STATUS_DISABLED", present=False)
    assert placement.providers_that_fit(query) == []


def test_a_trait_of_an_unknown_provider_is_an_error(placement: PlacementService) -> None:
    """The caller learns that the provider is not there."""
    with pytest.raises(exception.ResourceProviderNotFound):
        placement.api.set_trait(CONTEXT, a_uuid(), "COMPUTE_STATUS_DISABLED", present=True)


def test_a_deleted_provider_is_not_a_candidate(placement: PlacementService) -> None:
    """Deleting twice is fine."""
    uuid = set_one(placement)
    assert placement.providers_that_fit(a_query()) == [uuid]
    placement.api.delete_provider(CONTEXT, uuid)
    placement.api.delete_provider(CONTEXT, uuid)
    assert placement.providers_that_fit(a_query()) == []


def test_a_late_repeat_gives_no_provider_to_its_former_cell(placement: PlacementService) -> None:
    """It is answered as the first time; another request would do it again."""
    uuid, first, cells = set_one(placement), admin_context(), (a_uuid(), a_uuid())
    for context, cell, adopted in (
        (first, cells[0], [uuid]),
        (admin_context(), cells[1], [uuid]),
        (first, cells[0], [uuid]),
        (admin_context(), cells[1], []),
    ):
        answer = placement.api.adopt_providers(context, cell, [uuid], replace=True)
        assert answer == adopted


def test_a_provider_in_use_cannot_be_deleted(placement: PlacementService) -> None:
    """No allocation disappears."""
    uuid = set_one(placement)
    placement.api.claim(CONTEXT, [a_claim(uuid)])
    with pytest.raises(exception.ResourceProviderInUse):
        placement.api.delete_provider(CONTEXT, uuid)


def test_members_of_an_aggregate_are_found_by_it(placement: PlacementService) -> None:
    """The aggregate holds exactly those that were named last."""
    one, two = set_one(placement, name="one"), set_one(placement, name="two")
    aggregate = a_uuid()
    placement.api.set_aggregate_members(CONTEXT, aggregate, [one, a_uuid()])
    placement.api.set_aggregate_members(CONTEXT, aggregate, [two])
    assert placement.providers_that_fit(a_query(member_of=[[aggregate]])) == [two]


def test_members_of_a_lower_order_are_late(placement: PlacementService) -> None:
    """The caller learns of the higher order, and its next message may be numbered after it."""
    one, two = set_one(placement, name="one"), set_one(placement, name="two")
    aggregate = a_uuid()

    def set_members(provider: str, order: int) -> tuple[int | None, list[str]]:
        later = placement.api.set_aggregate_members(CONTEXT, aggregate, [provider], order=order)
        return later, placement.providers_that_fit(a_query(member_of=[[aggregate]]))

    assert set_members(one, 7) == (None, [one])
    assert set_members(two, 6) == (7, [one])
    assert set_members(two, 8) == (None, [two])
    assert set_members(one, 7) == (8, [two])


def test_the_service_forgets_periodically(placement: PlacementService) -> None:
    """The one periodic task runs on what the options say."""
    tasks = placement.manager.periodic_tasks()
    assert [(task.name, task.interval_seconds) for task in tasks] == [("prune-placement", 3600)]


def test_a_database_without_its_tables_stops_the_start(tmp_path: Path) -> None:
    """The operator reads what to run."""
    manager = _a_manager(f"sqlite:///{tmp_path}/empty.sqlite")
    with pytest.raises(exception.ConfigurationError, match="armillary-manage db sync"):
        manager.start()


def test_a_start_waits_for_the_database_until_it_is_told_to_stop() -> None:
    """A database that is unreachable is waited for; a stop ends the wait."""
    manager = _a_manager("postgresql+psycopg2://user@127.0.0.1:1/none")
    starting = threading.Thread(target=manager.start)
    starting.start()
    manager.stop(0.0)
    starting.join(30)
    assert not starting.is_alive()


def _a_manager(url: str) -> PlacementManager:
    conf = placement_conf()
    bus = Bus(conf, f"kombu+memory:////{a_uuid()}")
    return PlacementManager(conf, top_bus=bus, database=Database(url, name="placement"))


def test_a_host_with_a_device_of_its_own_is_claimed_together_with_it(
    placement: PlacementService,
) -> None:
    """The candidate names the host, its allocation request both."""
    uuid, device = set_one(placement), a_uuid()
    engine = placement.manager.engine
    engine.resource_providers.create(device, "device", uuid)
    engine.inventories.set_all(device, 0, {"VGPU": Inventory(1, 0, 1, 1, 1, 1.0)})
    query = a_query(resources={"VCPU": 1, "VGPU": 1})
    answer = placement.api.get_allocation_candidates(CONTEXT, query)
    assert answer.provider_uuids == [uuid]
    claim = a_claim(uuid, allocations=answer.allocation_request(uuid))
    assert set(claim.allocations) == {uuid, device}
    assert placement.api.claim(CONTEXT, [claim])[0].is_claimed
    assert placement.providers_that_fit(query) == []


def test_an_explanation_says_in_a_sentence_what_is_short(placement: PlacementService) -> None:
    """And names the nearest hosts."""
    uuid = set_one(placement, name="small")
    found = placement.api.explain_candidates(CONTEXT, a_query(resources={"VCPU": 9}))
    assert found.sentence == "The only provider lacks VCPU: 9 asked, 8 free at most."
    (group,) = found.groups
    assert group.nearest[0].provider.uuid == uuid


def test_an_explanation_of_a_question_that_makes_no_sense_is_refused(
    placement: PlacementService,
) -> None:
    """As the question itself is."""
    with pytest.raises(exception.InvalidResourceQuery, match="NO_SUCH_CLASS"):
        placement.api.explain_candidates(CONTEXT, a_query(resources={"NO_SUCH_CLASS": 1}))
