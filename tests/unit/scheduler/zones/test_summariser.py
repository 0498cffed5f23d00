"""Summary of a zone, and how it is aggregated on its way up."""

import dataclasses
from typing import Any

import pytest

from armillary import exception
from objects.hosts import host_attributes
from objects.hosts.host_attributes import Collector, HostAttribute, Kind, Rollup
from scheduler.zones import capabilities
from scheduler.zones.capabilities import Capabilities
from tests.fixtures.zones.zone_trees import Zone, outcomes
from tests.fleets import Host, a_host, a_request_spec, some_hosts
from tests.unit.scheduler.zones.test_pruning import an_image

WINDOWS: dict[str, Any] = {"supported_instances": [["x86_64", "windows", "hvm"]]}


def a_tree_of_three(*deep: Host) -> tuple[Zone, Zone, Zone]:
    """Return root, middle and leaf; the leaf has these hosts and one more."""
    leaf = Zone("leaf", [a_host("other"), *deep])
    middle = Zone("middle", some_hosts(2), [leaf])
    return Zone("root", some_hosts(1), [middle]).push_all(), middle, leaf


def triples(zone: Zone) -> list[Any]:
    found: list[Any] = zone.summary().capabilities["attributes"]["supported_instances"]
    return found


def counts(zone: Zone) -> dict[str, int]:
    """Return what a zone says about its whole tree, not what of each zone."""
    return {key: value for key, value in zone.summary().counts.items() if key != "each"}


# Up the tree --------------------------------------------------------------------------------------


def test_what_one_deep_host_can_do_the_root_can() -> None:
    """BZ-25: if any child has a capability, the parent has it."""
    root, _middle, _leaf = a_tree_of_three(a_host("deep", **WINDOWS))
    assert ["x86_64", "windows", "hvm"] in triples(root)
    spec = a_request_spec(image=an_image(img_hv_type="windows"))
    assert [entry["path"] for entry in root.select(spec).zone_entries] == [["middle", "leaf"]]


def test_the_last_host_takes_its_capability_with_it() -> None:
    """BZ-28: at every level, after one push of each."""
    deep = a_host("deep", **WINDOWS)
    root, _middle, leaf = a_tree_of_three(deep)
    deep.values["service_up"] = False
    leaf.report(deep)
    root.push_all()
    assert ["x86_64", "windows", "hvm"] not in triples(root)


def test_what_expires_below_is_gone_above() -> None:
    """BZ-28: the middle still pushes, the leaf does not."""
    root, middle, _leaf = a_tree_of_three(a_host("deep", **WINDOWS))
    root.clock.seconds += 31
    middle.push()
    assert ["x86_64", "windows", "hvm"] not in triples(root)
    spec = a_request_spec(image=an_image(img_hv_type="windows"))
    assert outcomes(root.search.plan(spec).left_out) == {"middle": "pruned", "middle/leaf": "stale"}


def test_disabled_hosts_count_and_promise_nothing() -> None:
    """BZ-31: also nothing of what placement knows of them."""
    big = a_host("big", total_usable_ram_mb=99999, free_ram_mb=99999, **WINDOWS)
    leaf = Zone("leaf", [a_host(), big])
    assert leaf.summary().capabilities["resources"]["MEMORY_MB"] == 99999
    big.values["service_disabled"] = True
    leaf.report(big)
    summary = leaf.summary()
    assert counts(leaf) == {
        "hosts": 2, "hosts_up": 2, "hosts_disabled": 1, "zones": 1, "own_hosts": 2,
    }  # fmt: skip
    assert summary.capabilities["hosts"] == 1
    assert summary.capabilities["resources"]["MEMORY_MB"] == 32768
    assert ["x86_64", "windows", "hvm"] not in summary.capabilities["attributes"][
        "supported_instances"
    ]


def test_counts_are_of_the_whole_tree() -> None:
    """BZ-24: and of the own hosts apart."""
    root, _middle, _leaf = a_tree_of_three()
    summary = root.summary()
    assert counts(root) == {
        "hosts": 4, "hosts_up": 4, "hosts_disabled": 0, "zones": 3, "own_hosts": 1,
    }  # fmt: skip
    assert summary.depth == 3
    assert summary.zones == [
        {"name": "middle", "state": "online", "zones": [
            {"name": "leaf", "state": "online", "zones": []},
        ]},
    ]  # fmt: skip


def test_a_zone_without_hosts_promises_nothing() -> None:
    """BZ-73."""
    root = Zone("root", some_hosts(1), [Zone("leaf")]).push_all()
    (zone,) = root.search.plan(a_request_spec()).left_out
    assert zone.outcome == "pruned"
    assert "no host that is up" in (zone.reason or "")


