"""Claims on pools of child zones: made once, wherever the pool is, whatever is lost or dead."""

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import Signer
from conductor.common.clock import moment
from conductor.super_conductor.claims.claim_task import LATE_SECONDS_MAX
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.zones.forwarded import request_for
from conductor.super_conductor.zones.interface import ZoneAPI
from objects.claims.resource_claim import ClaimState, NewClaim, ResourceClaim
from tests import builders
from tests.fixtures.control_plane import PROJECT, a_user, an_admin
from tests.fixtures.messages.direct_bus import Killed
from tests.fixtures.placement import placement_template
from tests.fixtures.super_conductor.claims import ClaimPlane
from tests.fixtures.zones import Zone, zone_tree
from tests.unit.conductor.super_conductor.zones.test_walk import create

__all__ = ["placement_template"]

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


class Tree:
    """The zones root, eu with eu-1 below it, and us; each with a placement of its own."""

    def __init__(self, root: Zone, folder: Path, template: Path) -> None:
        self.root = root
        self.zones = {zone.name: zone for zone in root.all_zones()}
        self.planes = {
            name: ClaimPlane(
                zone, f"sqlite:///{shutil.copy(template, folder / f'placement-{name}.sqlite')}"
            )
            for name, zone in self.zones.items()
        }
        self.claims = self.planes["root"]

    def add_pool(self, zone: str, gib: int, **more: list[str]) -> str:
        return self.planes[zone].add_pool(f"{zone}-array", "storage", {"DISK_GB": gib}, **more)

    def settle(self) -> None:
        self.root.settle_all()

    def claim(self, gib: int = 100, **values: Any) -> ResourceClaim:
        """Accept a claim at the root, and let everything be done in all zones."""
        made = self.claims.create(resources={"DISK_GB": gib}, **values)
        self.settle()
        return self.claims.get(made.uuid)

    def holders(self, claim_uuid: str) -> list[str]:
        """Return the zones in which a claim holds something."""
        return [name for name, plane in self.planes.items() if plane.held(claim_uuid)]

    def records(self, claim_uuid: str) -> list[str]:
        """Return the zones that list a claim."""
        return [
            name
            for name, plane in self.planes.items()
            if claim_uuid in [one.uuid for one in plane.endpoint.list_claims(a_user())]
        ]


@pytest.fixture
def tree(tmp_path: Path, placement_template: Path) -> Iterator[Tree]:
    with zone_tree(tmp_path) as root:
        made = Tree(root, tmp_path, placement_template)
        yield made
        for plane in made.planes.values():
            plane.database.dispose()


def test_a_claim_is_served_by_the_zone_that_has_a_pool(tree: Tree) -> None:
    """At any depth. It counts against the quota of the origin alone."""
    tree.add_pool("root", 50)
    tree.add_pool("eu-1", 500)
    own = tree.claim(40, pool="root-array")
    assert (own.state, own.zone, tree.holders(own.uuid)) == (ClaimState.ACTIVE, None, ["root"])
    made = tree.claim(100)
    assert (made.state, made.zone, made.pool_name) == (ClaimState.ACTIVE, "eu/eu-1", "eu-1-array")
    assert tree.holders(made.uuid) == ["eu-1"]
    assert tree.records(made.uuid) == ["root", "eu-1"]
    used = {
        name: plane.endpoint.get_claim_quotas(a_user(), PROJECT)["claims"]["in_use"]
        for name, plane in tree.planes.items()
    }
    assert used == {"root": 2, "eu": 0, "eu-1": 0, "us": 0}


def test_the_best_pool_of_all_zones_is_chosen(tree: Tree) -> None:
    """BZ-45: as if all pools were of one zone."""
    for zone, used in {"root": 500, "eu": 100, "eu-1": 300, "us": 700}.items():
        tree.add_pool(zone, 1000)
        tree.claim(used, pool=f"{zone}-array")
    places = [tree.claim(150).zone or "root" for _ in range(6)]
    assert places == ["eu", "eu", "eu/eu-1", "eu", "eu/eu-1", "root"]


