"""``armillary explain``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from objects.instance import Instance
from tests.unit.programs.commands.test_explanation import a_trace
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture(autouse=True)
def server(conductor: BuildingSuperConductor, a_server: Callable[..., Instance]) -> Instance:
    """Have a server whose placing is explained."""
    conductor.trace = a_trace()
    return a_server("web", host="host2", attempt=2)


def test_an_explanation_is_text_for_people(armillary: Armillary, server: Instance) -> None:
    """By name."""
    ended = armillary("explain", "web")
    assert ended.code == 0
    assert ended.out.startswith(f"web ({server.uuid}) is ACTIVE on host2, attempt 2 of 2.\n")


def test_programs_get_all_the_api_says(armillary: Armillary, server: Instance) -> None:
    """The raw document."""
    document: dict[str, Any] = armillary("explain", server.uuid, "-f", "json").json
    assert document["server"]["id"] == server.uuid
    assert document["trace"] == a_trace()


def test_a_decision_is_asked_for_by_its_request(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The last one without."""
    made = {"decided_at": "2030-01-31T12:00:00+00:00", "host": "host2", "sentence": None}
    conductor.decisions = [
        {**made, "operation": "live-migration", "request_id": "req-2"},
        {**made, "operation": "create", "request_id": "req-1"},
    ]
    assert "about its live-migration (req-2): host2." in armillary("explain", "web").out
    ended = armillary("explain", "web", "--request", "req-1")
    assert conductor.decision_asked == "req-1"
    assert "about its create (req-1): host2." in ended.out


def test_an_unknown_server_is_exit_code_3(armillary: Armillary) -> None:
    """Nothing to explain."""
    assert armillary("explain", "typo").code == 3