def test_a_cycle_neither_grows_nor_hides_anything() -> None:
    """BZ-53: sums and names go round once; what one can do, the other can reach."""
    a = Zone("a", [a_host("ha", **WINDOWS)])
    b = Zone("b", some_hosts(2), [a], clock=a.clock)
    a.adopt(b)
    root = Zone("root", [], [b], clock=a.clock)
    for _ in range(10):
        a.push()
        b.push()
    sizes = len(str(b.summary().to_plain()))
    for _ in range(10):
        a.push()
        b.push()
    assert len(str(b.summary().to_plain())) <= sizes + 20
    assert b.summary().counts["hosts"] <= 3
    assert ["x86_64", "windows", "hvm"] in triples(root)


# Several parents ----------------------------------------------------------------------------------


def a_diamond() -> tuple[Zone, dict[str, Zone]]:
    """Return the root of a tree in which a zone with three hosts has two parents."""
    down = a_host("down", service_up=False)
    up = a_host("up", vcpus_total=16, **WINDOWS)
    shared = Zone("shared", [up, a_host("disabled", service_disabled=True), down])
    below = Zone("below", some_hosts(1, vcpus_total=1), [shared])
    one = Zone("one", some_hosts(2, vcpus_total=1), [below])
    other = Zone("other", some_hosts(1, vcpus_total=1), [shared], clock=one.clock)
    root = Zone("root", [], [one, other], clock=one.clock).push_all()
    return root, {zone.name: zone for zone in (shared, below, one, other)}


DIAMOND = {"hosts": 7, "hosts_up": 6, "hosts_disabled": 1, "zones": 5, "own_hosts": 0}


def test_a_zone_with_two_parents_counts_once() -> None:
    """In hosts, in zones, and in what is added up of their attributes; at any depth."""
    root, _zones = a_diamond()
    assert counts(root) == DIAMOND
    made = root.summary().capabilities
    assert made["hosts"] == 5
    assert made["attributes"]["vcpus_total"] == 20
    assert ["x86_64", "windows", "hvm"] in triples(root)
    above = Zone("above", [], [root])
    root.push()
    assert counts(above) == {**DIAMOND, "zones": 6}


def test_it_counts_as_long_as_one_of_them_has_heard_of_it() -> None:
    """And with the larger report: a summary promises too much rather than too little."""
    root, zones = a_diamond()
    zones["shared"].report(a_host("new"))
    zones["other"].children.take("shared", zones["shared"].summary())
    zones["other"].push()
    assert counts(root)["hosts"] == 8
    zones["below"].know_children(disabled=["shared"])
    zones["below"].push()
    zones["one"].push()
    assert counts(root)["hosts"] == 8
    zones["other"].know_children(disabled=["shared"])
    zones["other"].push()
    assert counts(root) == {
        "hosts": 4, "hosts_up": 4, "hosts_disabled": 0, "zones": 4, "own_hosts": 0,
    }  # fmt: skip


def test_no_zone_makes_another_one_smaller_than_it_is() -> None:
    """BZ-62: a child may tell anything of its sibling's hosts."""
    root, zones = a_diamond()
    zone_entry = zones["other"].summary()
    zone_entry.counts["each"]["rows"]["one"] = [0] * len(zone_entry.counts["each"]["columns"])
    assert root.children.take("other", zone_entry)
    assert counts(root) == DIAMOND


def test_a_child_that_does_not_tell_of_each_zone_counts_as_a_whole() -> None:
    """It is of an older release, or has too many."""
    root, zones = a_diamond()
    zone_entry = zones["other"].summary()
    del zone_entry.counts["each"]
    assert root.children.take("other", zone_entry)
    assert counts(root) == {**DIAMOND, "hosts": 10, "hosts_up": 8, "hosts_disabled": 2, "zones": 6}
    assert root.summary().capabilities["hosts"] == 6


@pytest.mark.parametrize(
    "each",
    [
        7,
        {"columns": "hosts", "rows": {}},
        {"columns": ["hosts"], "rows": []},
        {"columns": ["hosts"], "rows": {"one": [1, 2]}},
        {"columns": ["hosts"], "rows": {"one": [1]}},
        {"columns": ["hosts"], "rows": {"one": ["1"]}},
        {"columns": ["hosts"], "rows": {"x" * 65: [1]}},
    ],
    ids=["no object", "no columns", "no rows", "too long", "too few", "no number", "long name"],
)
def test_figures_that_make_no_sense_are_refused(each: Any) -> None:
    """The summary as a whole is; the one before it holds."""
    root, zones = a_diamond()
    zone_entry = zones["other"].summary()
    zone_entry.counts["each"] = each
    with pytest.raises(exception.Invalid, match="counts by zone"):
        root.children.take("other", zone_entry)
    assert counts(root) == DIAMOND