def test_the_decision_about_all_zones_is_explained(tree: Tree) -> None:
    """The weights of the joined list, and the chosen pool by its name; users see no names."""
    uuids = {zone: tree.add_pool(zone, 500) for zone in ("root", "eu", "us")}
    tree.claim(400, pool="us-array")
    tree.claim(100, pool="root-array")
    made = tree.claim()
    assert (made.zone, made.alternates) == ("eu", ["root-array", f"us:{uuids['us']}"])
    explain = tree.claims.endpoint.explain_claim
    trace = explain(a_user(), made.uuid, with_pools=True).trace
    assert trace is not None
    choice = trace["choices"][0]
    assert (choice["host"], choice["weight"]) == ("eu-array", pytest.approx(1.0))
    assert [one["weight"] for one in choice["runners_up"]] == pytest.approx([0.8, 0.2])
    asked = {"/".join(zone["path"]) for zone in trace["zones"]}
    assert asked == {"", "eu", "eu/eu-1", "us"}
    shown = explain(a_user(), made.uuid).trace
    assert "eu" not in str(shown)


def test_its_end_is_that_of_all_zones(tree: Tree) -> None:
    """Nothing is left of it anywhere."""
    tree.add_pool("eu-1", 500)
    made = tree.claim()
    tree.claims.endpoint.delete_claim(a_user(), made.uuid)
    tree.settle()
    assert (tree.holders(made.uuid), tree.records(made.uuid)) == ([], [])


def test_what_no_zone_can_serve_says_why_of_each(tree: Tree) -> None:
    """And leaves nothing in any."""
    tree.add_pool("us", 50)
    made = tree.claim()
    assert made.state == ClaimState.ERROR
    assert made.fault == (
        "No pool fits. There is no storage pool yet. Zones below: 3 without a valid storage pool."
    )
    trace = tree.claims.endpoint.explain_claim(a_user(), made.uuid, with_pools=True).trace
    assert trace is not None
    reasons = {"/".join(zone["path"]): zone["reason"] for zone in trace["zones"] if zone["reason"]}
    assert "50 free at most" in reasons["us"]
    assert tree.records(made.uuid) == ["root"]


def fill_once_decided(tree: Tree, zone: str) -> None:
    """Let a zone's pool be full when the zone is asked for the claim that is decided next."""

    def before(step: str) -> None:
        if step == "try zones of claim":
            tree.root.before_step = lambda step: None
            tree.planes[zone].claim(resources={"DISK_GB": 450}, pool=f"{zone}-array")

    tree.root.before_step = before


def test_a_pool_that_was_taken_meanwhile_leads_to_the_next_best(tree: Tree) -> None:
    """In another zone or, as here, in the own one; nothing is left where it failed."""
    for zone in ("root", "eu"):
        tree.add_pool(zone, 500)
    tree.claim(100, pool="root-array")
    fill_once_decided(tree, "eu")
    made = tree.claim()
    assert (made.state, made.zone, made.fault) == (ClaimState.ACTIVE, None, None)
    assert (tree.holders(made.uuid), tree.records(made.uuid)) == (["root"], ["root"])


def test_a_claim_waits_for_the_zone_that_alone_can_serve(tree: Tree) -> None:
    """It offered its pool, and is down when it is asked; it is waited for as for builds."""
    tree.add_pool("eu", 500)
    link = tree.root.bus_to(tree.zones["eu"])

    def go_away(step: str) -> None:
        link.is_down = link.is_down or step == "try zones of claim"

    tree.root.before_step = go_away
    made = tree.claims.create()
    tree.root.workers.work()
    assert link.is_down
    assert tree.claims.get(made.uuid).state == ClaimState.PENDING
    tree.root.before_step = lambda step: None
    link.is_down = False
    tree.settle()
    assert tree.claims.get(made.uuid).state == ClaimState.ACTIVE
    assert tree.holders(made.uuid) == ["eu"]


@pytest.mark.sampled(every=2)
@pytest.mark.parametrize("effect", [each / 2 for each in range(5, 56, 12)])
def test_the_origin_may_be_killed_on_its_way_to_the_next_zone(tree: Tree, effect: float) -> None:
    """Each zone is asked once; the claim is in one of them."""
    for zone in ("eu", "us"):
        tree.add_pool(zone, 500)
    tree.claim(100, pool="us-array")
    made = tree.claims.create()
    fill_once_decided(tree, "eu")
    tree.root.breaker.kill_at(effect)
    with contextlib.suppress(Killed):
        tree.root.workers.work()
        tree.root.clock.advance(5)
        tree.root.recover()
    tree.root.breaker.mend()
    tree.root.start()
    tree.settle()
    holders = tree.holders(made.uuid)
    assert (tree.claims.get(made.uuid).zone, len(holders)) == (*holders, 1)
    assert tree.records(made.uuid) == ["root", *holders]


