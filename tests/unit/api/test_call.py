"""The call object that a handler receives."""

from collections.abc import Mapping
from typing import Any

import pytest
from oslo_config import cfg

from api.call import AppState, Call
from api.formats.host_ids import HostIds
from api.formats.links import Links
from api.image_source import make_image_source
from api.readiness import Readiness
from armillary import exception
from armillary.context import RequestContext
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient


class OwnersOnly:
    """A policy that lets projects do what they like with their own."""

    def authorize(self, rule: str, target: Mapping[str, Any], context: RequestContext) -> None:
        if target["project_id"] != context.project_id:
            raise exception.PolicyNotAuthorized(rule=rule)


@pytest.fixture
def site(conf: cfg.ConfigOpts) -> AppState:
    client = SuperConductorClient(SuperConductor())
    return AppState(
        conductor=client,
        policy=OwnersOnly(),
        max_limit=10,
        link_prefix=None,
        document=dict,
        host_ids=HostIds(client),
        images=make_image_source(conf, client),
        images_per_project_max=1,
        readiness=Readiness(client),
    )


def a_call(site: AppState, **query: Any) -> Call:
    context = RequestContext(project_id="p1")
    return Call(site=site, context=context, version=(2, 1), links=Links("", "", {}), query=query)


def test_without_target_it_is_about_the_callers_own_project(site: AppState) -> None:
    """As most requests are."""
    a_call(site).authorize("any")


def test_a_target_has_an_owner(site: AppState) -> None:
    """The policy sees whose."""
    with pytest.raises(exception.PolicyNotAuthorized, match="this-rule"):
        a_call(site).authorize("this-rule", {"project_id": "p2"})
    assert not a_call(site).allows("any", {"project_id": "p2"})
    assert a_call(site).allows("any", {"project_id": "p1"})


@pytest.mark.parametrize(("asked", "size"), [({}, 10), ({"limit": 3}, 3), ({"limit": 11}, 10)])
def test_a_page_has_as_many_as_asked_and_allowed(
    asked: dict[str, int], size: int, site: AppState
) -> None:
    """The smaller of both."""
    assert a_call(site, **asked).page_size == size
