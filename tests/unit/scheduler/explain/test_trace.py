"""A trace adds up to the fleet, is bounded, and its sentence says what would have to change."""

from typing import Any

import pytest

from objects.traces.decision_trace import DecisionTrace
from scheduler.explain.trace import TraceBuilder, explain
from scheduler.weights.ranking import Ranked, Share
from tests.builders import A_TIME
from tests.fleets import Clock, a_table, some_hosts

AGGREGATE = "aaaaaaaa-0000-0000-0000-000000000001"


def a_builder(choices_max: int = 10, clock: Clock | None = None) -> TraceBuilder:
    return TraceBuilder(
        request_id="req-1", created_at=A_TIME, clock=clock or Clock(), choices_max=choices_max
    )


def lacking(name: str, count: int, *, asked: int = 2, best: int = 1) -> dict[str, Any]:
    return {"kind": "resource", "name": name, "count": count, "asked": asked, "best": best}


def rule(kind: str, name: str, count: int) -> dict[str, Any]:
    return {"kind": kind, "name": name, "count": count}


def removed(name: str, count: int, *reasons: tuple[str, int]) -> dict[str, Any]:
    said = [{"reason": reason, "count": found} for reason, found in reasons]
    return {"name": name, "before": count, "removed": count, "reasons": said}


def sentence(total: int, *, placed: int = 0, wanted: int = 1, **values: Any) -> str:
    lacks = values.pop("lacks", [])
    trace = DecisionTrace.from_values(hosts_total=total, **values)
    return explain(
        trace, placed=placed, wanted=wanted, aggregate_names={AGGREGATE: "ssd"}, lacks=lacks
    )


def test_the_sentence_says_who_lacks_what() -> None:
    """With numbers that add up to the fleet."""
    ruled_out = [
        rule("trait", "HW_CPU_X86_AVX512F", 9988),
        lacking("MEMORY_MB", 12, asked=65536, best=49152),
    ]
    lacks = [{"kind": "resource", "name": "MEMORY_MB", "asked": 65536, "short": 16384}]
    assert sentence(10000, ruled_out=ruled_out, lacks=lacks) == (
        "9,988 of 10,000 hosts lack HW_CPU_X86_AVX512F; the other 12 lack MEMORY_MB: 65,536 asked, "
        "49,152 free at most; the nearest miss lacks 16,384 MiB of memory."
    )


@pytest.mark.parametrize(
    ("total", "values", "expected"),
    [
        (0, {}, "There is no host yet."),
        (3, {"ruled_out": [rule("trait", "X", 3)]}, "All 3 hosts lack X."),
        (1, {"ruled_out": [rule("trait", "X", 1)]}, "The only host lacks X."),
        (
            3,
            {"ruled_out": [rule("trait", "X", 1)], "candidates": 2, "unknown": 2},
            "1 of 3 hosts lacks X; the other 2 are not known to this scheduler (yet).",
        ),
        (
            3,
            {
                "ruled_out": [rule("member_of", AGGREGATE, 2)],
                "candidates": 1,
                "filters": [removed("ComputeFilter", 1, ("its service is down", 1))],
            },
            "2 of 3 hosts are not in aggregate ssd; the other one is ruled out by ComputeFilter "
            "(its service is down).",
        ),
        (
            4,
            {
                "ruled_out": [
                    rule("forbidden_trait", "X", 1),
                    rule("forbidden_aggregate", AGGREGATE, 1),
                    rule("disabled", "", 1),
                    rule("something_new", "Y", 1),
                ]
            },
            "1 of 4 hosts has X, which is forbidden; 1 is in aggregate ssd, which is forbidden; "
            "1 is disabled; the other one is ruled out by Y.",
        ),
        (
            5,
            {"candidates": 2, "filters": [removed("AFilter", 2)]},
            "3 of 5 hosts were cut off by max_placement_results; the other 2 are ruled out by "
            "AFilter.",
        ),
        (
            2,
            {
                "ruled_out": [lacking("DISK_GB", 2, best=-3)],
                "lacks": [
                    rule("forbidden_trait", "COMPUTE_STATUS_DISABLED", 0),
                    rule("member_of", AGGREGATE, 0),
                    {"kind": "resource", "name": "DISK_GB", "asked": 2, "short": 2},
                    rule("trait", "CUSTOM_A", 0),
                    {"kind": "resource", "name": "VCPU", "asked": 8, "free": 4, "rule": "max_unit"},
                ],
            },
            "All 2 hosts lack DISK_GB: 2 asked, 0 free at most; the nearest miss lacks 2 GiB of "
            "disk and CUSTOM_A and is disabled and is not in aggregate ssd and gives at most 4 "
            "VCPU to one request (max_unit): 8 asked.",
        ),
        (
            3,
            {
                "ruled_out": [{**rule("trait", "CUSTOM_A", 3)}],
                "lacks": [rule("trait", "CUSTOM_A", 0)],
            },
            "All 3 hosts lack CUSTOM_A.",
        ),
        (
            9,
            {
                "candidates": 9,
                "filters": [
                    removed("AFilter", 5, ("is red", 3), ("is blue", 2)),
                    removed("BFilter", 4, ("is odd", 2), ("is even", 1)),
                ],
            },
            "5 of 9 hosts are ruled out by AFilter (3: is red); the other 4 are ruled out by "
            "BFilter (at least 2: is odd).",
        ),
        (
            3,
            {
                "ruled_out": [
                    lacking("DISK_GB", 1, asked=100, best=10),
                    lacking("VCPU", 2, asked=4, best=3),
                ]
            },
            "1 of 3 hosts lacks DISK_GB: 100 asked, 10 free at most; the other 2 lack VCPU: "
            "4 asked, 3 free at most.",
        ),
        (
            1,
            {"ruled_out": [rule("forbidden_trait", "COMPUTE_STATUS_DISABLED", 1)]},
            "The only host is disabled.",
        ),
        (
            2,
            {"ruled_out": [{**lacking("VCPU", 2, asked=3, best=2), "rule": "step_size"}]},
            "All 2 hosts give multiples of 2 VCPU to one request (step_size): 3 asked.",
        ),
        (
            2,
            {"ruled_out": [{**lacking("VCPU", 2, asked=9, best=8), "rule": "max_unit"}]},
            "All 2 hosts give at most 8 VCPU to one request (max_unit): 9 asked.",
        ),
    ],
    ids=str,
)
def test_each_kind_of_no_has_its_words(total: int, values: Any, expected: str) -> None:
    """In the singular and in the plural."""
    assert sentence(total, **values) == expected


