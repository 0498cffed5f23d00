"""The table of contents leads where it says."""

import pytest

from api.routes import ROUTES
from armillary.http.dispatch import ActionByBody, actions_of
from armillary.http.microversion import HEADER
from armillary.http.openapi import operation_id
from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor

EXCEPTIONS = {
    "server_action-rebuild", "server_snapshot-create_backup", "server_snapshot-create_image",
    "server_tag-update", "aggregate-cache_images",
    "server_attachment-attach_interface", "volume_attachment-attach", "volume_attachment-swap",
}  # fmt: skip
"""The first three are accepted and show something; the next two do something and show nothing.

The others are always refused.
"""

ALL = [
    (path, name, action)
    for path, methods in ROUTES.items()
    for name, method in methods.items()
    for action in actions_of(method)
]


def test_every_handler_is_reached_by_one_route() -> None:
    """And is called by a name of its own in the document."""
    names = [operation_id(action) for _path, _method, action in ALL]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(("path", "method", "action"), ALL, ids=[operation_id(a) for *_, a in ALL])
def test_only_an_empty_answer_has_no_schema(path: str, method: str, action: object) -> None:
    """What is shown is promised; deletes and what is only accepted show nothing."""
    is_empty = action.answer is None  # type: ignore[attr-defined]
    is_choice = isinstance(ROUTES[path][method], ActionByBody)
    is_accepted = is_choice and action.status == 202  # type: ignore[attr-defined]
    shows_nothing = method == "DELETE" or is_accepted or action.status == 204  # type: ignore[attr-defined]
    is_exception = operation_id(action) in EXCEPTIONS  # type: ignore[arg-type]
    assert is_empty == (shows_nothing != is_exception)


def test_a_word_in_a_path_goes_before_a_name(api: Api, conductor: SuperConductor) -> None:
    """``enable`` does not name a service, nor ``detail`` a server."""
    conductor.services = [builders.a_service("host1")]
    body = {"host": "host1", "binary": "armillary-compute"}
    headers = {HEADER: "compute 2.52"}
    answer = api.send("PUT", "/v2.1/os-services/enable", json=body, headers=headers)
    assert answer.json["service"]["status"] == "enabled"
    assert "servers" in api.get("/v2.1/servers/detail").json


def test_options_say_what_a_path_can_do(api: Api) -> None:
    """As HTTP wants it."""
    answer = api._client.simulate_options("/v2.1/flavors")
    assert set(answer.headers["Allow"].split(", ")) == {"GET", "POST"}
