"""Tests of claims from request to end, whatever breaks on the way."""

import functools
import itertools
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import oslo_messaging
import pytest
import sqlalchemy as sa

from armillary import exception
from armillary.db import Database
from conductor.common.clock import moment
from conductor.super_conductor.claims import claim_task
from conductor.super_conductor.claims.endpoint import ClaimsEndpoint
from conductor.super_conductor.db import instance_mappings
from objects.cell_mapping import CELL0_UUID
from objects.claims.resource_claim import ClaimState, NewClaim
from tests.builders import a_uuid, an_instance
from tests.fixtures.asking import wait_for
from tests.fixtures.control_plane import API_SCHEMA, NOW, PROJECT, ControlPlane, a_user, an_admin
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.services.databases import SyncedDatabases
from tests.fixtures.super_conductor.claims import ClaimPlane, claims

__all__ = ["claims", "placement_template", "placement_url"]

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")
STEPS = [step.name for step in claim_task.STEPS]
WAITING = sa.text(
    "SELECT count(*) FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event_type = 'Lock'"
)
END_STEPS = [step.name for step in claim_task.END_STEPS]


@pytest.fixture
def pools(claims: ClaimPlane) -> list[str]:
    """Return two storage pools, of 500 and 1000 GiB; the second one has solid-state disks."""
    return [
        claims.add_pool("small", "storage", {"DISK_GB": 500}),
        claims.add_pool("large", "storage", {"DISK_GB": 1000}, ["STORAGE_DISK_SSD"]),
    ]


def assert_ended(claims: ClaimPlane, uuid: str) -> None:
    """Nothing is left of a claim: neither a record, nor an allocation, nor usage."""
    with pytest.raises(exception.ClaimNotFound):
        claims.get(uuid)
    assert claims.held(uuid) == {}


def end(claims: ClaimPlane, uuid: str) -> None:
    claims.endpoint.delete_claim(a_user(), uuid)
    claims.plane.workers.work()


def is_there(claims: ClaimPlane, uuid: str) -> bool:
    return any(one.uuid == uuid for one in claims.endpoint.list_claims(a_user()))


def test_a_claim_holds_what_it_asked_for_of_one_pool(claims: ClaimPlane, pools: list[str]) -> None:
    """The consumer is the claim, of the type CLAIM; the other pool is its alternate."""
    made = claims.claim(required_traits=["STORAGE_DISK_SSD"])
    assert (made.state, made.pool_uuid, made.pool_name) == (ClaimState.ACTIVE, pools[1], "large")
    assert claims.held(made.uuid) == {pools[1]: {"DISK_GB": 100}}
    (held,) = claims.engine.allocations.list(marker=None, limit=10)
    assert (held.consumer_type, held.project_id, held.user_id) == ("CLAIM", PROJECT, "u1")
    assert claims.claim(resources={"DISK_GB": 1}).alternates != []


def test_claims_are_listed_by_their_pool(claims: ClaimPlane, pools: list[str]) -> None:
    """Given by name or UUID; those without a pool are on none."""
    made = claims.claim(required_traits=["STORAGE_DISK_SSD"])
    claims.claim(forbidden_traits=["STORAGE_DISK_SSD"])
    claims.claim(required_traits=["CUSTOM_NOWHERE"])
    for pool in ("large", pools[1]):
        assert claims.endpoint.list_claims(a_user(), pool=pool) == [made]
    assert claims.endpoint.list_claims(a_user(), pool="array") == []


def test_a_claim_that_no_pool_fits_says_why_and_holds_nothing(
    claims: ClaimPlane, pools: list[str]
) -> None:
    """The sentence counts pools only, and all of them."""
    claims.add_pool("net", "network", {"IPV4_ADDRESS": 8})
    made = claims.claim(resources={"DISK_GB": 800}, forbidden_traits=["STORAGE_DISK_SSD"])
    assert made.state == ClaimState.ERROR
    assert made.fault == (
        "No pool fits. 1 of 2 storage pools has STORAGE_DISK_SSD, which is forbidden; the other "
        "one lacks DISK_GB: 800 asked, 500 free at most; the nearest miss has STORAGE_DISK_SSD, "
        "which is forbidden."
    )
    assert claims.held(made.uuid) == {}


