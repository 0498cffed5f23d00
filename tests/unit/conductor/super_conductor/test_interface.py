"""What an older super conductor is asked."""

from __future__ import annotations

from typing import Any

import pytest

from armillary.context import RequestContext, admin_context
from conductor.super_conductor.interface import SuperConductorAPI


class Recorded(SuperConductorAPI):
    """A client that may send some version at most, and keeps what it would send."""

    def __init__(self, *, is_newest: bool) -> None:
        self.sent: list[dict[str, Any]] = []
        self._is_newest = is_newest

    def can_send(self, version: str) -> bool:
        return self._is_newest

    def _call(self, context: RequestContext, method: str, **arguments: Any) -> Any:
        self.sent.append(arguments)
        return {}


@pytest.mark.parametrize(
    ("is_newest", "with_hosts", "more"),
    [
        (True, True, {"version": "1.2", "with_hosts": True}),
        (True, False, {"version": "1.2", "with_hosts": False}),
        (True, None, {}),
        (False, False, {}),
    ],
)
def test_an_older_conductor_decides_itself_who_sees_hosts(
    is_newest: bool, with_hosts: bool | None, more: dict[str, Any]
) -> None:
    """It knows no such argument; administrators see them there."""
    client = Recorded(is_newest=is_newest)
    client.explain_server(admin_context(), "u", with_hosts=with_hosts)
    assert client.sent == [{"instance_uuid": "u", **more}]


def test_a_decision_of_a_move_is_asked_of_newer_conductors() -> None:
    """An older one has none; it would answer with another trace."""
    client = Recorded(is_newest=True)
    explained = client.explain_server(admin_context(), "u", with_hosts=True, decision_of="req-1")
    assert client.sent == [
        {"instance_uuid": "u", "version": "1.4", "with_hosts": True, "decision_of": "req-1"}
    ]
    assert explained["decisions"] == []


def test_an_older_conductor_tells_of_hosts_of_its_zone_only() -> None:
    """They are shown as now."""

    class Older(Recorded):
        def _call(self, context: RequestContext, method: str, **arguments: Any) -> Any:
            return {"hosts": [{"host": "host1", "alternates": ["host2", None]}], "trace": {}}

    (host,) = Older(is_newest=False).dry_run(admin_context(), {}, with_hosts=True)["hosts"]
    assert (host["zone"], host["host_id"], host["alternate_zones"]) == (None, None, [None, None])
