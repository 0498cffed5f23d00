"""Odd requests at every path of every HTTP API of running services, from administrator and member.

Each is answered or refused, tells nothing of what is inside, leaves no error in any log, and shows
and changes nothing that is another project's.
"""

import functools
from collections.abc import Iterator

import pytest

from tests.integration.trust import hostile_requests as hostile
from tests.integration.trust.hostile_world import MEMBER, OTHER, World, running_world
from tests.integration.trust.token_deployment import ADMINISTRATOR

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running_world(tmp_path_factory.mktemp("hostile")) as lent:
        yield lent


@pytest.fixture(params=[ADMINISTRATOR, MEMBER])
def user(request: pytest.FixtureRequest, world: World) -> Iterator[str]:
    """Lend each user in turn; nothing failed, and a member changes nothing of another project."""
    asks: str = request.param
    estate = world.estates[OTHER]
    estate.names()
    before = estate.shown()
    yield asks
    assert world.new_errors() == []
    assert all(each.is_alive() for each in world.deployment.processes.values())
    if asks == MEMBER:
        assert estate.shown() == before


def test_the_bodies_that_are_spoilt_are_right(world: World) -> None:
    """Else the requests below would get no further than the first check."""
    names = world.names(ADMINISTRATOR)
    with_a_body = [route for route in hostile.ROUTES if route.body]
    assert len(with_a_body) > 100
    for route in with_a_body:
        hostile.check_right(route, names)


def test_odd_parts_of_a_path_are_answered(world: World, user: str) -> None:
    routes = [route for route in hostile.ROUTES if route.parameters]
    world.send(user, routes, functools.partial(hostile.odd_paths, count=5))


def test_odd_queries_are_answered(world: World, user: str) -> None:
    routes = [route for route in hostile.ROUTES if route.method == "GET"]
    world.send(user, routes, functools.partial(hostile.odd_queries, count=8))


def test_odd_values_in_bodies_are_answered(world: World, user: str) -> None:
    routes = [route for route in hostile.ROUTES if route.body]
    world.send(user, routes, functools.partial(hostile.odd_fields, count=12))


def test_bodies_that_are_none_are_answered(world: World, user: str) -> None:
    """Also where none is expected."""
    routes = [route for route in hostile.ROUTES if route.method in hostile.BODY_METHODS]
    world.send(user, routes, functools.partial(hostile.odd_bodies, count=4))


def test_odd_headers_are_answered(world: World, user: str) -> None:
    """At one path of each API that lists something, and one that makes something."""
    paths = {
        "/v2.1/servers/detail", "/v2.1/servers", "/identity/v3/auth/tokens", "/image/v2/images",
        "/resource_providers",
    }  # fmt: skip
    routes = [route for route in hostile.ROUTES if route.path in paths]
    assert {route.path for route in routes} == paths
    world.send(user, routes, hostile.odd_headers)


def test_odd_methods_are_answered(world: World, user: str) -> None:
    """No path has one by another name."""
    routes = {route.path: route for route in hostile.ROUTES if route.method == "GET"}
    routes = {path: route for path, route in routes.items() if not route.parameters}
    world.send(user, list(routes.values()), hostile.odd_methods)
