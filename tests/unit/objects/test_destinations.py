"""The columns of an answer give the list of lists that the conductor walks."""

import uuid

from objects.destinations import Destinations
from objects.selection import Selection
from objects.traces.decision_trace import DecisionTrace


def a_selection(host):
    return Selection.from_values(
        compute_node_uuid=str(uuid.uuid4()),
        service_host=host,
        nodename=host,
        cell_uuid=str(uuid.uuid4()),
        allocation_request={},
    )


def test_each_instance_gets_its_host_then_its_alternates():
    """Padding is left out; hosts may serve several instances as alternates."""
    answer = Destinations.from_values(
        hosts=[a_selection("a"), a_selection("b"), a_selection("c")],
        choices=[[0, 2, -1], [1, 2, 0]],
        trace=DecisionTrace.from_values(),
    )
    hosts = [[selection.service_host for selection in row] for row in answer.selections()]
    assert hosts == [["a", "c"], ["b", "c", "a"]]
