"""Refusals are grouped by their causes."""

from typing import Any

from armillary import exception
from objects.traces.decision_trace import DecisionTrace
from simulator.results.refusals import KINDS_MAX, OTHER, SHOWN_MAX, Refusal, Refusals, cause_of


def no_valid_host(**trace: Any) -> exception.NoValidHost:
    primitive = DecisionTrace.from_values(**trace).obj_to_primitive()
    return exception.NoValidHost(reason="3 of 5 hosts.", trace=primitive)


def test_a_cause_names_what_ruled_out_and_not_how_often() -> None:
    """Resources and traits by name, filters sorted, those that removed nothing not at all."""
    error = no_valid_host(
        ruled_out=[
            {"kind": "trait", "name": "CUSTOM_FAST", "count": 2},
            {"kind": "resource", "name": "VCPU", "count": 1, "asked": 4, "best": 1},
            {"kind": "resource", "name": "DISK_GB", "count": 1, "asked": 4, "best": 1},
        ],
        filters=[
            {"name": "RoomFilter", "before": 3, "removed": 2, "reasons": []},
            {"name": "ComputeFilter", "before": 3, "removed": 1, "reasons": []},
            {"name": "OtherFilter", "before": 3, "removed": 0, "reasons": []},
        ],
    )
    assert cause_of(error) == (
        "without the trait CUSTOM_FAST, too little DISK_GB or VCPU, ComputeFilter, RoomFilter"
    )


def test_an_error_without_a_trace_is_grouped_by_its_sentence() -> None:
    """Except for numbers and UUIDs."""
    one, other = (
        exception.Conflict(reason=f"instance {uuid} waits for 1,{number} s")
        for uuid, number in (
            ("00000000-0000-0000-0000-000000000001", 1),
            ("00000000-0000-0000-0000-00000000000a", 2),
        )
    )
    assert cause_of(one) == cause_of(other) == "instance … waits for … s"


def test_the_most_frequent_come_first() -> None:
    """With an example of each; what is rare is summed up."""
    refusals = Refusals()
    for number in range(SHOWN_MAX + 2):
        refusals.add(f"cause {number:02}", f"example {number}", 1)
    refusals.add("cause 05", "another", 3)
    ranked = refusals.ranked()
    assert ranked[0] == Refusal("cause 05", 4, "example 5")
    assert ranked[-1] == Refusal(OTHER, 2, "")
    assert len(ranked) == SHOWN_MAX + 1


def test_kinds_of_causes_are_bounded() -> None:
    """Whatever a third party's filter says."""
    refusals = Refusals()
    for number in range(KINDS_MAX + 5):
        refusals.add(f"cause {number}", "", 1)
    ranked = refusals.ranked()
    assert sum(entry.count for entry in ranked) == KINDS_MAX + 5
    assert ranked[0] == Refusal(OTHER, 5, "")
