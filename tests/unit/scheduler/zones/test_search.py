"""A search of a tree: the zones asked, the answer, its trace."""

import time
from collections.abc import Sequence
from concurrent.futures import Future
from typing import Any

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from objects.request_spec import Destination, RequestLevelParams
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from tests.builders import a_flavor, a_uuid
from tests.fixtures import waiting
from tests.fixtures.zones.zone_trees import Zone, outcomes, sent
from tests.fleets import Clock, Host, a_group, a_host, a_request_spec, some_hosts

pytestmark = pytest.mark.sampled_tests(every=2)


def names_of(zones: Sequence[Zone]) -> dict[str, str]:
    return {host.uuid: host.name for zone in zones for host in zone.hosts}


def a_chain(*hosts: Sequence[Host]) -> Zone:
    """Return the first of zones that are below each other."""
    zone = None
    clock = Clock()
    for level, own in reversed(list(enumerate(hosts))):
        zone = Zone(f"z{level}", own, [zone] if zone else [], clock=clock)
    assert zone is not None
    return zone.push_all()


# N and k ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 3, 10])
def test_no_zone_answers_with_more_than_n_hosts(n: int) -> None:
    """BZ-44, BZ-71: whatever it has; N = 1 works."""
    leaf = Zone("leaf", some_hosts(20), zones__entries_max=n)
    root = Zone("root", some_hosts(20), [leaf], zones__entries_max=n).push_all()
    assert len(leaf.answer(entries_max=1000).host_ids) == n
    assert len(root.answer(entries_max=1000).host_ids) == n


def test_the_asking_zone_may_want_fewer() -> None:
    """BZ-44: the origin's N travels."""
    assert len(Zone("leaf", some_hosts(20)).answer(entries_max=2).host_ids) == 2


def test_as_many_hosts_come_as_there_are_instances() -> None:
    """BZ-47: the limit is the greater of N and k, at every level."""
    options: dict[str, Any] = {"zones__entries_max": 2}
    leaf = Zone("leaf", some_hosts(9), **options)
    middle = Zone("middle", [], [leaf], **options)
    root = Zone("root", [], [middle], **options).push_all()
    entries = root.select(count=7).zone_entries
    assert len(entries) == 7
    assert len({entry["host_id"] for entry in entries}) == 7


# Shapes of trees ----------------------------------------------------------------------------------


def test_a_mixed_zone_offers_its_own_hosts_and_those_below() -> None:
    """BZ-73."""
    root = a_chain(some_hosts(1), some_hosts(2))
    assert sorted(map(tuple, root.answer().paths)) == [(), ("z1",), ("z1",)]


def test_an_empty_zone_passes_on_what_is_below() -> None:
    """BZ-73, BZ-25: through three empty ones."""
    root = a_chain([], [], [], some_hosts(1))
    assert root.answer().paths == [["z1", "z2", "z3"]]


def test_a_zone_whose_hosts_are_all_full_is_not_asked() -> None:
    """BZ-73."""
    full = a_host("full")
    leaf = Zone("leaf", [full])
    leaf.placement.fill(full, MEMORY_MB=32768)
    root = Zone("root", [a_host("r1")], [leaf]).push_all()
    found = root.select()
    assert [selection.service_host for selection in found.hosts] == ["r1"]
    assert root.questions == {}


def test_one_host_in_each_of_fifty_zones() -> None:
    """BZ-73, BZ-70: the best of all are found, by as many questions as there are zones."""
    clock = Clock()
    options: dict[str, Any] = {"filter_scheduler__weight_classes": ["RAMWeigher"]}
    leaves = [
        Zone(
            f"leaf{number}",
            [a_host(f"h{number}", total_usable_ram_mb=1024 * (100 + number))],
            clock=clock,
            **options,
        )
        for number in range(50)
    ]
    root = Zone("root", [], leaves, **options)
    names = names_of(leaves)
    entries = root.push_all().select().zone_entries
    assert sorted(names[entry["host_id"]] for entry in entries) == [
        f"h{number}" for number in range(40, 50)
    ]
    assert sum(root.questions.values()) == 50


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_depth_does_not_matter(depth: int) -> None:
    """BZ-70."""
    root = a_chain(*[[] for _ in range(depth - 1)], some_hosts(1))
    assert [len(path) for path in root.answer().paths] == [depth - 1]


def test_any_zone_may_be_the_origin() -> None:
    """BZ-40: its own sub-tree is searched, nothing beside or above it."""
    clock = Clock()
    left = Zone("left", [a_host("l")], [Zone("below", [a_host("b")], clock=clock)], clock=clock)
    root = Zone("root", [a_host("r")], [left, Zone("right", [a_host("x")], clock=clock)])
    root.push_all()
    entries = left.select().zone_entries
    assert sorted(map(tuple, (entry["path"] for entry in entries))) == [(), ("below",)]
    assert root.questions == {}