def test_a_pool_of_another_kind_never_serves_a_claim(claims: ClaimPlane) -> None:
    """Its trait says what a pool is for."""
    claims.add_pool("net", "network", {"DISK_GB": 1000})
    assert claims.claim().fault == "No pool fits. There is no storage pool yet."


def test_a_claim_that_is_asked_for_again_is_the_same(claims: ClaimPlane, pools: list[str]) -> None:
    """Its lifetime counts from the repeat, so its end is later; the first one stays."""
    claims.endpoint.update_claim_quotas(an_admin(), PROJECT, {"claims": 1})
    ends_at = moment(claims.plane.clock()) + timedelta(hours=1)
    made = claims.claim(ends_at=ends_at)
    again = claims.claim(uuid=made.uuid, ends_at=ends_at + timedelta(seconds=30))
    assert again == made
    assert claims.endpoint.list_claims(a_user()) == [made]


def test_a_deleted_claim_is_released(claims: ClaimPlane, pools: list[str]) -> None:
    """Once accepted, the end of a claim is carried out."""
    made = claims.claim()
    claims.endpoint.delete_claim(a_user(), made.uuid)
    claims.plane.settle()
    assert_ended(claims, made.uuid)


def test_a_claim_ends_at_its_time(claims: ClaimPlane, pools: list[str]) -> None:
    """Not before, and without anyone asking."""
    clock = claims.plane.clock
    made = claims.claim(ends_at=moment(clock()) + timedelta(hours=1))
    clock.advance(3590)
    claims.plane.recover()
    assert claims.get(made.uuid).state == ClaimState.ACTIVE
    clock.advance(11)
    claims.plane.recover()
    assert_ended(claims, made.uuid)


def test_a_claim_deleted_while_it_is_scheduled_holds_nothing(
    claims: ClaimPlane, pools: list[str]
) -> None:
    """The worker that schedules it notices, and ends it."""
    made = claims.create()

    def delete(step: str) -> None:
        if step == "store pool":
            claims.endpoint.delete_claim(a_user(), made.uuid)

    claims.plane.before_step = delete
    claims.plane.workers.work()
    assert_ended(claims, made.uuid)


@pytest.mark.parametrize("step", STEPS)
def test_a_step_that_fails_is_tried_again(claims: ClaimPlane, pools: list[str], step: str) -> None:
    """The claim is made once."""
    failed: list[str] = []

    def fail(name: str) -> None:
        if name == step and not failed:
            failed.append(name)
            raise RuntimeError("the step fails")

    claims.plane.before_step = fail
    made = claims.claim()
    assert failed == [step]
    assert (made.state, len(claims.held(made.uuid))) == (ClaimState.ACTIVE, 1)


def test_a_conductor_may_die_at_any_effect(claims: ClaimPlane, pools: list[str]) -> None:
    """Before or after any message and any write: the claim is made once, and ended once."""
    for number in itertools.count():
        made = claims.create()
        was_killed = claims.plane.killed_at(number / 2, claims.plane.workers.work)
        claims.plane.settle()
        assert claims.get(made.uuid).state == ClaimState.ACTIVE
        assert sum(claims.used(pool).get("DISK_GB", 0) for pool in pools) == 100
        end(claims, made.uuid)
        assert_ended(claims, made.uuid)
        if not was_killed:
            break
    assert number > len(STEPS)


def test_a_conductor_may_die_at_any_effect_of_an_end(claims: ClaimPlane, pools: list[str]) -> None:
    """Once the end is stored it is carried out; before, nothing has happened."""
    for number in itertools.count():
        made = claims.claim()
        was_killed = claims.plane.killed_at(number / 2, functools.partial(end, claims, made.uuid))
        claims.plane.settle()
        if was_killed and is_there(claims, made.uuid):
            assert claims.get(made.uuid).state == ClaimState.ACTIVE
            assert len(claims.held(made.uuid)) == 1
            end(claims, made.uuid)
        assert_ended(claims, made.uuid)
        if not was_killed:
            break
    assert number > len(END_STEPS)


