"""What an older cell conductor is given."""

from __future__ import annotations

from typing import Any

import pytest

from armillary.context import RequestContext, admin_context
from conductor.cell_conductor.rpcapi import CellConductorAPI
from tests.fixtures.cell import a_build_request

VERSIONS = ["1.0", "1.1", "1.2", "1.3"]


class Recorded(CellConductorAPI):
    """A client of a conductor of some version, which keeps what it would send."""

    def __init__(self, version: str) -> None:
        self.sent: list[dict[str, Any]] = []
        self._newest = version

    def can_send(self, version: str, server: str | None = None) -> bool:
        return version <= self._newest

    def _call(self, context: RequestContext, method: str, **arguments: Any) -> Any:
        self.sent.append(arguments)


@pytest.mark.parametrize(
    ("version", "instance"),
    list(zip(VERSIONS, ["1.0", "1.0", "1.1", None], strict=True)),
    ids=VERSIONS,
)
def test_builds_are_handed_over_in_the_form_that_a_cell_knows(
    version: str, instance: str | None
) -> None:
    """The newest gets them as they are."""
    client, request = Recorded(version), a_build_request("a")
    client.build_instances(admin_context(), [request])
    (sent,) = client.sent
    (handed,) = sent["build_requests"]
    assert sent["version"] == version
    if instance is None:
        assert handed is request
        return
    inner = handed["armillary_object.data"]["instance"]
    assert inner["armillary_object.version"] == instance
    assert ("locked" in inner["armillary_object.data"]) == (instance == "1.1")
    assert "locked_by" not in inner["armillary_object.data"]
