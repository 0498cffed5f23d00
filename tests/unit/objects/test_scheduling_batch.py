"""Requests and answers travel together, and come out as they went in."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from armillary import exception
from objects.decision_trace import DecisionTrace
from objects.destinations import Destinations
from objects.scheduling_batch import Answer, BatchedRequest, SchedulingAnswers, SchedulingBatch
from objects.selection import Selection
from tests.builders import a_flavor, a_uuid
from tests.fleets import CELL, a_request_spec


def sent(batch: Any) -> Any:
    return type(batch).obj_from_primitive(json.loads(json.dumps(batch.obj_to_primitive())))


def a_request(**values: Any) -> BatchedRequest:
    return BatchedRequest(a_request_spec(**values), [a_uuid()], [1000], "req-1")


def a_selection(name: str) -> Selection:
    return Selection.from_values(
        compute_node_uuid=a_uuid(), service_host=name, nodename=name, cell_uuid=CELL,
        allocation_request={},
    )  # fmt: skip


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
    with pytest.raises(exception.Invalid, match=f"names spec {index} of a batch that has 1"):
        batch.unpacked()


def test_answers_that_name_the_same_hosts_share_them() -> None:
    """And have their own choices of them."""
    one, two, three = (a_selection(name) for name in ("h1", "h2", "h3"))
    answers = SchedulingAnswers.of(
        [an_answer([one, two], [[0, 1]]), an_answer([three, two], [[0, 1]])]
    )
    assert len(answers.hosts) == 3
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
    """With their facts; what is none of ours is a failed call."""
    no, other = back(exception.NoValidHost(reason="full", trace={"a": 1}), KeyError("x"))
    assert isinstance(no, exception.NoValidHost)
    assert no.kwargs == {"reason": "full", "trace": {"a": 1}}
    assert isinstance(other, exception.RpcFailed)
    assert "KeyError" in other.message
