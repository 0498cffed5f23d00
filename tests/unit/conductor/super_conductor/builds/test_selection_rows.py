"""A scheduler's answer as rows: host, alternates and fence of each instance."""

import numpy as np

from conductor.super_conductor.builds import selection_rows
from conductor.super_conductor.db.build_requests import NewSelections
from objects.allocations.fence import FIRST_FENCE
from objects.destinations import Destinations
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace
from tests.builders import a_uuid

CELL = a_uuid()


def a_host(name: str) -> Selection:
    return Selection.from_values(
        compute_node_uuid=a_uuid(), service_host=name, nodename=name, cell_uuid=CELL, limits=None,
        allocation_request={}, availability_zone=None,
    )  # fmt: skip


def test_each_row_has_the_host_then_its_alternates() -> None:
    """In the order of the answer; the padding is left out."""
    hosts = [a_host("h1"), a_host("h2")]
    answer = Destinations.from_values(
        hosts=hosts, choices=np.array([[1, 0], [0, -1]]), trace=DecisionTrace.from_values()
    )
    first, second = a_uuid(), a_uuid()
    rows = selection_rows.of(answer, [first, second], FIRST_FENCE, {})
    forms = [host.obj_to_primitive() for host in hosts]
    assert rows == [
        NewSelections(first, CELL, 1000, forms[::-1]),
        NewSelections(second, CELL, 1000, forms[:1]),
    ]


def test_a_host_that_answers_share_is_put_into_wire_form_once() -> None:
    """Its rows hold the same one."""
    host = a_host("h1")
    answers = [
        Destinations.from_values(
            hosts=[host], choices=np.array([[0]]), trace=DecisionTrace.from_values()
        )
        for _ in range(2)
    ]
    forms: selection_rows.WireForms = {}
    one, two = (selection_rows.of(answer, [a_uuid()], FIRST_FENCE, forms)[0] for answer in answers)
    assert one.selections[0] is two.selections[0]