# One attribute, one place -------------------------------------------------------------------------


def test_a_new_attribute_is_summarised_by_its_declaration_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """BZ-21, BZ-23: what is declared there is rolled up and merged, with no other edit."""
    new = HostAttribute("num_io_ops", Kind.INT, "1", Collector.TRACKER, Rollup.MAX, 0)
    monkeypatch.setattr(capabilities, "_SUMMARISED", [new])
    leaf = Zone("leaf", [a_host(num_io_ops=7)])
    root = Zone("root", [a_host(num_io_ops=3)], [leaf]).push_all()
    assert root.summary().capabilities["attributes"] == {"num_io_ops": 7}


def test_every_declared_rollup_is_summarised() -> None:
    """BZ-23: those and no others."""
    expected = {
        each.name for each in host_attributes.HOST_ATTRIBUTES if each.rollup is not Rollup.NONE
    }
    summary = Zone("leaf", some_hosts(2)).summary()
    assert summary.capabilities["attributes"].keys() == expected


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("vcpus_total", (4, 12), 16),
        ("free_ram_mb", (1024, 4096), 4096),
        ("service_version", (4, 3), 3),
        ("failed_builds", (0, 7), {"0": 1, "4": 1}),
        ("failed_builds", (2, 3), {"2": 2}),
        ("service_up", (True, True), True),
        ("hypervisor_type", ("kvm", "xen"), ["kvm", "xen"]),
        ("supported_instances", ([["a", "b", "c"]], [["a", "b", "c"], ["d", "e", "f"]]),
         [["a", "b", "c"], ["d", "e", "f"]]),
    ],
)  # fmt: skip
def test_attributes_go_up_by_their_rules(name: str, values: Any, expected: Any) -> None:
    """BZ-23: sum, greatest, least, histogram, any, union; of two hosts, and of two zones."""
    one, other = (a_host(**{name: value}) for value in values)
    together = Zone("leaf", [one, other]).summary().capabilities["attributes"]
    apart = Zone("root", [one], [Zone("leaf", [other])]).push_all().summary()
    assert together[name] == apart.capabilities["attributes"][name] == expected


def test_traits_and_resources_of_all_zones_are_joined() -> None:
    """BZ-25, BZ-26: union and greatest."""
    leaf = Zone("leaf", [a_host("l", total_usable_ram_mb=99999)])
    leaf.placement.traits[leaf.hosts[0].uuid] = {"CUSTOM_A"}
    root = Zone("root", [a_host("r")], [leaf])
    root.placement.traits[root.hosts[0].uuid] = {"CUSTOM_B"}
    made = root.push_all().summary().capabilities
    assert made["traits"] == ["CUSTOM_A", "CUSTOM_B", "OWNER_NOVA"]
    assert made["resources"]["MEMORY_MB"] == 99999


# News ---------------------------------------------------------------------------------------------


def known(**values: Any) -> Capabilities:
    made = Capabilities(
        attributes={"free_ram_mb": 1000, "vcpus_used": 5, "hypervisor_type": ["kvm"]},
        hosts=3,
        resources={"VCPU": 10},
        traits=["A"],
        filters=["F"],
        profiles=["default"],
    )
    return dataclasses.replace(made, **values)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"traits": []}, True, id="trait-gone"),
        pytest.param({"traits": ["A", "B"]}, True, id="trait-came"),
        pytest.param({"resources": {"VCPU": 11}}, True, id="more-free"),
        pytest.param({"resources": {"VCPU": 9}}, False, id="less-free"),
        pytest.param({"resources": {"VCPU": 0}}, True, id="nothing-free"),
        pytest.param({"resources": {"VCPU": 10, "GPU": 1}}, True, id="new-class"),
        pytest.param({"hosts": 4}, False, id="one-more-host"),
        pytest.param({"hosts": 0}, True, id="no-host"),
        pytest.param({"filters": []}, True, id="filter"),
        pytest.param(
            {"attributes": {"free_ram_mb": 1000, "vcpus_used": 6, "hypervisor_type": ["kvm"]}},
            False,
            id="sum",
        ),
        pytest.param(
            {"attributes": {"free_ram_mb": 1000, "vcpus_used": 5, "hypervisor_type": ["xen"]}},
            True,
            id="set",
        ),
    ],
)
def test_only_what_changes_what_a_zone_can_do_is_news(
    changed: dict[str, Any], expected: bool
) -> None:
    """BZ-27: the rest waits for its period."""
    assert capabilities.is_worth_pushing(known(), known(**changed)) is expected
    assert capabilities.is_worth_pushing(None, known())