def test_what_a_zone_could_not_serve_is_gone_there_in_the_end(tree: Tree) -> None:
    """Also if the zone above never comes to end it."""
    claim = NewClaim(builders.a_uuid(), "storage", {"DISK_GB": 1}, is_delegated=True)
    tree.planes["eu"].endpoint.create_delegated(a_user(), claim)
    tree.settle()
    assert tree.planes["eu"].get(claim.uuid).state == ClaimState.ERROR
    tree.root.clock.advance(LATE_SECONDS_MAX)
    tree.zones["eu"].recover()
    assert tree.records(claim.uuid) == []


def test_a_dead_zone_is_passed_over_unless_it_was_asked(tree: Tree) -> None:
    """Another zone serves the claim, if it can; one that has it is waited for, also by its end."""
    tree.add_pool("eu", 500)
    tree.add_pool("us", 500)
    tree.claim(400, pool="us-array")
    link = tree.root.bus_to(tree.zones["eu"])
    link.is_down = True
    assert tree.claim().zone == "us"
    large = tree.claims.create(resources={"DISK_GB": 300})  # too large for us
    tree.root.workers.work()
    assert tree.claims.get(large.uuid).state == ClaimState.PENDING
    link.is_down = False
    tree.settle()
    assert tree.claims.get(large.uuid).zone == "eu"
    tree.claims.endpoint.delete_claim(a_user(), large.uuid)
    made = tree.claim()
    assert made.zone == "eu"
    link.is_down = True
    tree.claims.endpoint.delete_claim(a_user(), made.uuid)
    tree.root.workers.work()
    assert tree.claims.get(made.uuid).state == ClaimState.DELETING
    link.is_down = False
    tree.settle()
    assert (tree.holders(made.uuid), tree.records(made.uuid)) == ([], [])


@pytest.mark.parametrize("when_done", [False, True], ids=["request", "answer"])
def test_a_lost_message_makes_one_claim(tree: Tree, when_done: bool) -> None:
    """The zone is asked again, no other one, until it is known what it did."""
    tree.add_pool("eu", 500)
    tree.add_pool("us", 500)
    tree.claim(100, pool="us-array")
    link = tree.root.bus_to(tree.zones["eu"])
    link.fail("forward_change", TIMEOUT, when_done=when_done)
    made = tree.claim()
    assert (made.zone, tree.holders(made.uuid)) == ("eu", ["eu"])


def test_messages_that_come_twice_do_nothing_twice(tree: Tree) -> None:
    """Neither in the zone, nor in one between."""
    tree.add_pool("eu-1", 500)
    for zone in ("root", "eu"):
        for child in tree.zones[zone].children:
            tree.zones[zone].bus_to(child).is_twice = True
    made = tree.claim()
    assert tree.holders(made.uuid) == ["eu-1"]
    tree.claims.endpoint.delete_claim(a_user(), made.uuid)
    tree.settle()
    assert (tree.holders(made.uuid), tree.records(made.uuid)) == ([], [])


def test_a_request_that_comes_after_its_end_makes_nothing(tree: Tree) -> None:
    """The zone keeps the end for as long as the request may be on its way."""
    tree.add_pool("eu", 500)
    claim = NewClaim(builders.a_uuid(), "storage", {"DISK_GB": 1}, is_delegated=True)
    endpoint = tree.planes["eu"].endpoint
    endpoint.delete_delegated(a_user(), claim.uuid)
    assert endpoint.create_delegated(a_user(), claim).state == ClaimState.DELETING
    assert (tree.holders(claim.uuid), tree.records(claim.uuid)) == ([], [])
    tree.root.clock.advance(LATE_SECONDS_MAX)
    tree.settle()
    assert (tree.holders(claim.uuid), tree.records(claim.uuid)) == ([], [])


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("effect", [each / 2 for each in range(1, 40, 3)])
def test_the_origin_may_be_killed_at_any_effect(tree: Tree, effect: float) -> None:
    """One claim, in one zone, and afterwards none."""
    tree.add_pool("eu", 500)
    tree.add_pool("us", 500)
    tree.claim(100, pool="us-array")
    made = tree.claims.create()
    tree.root.breaker.kill_at(effect)
    with contextlib.suppress(Killed):
        tree.root.workers.work()
    tree.root.breaker.mend()
    tree.root.start()
    tree.settle()
    assert tree.claims.get(made.uuid).state == ClaimState.ACTIVE
    assert tree.holders(made.uuid) == ["eu"]
    tree.claims.endpoint.delete_claim(a_user(), made.uuid)
    tree.settle()
    assert (tree.holders(made.uuid), tree.records(made.uuid)) == ([], [])


