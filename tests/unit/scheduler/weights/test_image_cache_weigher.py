"""Servers come to hosts that have their image, or not."""

from typing import Any

import pytest

from scheduler.weights.image_cache_weigher import _IMAGES_MAX, ImageCacheWeigher
from tests.builders import an_image
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

IMAGE = an_image()


@pytest.mark.parametrize(
    ("images", "weight"),
    [([IMAGE.id], 1.0), (["x", IMAGE.id], 1.0), (["x"], 0.0), ([], 0.0), (None, 0.0)],
    ids=["it", "among others", "another", "none", "not reported"],
)
def test_a_host_with_the_image_weighs_one(images: Any, weight: float) -> None:
    state = a_table([a_host(cached_images=images)])[0]
    weigher = ImageCacheWeigher(scheduling_conf())
    assert weigher.host_weight(state, a_request_spec(image=IMAGE)) == weight


def test_a_server_without_an_image_is_not_weighed() -> None:
    """No host can differ."""
    assert not ImageCacheWeigher(scheduling_conf()).applies_to(a_request_spec(image=None))


def test_more_images_than_are_remembered_are_weighed() -> None:
    """Each for its own hosts."""
    images = [an_image() for _ in range(_IMAGES_MAX + 2)]
    hosts = a_table([a_host(cached_images=[images[0].id]), a_host(cached_images=[images[-1].id])])
    weigher = ImageCacheWeigher(scheduling_conf())
    found = [weigher.host_weights(hosts, a_request_spec(image=each)).tolist() for each in images]
    assert (found[0], found[1], found[-1]) == ([1.0, 0.0], [0.0, 0.0], [0.0, 1.0])
    assert weigher.host_weights(hosts, a_request_spec(image=images[0])).tolist() == [1.0, 0.0]