# Cycles and diamonds ------------------------------------------------------------------------------


def test_a_question_that_comes_round_is_answered_with_nothing() -> None:
    """BZ-53: each zone is asked once, and its hosts come once."""
    a = Zone("a", [a_host("ha")])
    b = Zone("b", [a_host("hb")], [a], clock=a.clock)
    a.adopt(b)  # by mistake
    b.push()
    a.push()
    b.push()
    answer = a.answer(visited=[])
    assert sorted(map(tuple, answer.paths)) == [(), ("b",)]
    assert (a.questions, b.questions) == ({"b": 1}, {})
    assert outcomes(answer.zones)["b/a"] == "cycle"


def test_a_zone_that_finds_itself_visited_says_so() -> None:
    """BZ-53: the asking zone did not look."""
    answer = Zone("a", some_hosts(1)).answer(visited=["root", "a", "b"])
    assert answer.host_ids == []
    assert [zone["outcome"] for zone in answer.zones] == ["cycle"]
    assert "root > a > b" in str(answer.zones[0]["reason"])


def test_a_zone_with_two_parents_offers_its_hosts_once() -> None:
    """BZ-53: by one of the two ways."""
    shared = Zone("shared", some_hosts(3))
    parents = [Zone(name, [], [shared], clock=shared.clock) for name in ("left", "right")]
    root = Zone("root", [], parents).push_all()
    answer = root.answer()
    assert sorted(answer.host_ids) == sorted(host.uuid for host in shared.hosts)
    assert {tuple(path[1:]) for path in answer.paths} == {("shared",)}


# Children that do not answer ----------------------------------------------------------------------


def test_a_child_that_is_late_is_left_out_and_named() -> None:
    """BZ-52: the others' hosts come in time."""
    clock = Clock()
    leaves = [Zone(name, some_hosts(1), clock=clock) for name in ("slow", "quick")]
    root = Zone("root", [], leaves).push_all()
    root.late.add("slow")
    began, deadline = time.monotonic(), waiting.Deadline(2.0)
    answer = root.answer(time_limit_seconds=0.2)
    assert time.monotonic() - began > 0.15
    assert not deadline.has_passed
    assert answer.paths == [["quick"]]
    assert outcomes(answer.zones) == {"slow": "late", "quick": "asked"}


def test_a_gap_far_below_is_reported_at_the_origin() -> None:
    """BZ-52."""
    root = a_chain(some_hosts(1), some_hosts(1), some_hosts(1))
    root.below["z1"].late.add("z2")
    root.conf.set_override("select_timeout_seconds", 0.2, group="zones")
    found = root.select()
    assert outcomes(found.trace.zones) == {"z1": "asked", "z1/z2": "late"}
    assert sorted(tuple(entry["path"]) for entry in found.zone_entries) == [(), ("z1",)]


def test_each_level_has_less_time() -> None:
    """BZ-52: four fifths of what the one above has."""
    root = a_chain([], [], some_hosts(1))
    root.select()
    middle = root.below["z1"]
    limits = [each.asked[0].time_limit_seconds for each in (middle, middle.below["z2"])]
    assert limits == pytest.approx([4.0, 3.2])


