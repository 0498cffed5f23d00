"""A zone is asked when something below it may serve a request, and only then."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from armillary import exception
from armillary.context import admin_context
from objects.images.image_meta import ImageMeta
from objects.request_spec import RequestSpec
from objects.zones.zone_answer import stale_among
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.zones.capabilities import Capabilities
from scheduler.zones.search import Pruner, needs_of
from tests.builders import a_flavor, a_uuid
from tests.fixtures.plugins.examples import examples
from tests.fixtures.zones.zone_trees import PUSH_SECONDS, Zone, outcomes
from tests.fleets import Clock, Host, a_host, a_request_spec

KINDS = ("kvm", "vmware", "simulated")
TRAITS = ("CUSTOM_A", "CUSTOM_B")
SIZES = (1024, 8192, 32768, 65536)


def an_image(**properties: str) -> ImageMeta:
    return ImageMeta.from_values(id=a_uuid(), name="image", properties=properties)


# What random trees hold ---------------------------------------------------------------------------

a_kind = st.sampled_from([*KINDS, None])

hosts = st.builds(
    lambda ram, used, kind, up, disabled, traits: (
        a_host(
            f"h-{a_uuid()}",
            total_usable_ram_mb=ram,
            free_ram_mb=ram,
            hypervisor_type=kind,
            supported_instances=[["x86_64", kind, "hvm"]] if kind else None,
            service_up=up,
            service_disabled=disabled,
        ),
        min(used, ram),
        traits,
    ),
    ram=st.sampled_from(SIZES),
    used=st.sampled_from((0, *SIZES)),
    kind=a_kind,
    up=st.sampled_from((True, True, False)),
    disabled=st.sampled_from((False, False, True)),
    traits=st.sets(st.sampled_from(TRAITS)),
)


@st.composite
def specs(draw: Any) -> RequestSpec:
    extra: dict[str, str] = {}
    if draw(st.booleans()):
        extra[f"trait:{draw(st.sampled_from(TRAITS))}"] = "required"
    if draw(st.booleans()):
        kind = draw(st.sampled_from(KINDS))
        extra["capabilities:hypervisor_type"] = draw(
            st.sampled_from([f"s== {kind}", f"<in> {kind}"])
        )
    image = None
    if draw(st.booleans()):
        image = an_image(img_hv_type=draw(st.sampled_from(KINDS)))
    flavor = a_flavor("f", memory_mb=draw(st.sampled_from(SIZES)), extra_specs=extra)
    return a_request_spec(flavor=flavor, image=image)


class Names:
    """Names of zones, each once."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> str:
        self.count += 1
        return f"zone{self.count}"


@st.composite
def trees(
    draw: Any, depth: int = 3, names: Names | None = None, clock: Clock | None = None
) -> Zone:
    names, clock = names or Names(), clock or Clock()
    count = draw(st.integers(0, 2)) if depth > 1 else 0
    below = [draw(trees(depth=depth - 1, names=names, clock=clock)) for _ in range(count)]
    found: list[tuple[Host, int, set[str]]] = draw(st.lists(hosts, max_size=3))
    zone = Zone(names(), [host for host, _, _ in found], below, clock=clock)
    for host, used, traits in found:
        zone.placement.fill(host, MEMORY_MB=used)
        zone.placement.traits[host.uuid] = set(traits)
    return zone


def all_zones(zone: Zone) -> list[Zone]:
    return [zone, *(each for child in zone.below.values() for each in all_zones(child))]


def passing(zone: Zone, spec: RequestSpec) -> list[str]:
    """Return the own hosts of a zone that pass everything, by the driver itself."""
    request = SchedulingRequest(admin_context("req-1"), spec, [a_uuid()], [1])
    try:
        return zone.driver.offer(request).node_uuids
    except exception.NoValidHost:
        return []


@settings(max_examples=examples(80), deadline=None)
@given(tree=trees(), spec=specs())
def test_no_host_that_passes_is_below_a_pruned_branch(tree: Zone, spec: RequestSpec) -> None:
    """BZ-26: a summary may promise too much, never too little."""
    tree.push_all()
    pruner = Pruner(tree.driver.plugin_filters)
    needs = needs_of(spec)
    for zone in all_zones(tree):
        for child in zone.children.all():
            assert child.capabilities is not None
            reason = pruner.why_not(child.capabilities, needs, "default")
            if reason is not None:
                below = all_zones(zone.below[child.name])
                assert not [uuid for each in below for uuid in passing(each, spec)], reason


