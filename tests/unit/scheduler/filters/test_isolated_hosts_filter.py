"""Hosts for some images."""

import itertools

import pytest

from scheduler.filters.isolated_hosts_filter import IsolatedHostsFilter
from tests.builders import a_uuid, an_image
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

ISOLATED_IMAGE = a_uuid()


@pytest.mark.parametrize(
    ("is_host", "is_image", "restrict"), [*itertools.product([True, False], repeat=3)]
)
def test_isolated_images_go_to_isolated_hosts(
    is_host: bool, is_image: bool, restrict: bool
) -> None:
    """And to no other; other images stay away from these hosts only where that is wanted."""
    conf = scheduling_conf(
        filter_scheduler__isolated_hosts=["host1"],
        filter_scheduler__isolated_images=[ISOLATED_IMAGE],
        filter_scheduler__restrict_isolated_hosts_to_isolated_images=restrict,
    )
    state = a_table([a_host("host1" if is_host else "host2")])[0]
    spec = a_request_spec(image=an_image(id=ISOLATED_IMAGE if is_image else a_uuid()))
    expected = {
        (True, True): True,
        (True, False): not restrict,
        (False, True): False,
        (False, False): True,
    }[is_host, is_image]
    assert IsolatedHostsFilter(conf).host_passes(state, spec) is expected


@pytest.mark.parametrize(("name", "passes"), [("host1", False), ("host2", True)])
def test_a_request_without_an_image_has_one_that_is_not_isolated(name: str, passes: bool) -> None:
    """Also where no image is isolated at all."""
    conf = scheduling_conf(filter_scheduler__isolated_hosts=["host1"])
    state = a_table([a_host(name)])[0]
    assert IsolatedHostsFilter(conf).host_passes(state, a_request_spec(image=None)) is passes
