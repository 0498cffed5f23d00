"""Things by id or by name."""

from collections.abc import Callable

import pytest

from armillary import exception
from programs.commands.lookup import (
    AmbiguousName,
    NotAllSearched,
    find_flavor,
    find_group,
    find_hypervisor,
    find_image,
    find_service,
)
from programs.http_client import ApiClient
from tests import builders
from tests.unit.programs.conftest import BuildingSuperConductor


def test_an_id_wins_over_a_name(api: ApiClient, conductor: BuildingSuperConductor) -> None:
    """A user may call a thing like another's id."""
    wanted = builders.an_image("wanted")
    conductor.images = [builders.an_image(wanted.id), wanted]
    assert find_image(api, wanted.id)["name"] == "wanted"


def test_a_name_that_looks_like_an_id_is_a_name(
    api: ApiClient, conductor: BuildingSuperConductor
) -> None:
    """When there is no such id."""
    name = builders.a_uuid()
    conductor.images = [builders.an_image(name)]
    assert find_image(api, name)["name"] == name


def test_only_whole_names_count(api: ApiClient, conductor: BuildingSuperConductor) -> None:
    """And case matters."""
    conductor.flavors = [builders.a_flavor("small.2"), builders.a_flavor("Small")]
    with pytest.raises(exception.NotFound, match="No flavor has the id or name 'small'"):
        find_flavor(api, "small")


@pytest.mark.parametrize(
    ("find", "wanted", "said"),
    [
        (find_flavor, "m1.smal", "Similar: m1.Small. To see all: armillary flavor list"),
        (find_image, "looop", "Similar: loop. To see all: armillary image list"),
        (find_group, "xxxxx", "or name 'xxxxx'. To see all: armillary group list"),
        (find_hypervisor, "hots1", "Similar: host1. To see all: armillary host list"),
    ],
)
def test_names_that_are_nearly_the_same_are_named(
    find: Callable[[ApiClient, str], object], wanted: str, said: str,
    api: ApiClient, conductor: BuildingSuperConductor,
) -> None:  # fmt: skip
    """In whatever letters, and where to look else."""
    conductor.flavors = [builders.a_flavor("m1.Small"), builders.a_flavor("large")]
    conductor.images = [builders.an_image("loop")]
    conductor.groups = [builders.an_instance_group("apart", project_id="admin")]
    conductor.services = [builders.a_service("host1")]
    conductor.nodes = [builders.a_compute_node("host1")]
    with pytest.raises(exception.NotFound) as caught:
        find(api, wanted)
    assert caught.value.message.endswith(said)


def test_of_many_with_one_name_some_ids_are_shown(
    api: ApiClient, conductor: BuildingSuperConductor
) -> None:
    """The line stays short."""
    groups = [builders.an_instance_group("x", project_id="admin") for _ in range(3)]
    conductor.groups = groups
    with pytest.raises(AmbiguousName) as caught:
        find_group(api, "x")
    ids = ", ".join(group.uuid for group in groups)
    assert str(caught.value) == (f"3 server groups are named 'x': {ids}. Use an id.")


@pytest.mark.parametrize("find", [find_hypervisor, find_service])
def test_a_host_that_may_be_in_a_silent_cell_is_not_said_to_be_unknown(
    find: Callable[[ApiClient, str], object], api: ApiClient, conductor: BuildingSuperConductor
) -> None:
    """By name or id: both are known there only."""
    with pytest.raises(exception.NotFound):
        find(api, "host7")
    conductor.down_cells = ["cell2"]
    for wanted in ("host7", builders.a_uuid()):
        with pytest.raises(NotAllSearched, match="cell cell2 did not answer"):
            find(api, wanted)