@settings(max_examples=examples(40), deadline=None)
@given(tree=trees(), spec=specs())
def test_a_search_finds_every_host_of_the_tree_that_passes(tree: Zone, spec: RequestSpec) -> None:
    """BZ-26, BZ-42: as seen from the origin, with more entries than there are hosts."""
    tree.push_all()
    for zone in all_zones(tree):
        zone.conf.set_override("entries_max", 1000, group="zones")
    found = tree.answer(spec, entries_max=1000)
    expected = {uuid for zone in all_zones(tree) for uuid in passing(zone, spec)}
    assert set(found.host_ids) == expected


# What is sent -------------------------------------------------------------------------------------


def big(name: str = "big") -> Host:
    return a_host(name, total_usable_ram_mb=65536, free_ram_mb=65536)


def a_big_request() -> RequestSpec:
    return a_request_spec(flavor=a_flavor("big", memory_mb=60000))


def test_nothing_is_sent_below_a_pruned_zone() -> None:
    """BZ-41: neither to the zone itself nor to those below it."""
    leaf = Zone("leaf", [a_host("l1")])
    middle = Zone("middle", [a_host("m1")], [leaf])
    other = Zone("other", [big()], clock=leaf.clock)
    root = Zone("root", [a_host("r1")], [middle, other]).push_all()
    root.select(a_big_request())
    assert root.questions == {"other": 1}
    assert root.questions_below == 1


def test_every_other_child_is_asked_once() -> None:
    """BZ-42: as many questions as there are children that may have a host."""
    clock = Zone("clock").clock
    leaves = [Zone(f"leaf{number}", [a_host()], clock=clock) for number in range(5)]
    root = Zone("root", [], leaves).push_all()
    root.select()
    assert root.questions == {leaf.name: 1 for leaf in leaves}


def test_a_stale_promise_costs_a_message_and_nothing_else() -> None:
    """BZ-55: what was free when the summary was made is taken by now."""
    host = big()
    leaf = Zone("leaf", [host])
    root = Zone("root", [big("other")], [leaf]).push_all()
    leaf.placement.fill(host, MEMORY_MB=65536)
    found = root.select(a_big_request())
    assert root.questions == {"leaf": 1}
    assert [selection.service_host for selection in found.hosts][:1] == ["other"]
    assert outcomes(found.trace.zones) == {"leaf": "asked"}


# Reasons ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(
            a_big_request(), "MEMORY_MB: 60,000 requested, at most 32,768 free", id="memory"
        ),
        pytest.param(
            a_request_spec({"trait:CUSTOM_A": "required"}), "has the trait CUSTOM_A", id="trait"
        ),
        pytest.param(
            a_request_spec(image=an_image(img_hv_type="vmware")), "can run vmware", id="image"
        ),
        pytest.param(
            a_request_spec({"capabilities:hypervisor_type": "s== vmware"}),
            "reported values: simulated",
            id="capability",
        ),
        pytest.param(
            a_request_spec({"resources:CUSTOM_GPU": "1"}),
            "CUSTOM_GPU: 1 requested, at most 0",
            id="class",
        ),
    ],
)
def test_a_pruned_zone_is_told_of_with_the_reason(spec: RequestSpec, words: str) -> None:
    """BZ-49: memory, disk and hypervisor type are among the requirements."""
    root = Zone("root", [], [Zone("leaf", [a_host()])]).push_all()
    (zone,) = root.search.plan(spec).left_out
    assert (zone.path, zone.outcome) == (["leaf"], "pruned")
    assert words in (zone.reason or "")


@pytest.mark.parametrize(("memory_mb", "asked"), [(32768, ["leaf"]), (32769, [])], ids=str)
def test_a_zone_with_just_enough_is_asked(memory_mb: int, asked: list[str]) -> None:
    """All that its largest provider has free may be requested, and not one MiB more."""
    root = Zone("root", [], [Zone("leaf", [a_host()])]).push_all()
    spec = a_request_spec(flavor=a_flavor("f", memory_mb=memory_mb))
    assert root.search.plan(spec).to_ask == asked


def test_a_filter_that_a_zone_does_not_run_rules_nothing_out_there() -> None:
    """Its hosts are checked by its own filters, not by ours."""
    leaf = Zone("leaf", [a_host()], filter_scheduler__enabled_filters=["ComputeFilter"])
    root = Zone("root", [], [leaf]).push_all()
    spec = a_request_spec(image=an_image(img_hv_type="vmware"))
    assert root.search.plan(spec).to_ask == ["leaf"]
    assert root.select(spec).zone_entries