def test_the_sentence_says_how_many_found_room() -> None:
    """When some of the request's instances did."""
    found = sentence(
        2, placed=3, wanted=4, candidates=2, filters=[removed("room", 2, ("no room: VCPU", 2))]
    )
    assert found == "Only 3 of 4 instances could be placed: all 2 hosts have no room: VCPU."


def test_the_sentence_is_bounded() -> None:
    """What is beyond is summed up."""
    filters = [removed(f"F{n}Filter", 1) for n in range(20)]
    found = sentence(20, candidates=20, filters=filters)
    assert found.endswith("; the other 15 fail for other reasons.")
    assert found.count(";") == 5


def test_a_stage_takes_the_time_that_its_parts_take() -> None:
    """In milliseconds; the total from the beginning to the end."""
    clock = Clock()
    builder = a_builder(clock=clock)
    for seconds in (1, 2):
        with builder.stage("claim"):
            clock.seconds += seconds
    clock.seconds += 4
    assert builder.finished().timings_ms == {"claim": 3000.0, "total": 7000.0}


def a_share(weight: float) -> Share:
    return {"raw": 512.0 * weight, "normalised": weight / 2, "weight": weight}


def ranked(position: int, weight: float) -> Ranked:
    return Ranked(position, weight, {"RAMWeigher": a_share(weight)})


def test_a_choice_says_which_host_by_which_weights() -> None:
    """And who came next."""
    builder = a_builder()
    builder.chosen("i1", a_table(some_hosts(2)), ranked(0, 2.0), [ranked(1, 1.0)])
    assert builder.finished().choices == [
        {
            "instance_uuid": "i1",
            "host": "host1",
            "node": "host1.example.org",
            "weight": 2.0,
            "shares": {"RAMWeigher": a_share(2.0)},
            "runners_up": [
                {"host": "host2", "weight": 1.0, "shares": {"RAMWeigher": a_share(1.0)}}
            ],
            "conflicts": [],
        }
    ]


def test_refused_claims_are_kept_with_the_choice_that_followed() -> None:
    """The instance has one choice, the last."""
    builder, hosts = a_builder(), a_table(some_hosts(2))
    builder.chosen("i1", hosts, ranked(0, 2.0), [])
    builder.refused("i1", "host1", "no room")
    builder.chosen("i1", hosts, ranked(1, 2.0), [])
    (choice,) = builder.finished().choices
    assert choice["host"] == "host2"
    assert choice["conflicts"] == [{"host": "host1", "reason": "no room"}]


def test_choices_and_conflicts_are_bounded() -> None:
    """However large the request."""
    builder, hosts = a_builder(choices_max=1), a_table(some_hosts(1))
    for name in ("i1", "i2"):
        builder.chosen(name, hosts, ranked(0, 2.0), [])
    for _ in range(50):
        builder.refused("i1", "host1", None)
        builder.refused("i2", "host1", None)
    (choice,) = builder.finished().choices
    assert len(choice["conflicts"]) == 10


def test_a_failed_trace_is_ready_for_the_wire() -> None:
    """As an argument of an error it must be plain."""
    builder = a_builder()
    builder.filtered("AFilter", 2, 2, [("is blue", 2)], ["host1"])
    trace = builder.failed(reason="There is none.").to_plain()
    assert trace["sentence"] == "There is none."
    assert trace["created_at"] == "2030-01-31T12:00:00Z"
    assert trace["filters"] == [{**removed("AFilter", 2, ("is blue", 2)), "hosts": ["host1"]}]
