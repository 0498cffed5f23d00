"""Tests of what parent zones forward: changes are told from questions."""

from functools import partial

import pytest

from conductor.super_conductor.zones.forwarded import CHANGES, LIST_SERVERS
from conductor.super_conductor.zones.interface import ZoneAPI
from conductor.super_conductor.zones.local_zone import LocalZone
from objects.instances.operation_arguments import OperationArguments
from rpc.interface import Idempotent
from tests.fixtures.control_plane import a_user
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_walk import child, create

__all__ = ["root"]

QUESTIONS = {
    "create_serial_console", "get_topology",
    "get_server", "list_server_actions", "explain_server", "get_console_output",
    "get_diagnostics", "list_migrations", "get_claim", "explain_claim",
}  # fmt: skip


def test_every_request_is_a_change_or_a_question(root: Zone) -> None:
    """A new one has to be one of both."""
    own = root.zones.own
    assert isinstance(own, LocalZone)
    assert own._of_one.keys() | own._claims.methods == CHANGES | QUESTIONS
    assert LIST_SERVERS not in CHANGES


def test_a_repeated_change_is_answered_from_its_record() -> None:
    """Questions are asked often, and their answers differ each time."""
    assert ZoneAPI.METHODS["forward_change"].idempotent is Idempotent.BY_RECORD
    assert ZoneAPI.METHODS["forward"].idempotent is Idempotent.BY_NATURE


@pytest.mark.parametrize("operation", ["lock", None], ids=["a change", "a question"])
def test_each_goes_its_way(root: Zone, operation: str | None) -> None:
    """On every step of the path."""
    (uuid,) = create(root, "eu/eu-1:cell1-host1")
    root.walk()
    asked: list[str] = []
    for bus in (root.bus_to(child(root, "eu")), child(root, "eu").bus_to(child(root, "eu-1"))):
        for method in ("forward", "forward_change"):
            bus.meanwhile(method, partial(asked.append, method))
    if operation is None:
        root.endpoint.get_server(a_user(), uuid)
    else:
        root.endpoint.operate_server(a_user(), uuid, operation, OperationArguments())
    assert asked == ["forward" if operation is None else "forward_change"] * 2