def test_a_zone_whose_placement_is_silent_is_asked() -> None:
    """What is not known rules out nothing."""
    leaf = Zone("leaf", [a_host()])

    def silent(excluded: object) -> Any:
        raise ConnectionError("away")

    leaf.summariser._ask_placement = silent
    root = Zone("root", [], [leaf]).push_all()
    assert root.search.plan(a_big_request()).to_ask == ["leaf"]


def test_an_attribute_that_some_host_does_not_report_rules_nothing_out() -> None:
    """The filter would look elsewhere for it on that host."""
    (capable,) = (
        each
        for each in Zone("any").driver.plugin_filters
        if type(each).__name__ == "ComputeCapabilitiesFilter"
    )
    spec = a_request_spec({"capabilities:hypervisor_type": "s== vmware"})
    assert capable.zone_lacks({"hypervisor_type": ["kvm", None]}, spec) is None
    assert capable.zone_lacks({}, spec) is None
    assert capable.zone_lacks({"hypervisor_type": ["kvm"]}, spec) is not None


def test_pinned_cpus_may_be_had_from_hosts_that_count_none_apart() -> None:
    """Placement is asked for these in a second way, which has to be ruled out, too."""
    root = Zone("root", [], [Zone("leaf", [a_host()])]).push_all()
    pinned = {"hw:cpu_policy": "dedicated"}
    assert root.search.plan(a_request_spec(pinned)).to_ask == ["leaf"]
    too_many = a_request_spec(flavor=a_flavor("f", vcpus=17, extra_specs=pinned))
    assert root.search.plan(too_many).to_ask == []


def test_a_grandchild_that_is_not_heard_from_is_named() -> None:
    """BZ-52: nothing else below fits, but it might: its state is told beside the verdict."""
    leaf = Zone("eu-1", [a_host("big", total_usable_ram_mb=10**6, free_ram_mb=10**6)])
    middle = Zone("eu", [a_host("small")], [leaf])
    root = Zone("root", [a_host("own")], [middle])
    root.push_all()
    large = a_request_spec(flavor=a_flavor("large", memory_mb=500_000))
    assert root.search.plan(large).to_ask == ["eu"]
    root.clock.seconds += 3.1 * PUSH_SECONDS
    middle.push()
    plan = root.search.plan(large)
    assert outcomes(plan.left_out) == {"eu": "pruned", "eu/eu-1": "stale"}
    (told,) = (zone.reason for zone in plan.left_out if zone.path == ["eu"])
    assert str(told).endswith("not counting silent zones: eu/eu-1")
    assert stale_among(zone.to_plain() for zone in plan.left_out) == {("eu", "eu-1")}
    leaf.push()
    middle.push()
    assert root.search.plan(large).left_out == []


@pytest.mark.parametrize(("memory_mb", "may_serve"), [(60_000, True), (70_000, False)])
def test_a_stale_zone_may_serve_what_its_last_summary_has(memory_mb: int, may_serve: bool) -> None:
    """It is not asked; a request that it alone can serve waits for it, from any zone above."""
    leaf = Zone("eu-1", [big()])
    middle = Zone("eu", [a_host("small", total_usable_ram_mb=1024, free_ram_mb=1024)], [leaf])
    root = Zone("root", [], [middle]).push_all()
    spec = a_request_spec(flavor=a_flavor("f", memory_mb=memory_mb))
    root.clock.seconds += 3.1 * PUSH_SECONDS
    for zone, path in ((middle, ["eu-1"]), (root, ["eu"])):
        (left_out,) = zone.search.plan(spec).left_out
        assert (left_out.path, left_out.outcome) == (path, "stale")
        assert left_out.may_serve is may_serve
    root.clock.seconds += 30 * PUSH_SECONDS
    (left_out,) = root.search.plan(spec).left_out
    assert (left_out.outcome, left_out.may_serve) == ("offline", False)


def test_a_zone_is_asked_for_pools_that_may_have_room_again() -> None:
    """BZ-26: traits rule it out, but not amounts, nor that it has no host."""
    extra = {"resources:DISK_GB": "100", "resources:VCPU": "0", "resources:MEMORY_MB": "0"}
    spec = a_request_spec(flavor=a_flavor("claim", extra_specs=extra), kind="storage")
    full = Capabilities({}, 0, [], ["default"], {"DISK_GB": 10}, ["CUSTOM_POOL_STORAGE"])
    assert Pruner([]).why_not(full, needs_of(spec), "default") is None
    hosts = dataclasses.replace(full, traits=["COMPUTE_NODE"])
    why = Pruner([]).why_not(hosts, needs_of(spec), "default")
    assert why == "no provider has the trait CUSTOM_POOL_STORAGE"