class Failing:
    """Links on which everything fails."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def ask(
        self, name: str, context: RequestContext, query: ZoneQuery, timeout_seconds: float
    ) -> Future[ZoneAnswer]:
        if isinstance(self._error, exception.ZoneUnavailable):
            raise self._error
        future: Future[ZoneAnswer] = Future()
        future.set_exception(self._error)
        return future


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (exception.ZoneUnavailable(zone="leaf", reason="no way"), "failed"),
        (exception.RpcTimeout(method="m", topic="t", timeout_seconds=1), "late"),
        (exception.RpcFailed(method="m", topic="t", reason="a bug"), "failed"),
        (KeyError("a bug here"), "failed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_child_that_cannot_be_asked_is_left_out(error: Exception, outcome: str) -> None:
    """BZ-65: creates go on with what is left."""
    root = Zone("root", some_hosts(1), [Zone("leaf", some_hosts(1))]).push_all()
    root.search._asking._links = Failing(error)
    answer = root.answer()
    assert answer.paths == [[]]
    assert outcomes(answer.zones) == {"leaf": outcome}


def test_a_child_that_answers_nonsense_is_left_out() -> None:
    """It may have been taken over."""
    root = Zone("root", some_hosts(1), [Zone("leaf", some_hosts(1))]).push_all()
    leaf = root.below["leaf"]
    answer = leaf.answer().with_values(paths=[])
    leaf.search.answer = lambda context, query: answer  # type: ignore[method-assign]
    found = root.answer()
    assert outcomes(found.zones) == {"leaf": "failed"}
    assert found.paths == [[]]


# What goes down -----------------------------------------------------------------------------------


def test_what_holds_only_here_does_not_go_down() -> None:
    """Aggregates and hosts of one zone mean nothing in another."""
    root = Zone("root", [], [Zone("leaf", some_hosts(1))]).push_all()
    spec = a_request_spec(
        request_level_params=RequestLevelParams.from_values(member_of=[[a_uuid()]]),
        requested_destination=Destination.from_values(),
        instance_group=a_group("soft-affinity", hosts=["here"], members=[a_uuid()]),
    )
    root.select(spec)
    (asked,) = root.below["leaf"].asked
    assert asked.request_spec.request_level_params is None
    assert asked.request_spec.requested_destination is None
    assert asked.request_spec.instance_group is not None
    assert asked.request_spec.instance_group.hosts == []
    assert spec.instance_group is not None
    assert spec.instance_group.hosts == ["here"]
    assert asked.visited == ["root"]


def test_another_weighing_profile_is_answered_with_nothing(caplog: Any) -> None:
    """Decision 3: what it weighs could not be compared; its log says so."""
    leaf = Zone("leaf", some_hosts(1), zones__weighing_profile="gold")
    answer = leaf.answer(profile="default")
    assert answer.host_ids == []
    assert "'gold', requested is 'default'" in str(answer.zones[0]["reason"])
    assert "'gold', requested is 'default'" in caplog.text
    root = Zone("root", [], [leaf]).push_all()
    assert outcomes(root.search.plan(a_request_spec()).left_out) == {"leaf": "pruned"}


def test_a_child_with_weighers_that_are_not_known_here_is_left_out(caplog: Any) -> None:
    """Though its profile has the same name."""
    leaf = Zone("leaf", some_hosts(1))
    options: dict[str, Any] = {"filter_scheduler__weight_classes": ["RAMWeigher"]}
    root = Zone("root", some_hosts(1), [leaf], **options).push_all()
    assert root.answer().paths == [[]]
    assert "the same [zones] weighing_profile" in caplog.text


# Requests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("busy", [True, False])
def test_a_soft_criterion_never_eliminates(busy: bool) -> None:
    """BZ-48: the only host that fits is used, though it has servers of the same customer."""
    member = a_uuid()
    only = a_host("only", instance_uuids=[member] if busy else [], num_instances=int(busy))
    leaf = Zone("leaf", [only])
    group = a_group("soft-anti-affinity", hosts=["only"] if busy else [], members=[member])
    answer = leaf.answer(a_request_spec(instance_group=group))
    assert answer.host_ids == [only.uuid]


def test_affinity_with_members_elsewhere_leaves_a_zone_out() -> None:
    """A host beside them is not here."""
    leaf = Zone("leaf", some_hosts(1))
    group = a_group("affinity", members=[a_uuid()])
    answer = leaf.answer(a_request_spec(instance_group=group))
    assert answer.host_ids == []
    assert "other zones" in str(answer.zones[0]["reason"])


def test_affinity_among_the_asked_themselves_rules_nothing_out() -> None:
    """They are the first of their group."""
    uuids = [a_uuid(), a_uuid()]
    leaf = Zone("leaf", some_hosts(2))
    spec = a_request_spec(instance_group=a_group("affinity", members=uuids))
    assert len(leaf.answer(spec, instance_uuids=uuids).host_ids) == 2


def test_why_the_own_hosts_are_left_out_is_told() -> None:
    """BZ-52: as of every other zone."""
    answer = Zone("leaf", some_hosts(1)).answer(
        a_request_spec(flavor=a_flavor("big", memory_mb=99999))
    )
    (zone,) = answer.zones
    assert (zone["outcome"], zone["hosts"]) == ("own", 0)
    assert "MEMORY_MB: 99,999 asked" in str(zone["reason"])


def test_an_answer_is_the_same_size_for_any_number_of_hosts() -> None:
    """BZ-71: bytes for a request do not grow with the zone."""

    def size(hosts: int) -> int:
        return len(str(sent(Zone("leaf", some_hosts(hosts)).answer()).obj_to_primitive()))

    assert size(400) == pytest.approx(size(20), rel=0.05)


def test_the_work_of_a_zone_does_not_grow_with_the_number_of_zones() -> None:
    """BZ-72: it is asked once, hears as much, looks at as many hosts and answers as much."""

    def work(zones: int) -> tuple[int, ...]:
        clock = Clock()
        leaves = [Zone(f"leaf{n:02}", some_hosts(20), clock=clock) for n in range(zones)]
        Zone("root", [], leaves).push_all().select()
        one = leaves[0]
        (heard,) = one.asked
        answer = one.search.answer(admin_context(), heard)
        return len(one.fleet), len(str(heard.obj_to_primitive())), len(answer.host_ids)

    assert work(20) == work(2)