def test_what_a_lost_try_claimed_is_not_kept_beside_the_next(
    claims: ClaimPlane, pools: list[str]
) -> None:
    """The answer of the scheduler is lost after it claimed: the next try claims once."""
    made = claims.create()
    claims.plane.bus.fail("select_destinations", TIMEOUT, when_done=True)
    claims.plane.settle()
    held = claims.held(made.uuid)
    assert held == {claims.get(made.uuid).pool_uuid: {"DISK_GB": 100}}


def is_waiting(database: Database) -> bool:
    """Return whether a transaction in a database waits for another one."""
    with database.reader() as session:
        return bool(session.scalar(WAITING))


class TestOfServers:
    """Claims that belong to a server."""

    def test_a_claim_of_an_unknown_server_is_refused(
        self, claims: ClaimPlane, pools: list[str]
    ) -> None:
        """Nothing is stored."""
        unknown = "5f0c1d3e-0000-4000-8000-000000000001"
        with pytest.raises(exception.InstanceNotFound):
            claims.create(server_uuid=unknown)
        assert claims.endpoint.list_claims(a_user()) == []

    def test_a_claim_waits_for_its_server_and_ends_with_it(
        self, claims: ClaimPlane, pools: list[str]
    ) -> None:
        """A server that is being built has no host yet; its delete ends its claims."""
        (uuid,) = claims.plane.create()
        made = claims.create(server_uuid=uuid)
        claim_worker = claims.plane.workers.waiting.pop()
        claim_worker()
        assert claims.get(made.uuid).state == ClaimState.PENDING
        claims.plane.deletes.delete(a_user(), uuid)
        assert claims.get(made.uuid).state == ClaimState.DELETING

    def test_a_claim_of_a_server_that_could_not_be_built_fails_immediately(
        self, claims: ClaimPlane, pools: list[str]
    ) -> None:
        """It has no host, and never will have one; so with one that was offloaded."""
        plane = claims.plane
        failed, offloaded = plane.create(2)
        (cell,) = plane.cells.values()
        with plane.database.writer() as session:
            instance_mappings.map_to_cell(session, [failed], CELL0_UUID)
            instance_mappings.map_to_cell(session, [offloaded], cell.uuid)
        cell.instances[offloaded] = an_instance(
            uuid=offloaded, vm_state="shelved_offloaded", host=None
        )
        plane.workers.waiting.clear()
        faults = []
        for uuid in (failed, offloaded):
            made = claims.create(server_uuid=uuid)
            plane.workers.work()
            found = claims.get(made.uuid)
            faults.append((found.state, found.fault))
        assert faults == [
            (ClaimState.ERROR, "The server has no host: it could not be built."),
            (ClaimState.ERROR, "The server is in state shelved_offloaded."),
        ]

    @pytest.mark.postgresql
    def test_a_claim_that_crosses_the_delete_of_its_server_is_refused(
        self, tmp_path: Path, synced_databases: SyncedDatabases
    ) -> None:
        """The delete, which ends the server's claims, would not see one that comes meanwhile."""
        with synced_databases.lend(POSTGRESQL, API_SCHEMA) as url, ThreadPoolExecutor(1) as thread:
            plane = ControlPlane(tmp_path, api_url=url)
            plane.add_cell()
            plane.add_flavor()
            (uuid,) = plane.create()
            endpoint = ClaimsEndpoint(plane.env, plane.peers, plane.claims)
            claim = NewClaim(a_uuid(), "storage", {"DISK_GB": 1}, server_uuid=uuid)
            with plane.database.writer() as session:
                instance_mappings.queue_for_delete(session, uuid, now=NOW)
                crossing = thread.submit(endpoint.create_claim, a_user(), claim)
                wait_for(lambda: crossing.done() or is_waiting(plane.database), "it waits")
            with pytest.raises(exception.InstanceNotFound):
                crossing.result()
            plane.close()
