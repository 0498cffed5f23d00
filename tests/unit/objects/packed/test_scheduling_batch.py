"""Requests and answers travel together, and come out as they went in."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from armillary import exception
from objects.destinations import Destinations
from objects.packed.scheduling_batch import (
    Answer,
    BatchedRequest,
    SchedulingAnswers,
    SchedulingBatch,
)
from objects.request_spec import SchedulerLimits
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace
from tests.builders import A_TIME, a_flavor, a_uuid
from tests.fleets import CELL, a_request_spec


def sent(batch: Any) -> Any:
    return type(batch).obj_from_primitive(json.loads(json.dumps(batch.obj_to_primitive())))


def a_request(**values: Any) -> BatchedRequest:
    return BatchedRequest(a_request_spec(**values), [a_uuid()], [1000], "req-1")


def a_selection(name: str, **values: Any) -> Selection:
    uuid = a_uuid()
    usual = {"allocation_request": {uuid: {"resources": {"VCPU": 1}}}, "nodename": f"{name}.org"}
    return Selection.from_values(
        {"compute_node_uuid": uuid, "service_host": name, "cell_uuid": CELL, **usual, **values}
    )


def an_answer(hosts: list[Selection], rows: list[list[int]]) -> Destinations:
    return Destinations.from_values(
        hosts=hosts,
        choices=np.array(rows, dtype=np.int64),
        trace=DecisionTrace.from_values(request_id="req-1", sentence="so"),
    )


def back(*answers: Answer) -> list[Answer]:
    found: list[Answer] = sent(SchedulingAnswers.of(answers)).unpacked()
    return found


def test_equal_specs_are_sent_once() -> None:
    """Whose they are, and for which instance, makes no difference."""
    other = a_request(flavor=a_flavor(flavorid="f9", vcpus=9))
    batch = SchedulingBatch.of([a_request(), other, a_request(instance_uuid=a_uuid())])
    assert len(batch.specs) == 2
    found = sent(batch).unpacked()
    assert [each.request_spec.flavor.vcpus for each in found] == [1, 9, 1]


def test_a_request_comes_as_it_went() -> None:
    """With its instances, their fences and its id."""
    request = BatchedRequest(a_request_spec(), [a_uuid(), a_uuid()], [1000, 2000], "req-2", False)
    (found,) = sent(SchedulingBatch.of([request])).unpacked()
    assert (found.instance_uuids, found.fences) == (request.instance_uuids, request.fences)
    assert (found.request_id, found.return_alternates) == ("req-2", False)


@pytest.mark.parametrize("index", [-1, 1])
def test_a_spec_that_is_not_there_is_refused(index: int) -> None:
    """Whatever the sender meant."""
    batch = SchedulingBatch.of([a_request()])
    batch.requests[0]["spec"] = index
    with pytest.raises(exception.Invalid, match=f"refers to spec {index} of a batch of 1"):
        batch.unpacked()


def test_answers_that_name_the_same_hosts_share_them() -> None:
    """And have their own choices of them."""
    one, two, three = (a_selection(name) for name in ("h1", "h2", "h3"))
    answers = SchedulingAnswers.of(
        [an_answer([one, two], [[0, 1]]), an_answer([three, two], [[0, 1]])]
    )
    assert len(answers.hosts["hosts"]) == 3
    found = sent(answers).unpacked()
    names = [[[host.service_host for host in row] for row in each.selections()] for each in found]
    assert names == [[["h1", "h2"]], [["h3", "h2"]]]
    assert found[0].trace.sentence == "so"


def test_rows_of_different_lengths_stay_so() -> None:
    """An instance may have fewer alternates than another one."""
    one, two = a_selection("h1"), a_selection("h2")
    (found,) = back(an_answer([one, two], [[1, 0], [0, -1]]))
    assert isinstance(found, Destinations)
    rows = [[host.service_host for host in row] for row in found.selections()]
    assert rows == [["h2", "h1"], ["h1"]]


def test_errors_come_as_their_own_class() -> None:
    """With their facts; any other error is a failed call."""
    no, other = back(exception.NoValidHost(reason="full", trace={"a": 1}), KeyError("x"))
    assert isinstance(no, exception.NoValidHost)
    assert no.kwargs == {"reason": "full", "trace": {"a": 1}}
    assert isinstance(other, exception.RpcFailed)
    assert "KeyError" in other.message


def a_share(weight: float) -> dict[str, float]:
    return {"raw": 512.5 * weight, "normalised": weight / 3, "weight": weight}


def a_trace(number: int, found: dict[str, Any]) -> DecisionTrace:
    """Return the trace of one of several requests that were decided together."""
    ranked = [
        {"host": f"h{number + more}", "weight": 2.0, "shares": {"RAMWeigher": a_share(2.0)}}
        for more in range(3)
    ]
    choice = {
        "instance_uuid": f"i{number}", "node": f"n{number}", **ranked[0],
        "runners_up": ranked[1:], "conflicts": [{"host": "h9", "reason": "full"}],
    }  # fmt: skip
    return DecisionTrace.from_values(
        request_id=f"req-{number}", created_at=A_TIME, choices=[choice],
        timings_ms={"choose": 0.125 * number}, **found,
    )  # fmt: skip


def several_answers(count: int) -> list[Destinations]:
    found = {
        "hosts_total": 9, "candidates": 8, "unknown": 1,
        "ruled_out": [{"kind": "trait", "name": "X", "count": 1}],
        "filters": [{"name": "AFilter", "before": 7, "removed": 0, "reasons": []}],
    }  # fmt: skip
    limits = SchedulerLimits.from_values(memory_mb=5, numa_topology={"cpu_allocation_ratio": 2.0})
    shared = a_selection("s", limits=limits, availability_zone="north")
    lent = {a_uuid(): {"resources": {"DISK_GB": 1}}, a_uuid(): {"resources": {"VCPU": 1}}}
    return [
        Destinations.from_values(
            hosts=[a_selection(f"h{number}", allocation_request=lent), shared],
            choices=np.array([[0, 1]]),
            trace=a_trace(number, found),
        )
        for number in range(count)
    ]


def plain(answers: Sequence[Answer]) -> list[Any]:
    found = []
    for each in answers:
        assert isinstance(each, Destinations)
        rows = [[host.to_plain() for host in row] for row in each.selections()]
        found.append((each.trace.to_plain(), rows))
    return found


def test_traces_and_hosts_come_as_they_went() -> None:
    """Though what they have in common was sent once."""
    answers = several_answers(3)
    packed = SchedulingAnswers.of(answers)
    assert len(packed.traces["found"]) == len(packed.traces["shares"]) == 1
    assert plain(sent(packed).unpacked()) == plain(answers)


def test_an_answer_more_costs_little() -> None:
    """Of ten kilobytes that a trace and three hosts have, most is the same for all."""
    few, many = (
        len(json.dumps(SchedulingAnswers.of(several_answers(count)).obj_to_primitive()))
        for count in (10, 110)
    )
    assert (many - few) / 100 < 600


def test_answers_that_make_no_sense_are_a_failed_call() -> None:
    """From any sender."""
    answers = SchedulingAnswers.of(several_answers(1))
    answers.answers[0]["trace"] = 5
    with pytest.raises(exception.RpcFailed, match="malformed answers"):
        answers.unpacked()