def test_a_claim_belongs_to_a_server_of_another_zone(tree: Tree) -> None:
    """It is on a pool beside the server there, in its zone or nowhere, and ends with the server."""
    root, eu = tree.root, tree.zones["eu"]
    eu.map_hosts()
    with eu.database.writer() as session:
        made = aggregates.create_aggregate(session, "beside", None, now=moment(eu.clock()))
        aggregates.add_host(session, str(made.uuid), "cell1-host1", now=moment(eu.clock()))
    tree.add_pool("root", 500)
    beside = tree.add_pool("eu", 500, aggregates=[str(made.uuid)])
    for zone in (root, eu):
        zone.bus.endpoints["scheduler", None] = [zone.scheduler]
    (server,) = create(root, "eu:cell1-host1")
    root.walk()
    for name in ("root", "eu"):
        tree.planes[name].schedule_with()
    claim = tree.claim(server_uuid=server)
    assert (claim.state, claim.zone, claim.pool_uuid) == (ClaimState.ACTIVE, "eu", beside)
    root.endpoint.delete_server(a_user(), server)
    for _ in range(3):
        root.clock.advance(60)
        for zone in (eu, root):
            zone.recover()
    assert tree.holders(claim.uuid) == []
    root.clock.advance(LATE_SECONDS_MAX)
    tree.settle()
    assert tree.holders(claim.uuid) == []
    with pytest.raises(exception.ClaimNotFound):
        tree.claims.get(claim.uuid)


@pytest.mark.parametrize("method", ["get_claim", "explain_claim", "delete_claim"])
@pytest.mark.parametrize("is_admin", [True, False], ids=["admin", "user"])
def test_a_parent_zone_reaches_no_claim_that_it_did_not_make(
    tree: Tree, method: str, is_admin: bool
) -> None:
    """Whatever context it makes up: a claim of the zone's own users is neither shown nor ended."""
    tree.add_pool("eu", 500)
    eu = tree.planes["eu"]
    own = eu.create(resources={"DISK_GB": 10})
    tree.settle()
    context = an_admin() if is_admin else a_user(project_id="another")
    border = tree.root.bus_to(tree.zones["eu"])
    with pytest.raises(exception.ClaimNotFound):
        ZoneAPI(border).forward(
            context, [], request_for(method, claim_uuid=own.uuid), timeout_seconds=10
        )
    tree.settle()
    assert eu.get(own.uuid).state == ClaimState.ACTIVE


@pytest.mark.parametrize("method", ["get_claim", "explain_claim", "delete_claim", "create_claim"])
def test_a_parent_zone_reaches_no_claim_of_another_parent(tree: Tree, method: str) -> None:
    """Neither its own answer of it, nor its end; nor in the zone below, through this one."""
    tree.add_pool("eu", 500)
    tree.add_pool("eu-1", 500)
    made = [tree.claim(10, pool=f"{zone}-array") for zone in ("eu", "eu-1")]
    border = tree.root.bus_to(tree.zones["eu"])
    border.signer = Signer("thief-ctl", "parent_zone", "thief")
    for claim, path in zip(made, ([], ["eu-1"]), strict=True):
        given: dict[str, Any] = {"claim_uuid": claim.uuid}
        if method == "create_claim":
            given = {"claim": claim.asked}
        with pytest.raises(exception.ClaimNotFound):
            ZoneAPI(border).forward(
                an_admin(), path, request_for(method, **given), timeout_seconds=10
            )
    border.signer = Signer("root-ctl", "parent_zone", "root")
    tree.settle()
    assert [tree.claims.get(one.uuid).state for one in made] == [ClaimState.ACTIVE] * 2
    assert [tree.holders(one.uuid) for one in made] == [["eu"], ["eu-1"]]
