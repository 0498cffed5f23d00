"""Instances of similar images come together, or not."""

from typing import Any

import pytest

from scheduler.weights.image_properties_weigher import ImagePropertiesWeigher
from scheduler.weights.ranking import raw_weights
from tests.builders import an_aggregate, an_image
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata

COUNTS = {"os_distro=ubuntu": 3, "os_distro=debian": 5, "hw_machine_type=q35": 2, "x=1": 9}
WANTED = {"os_distro": "ubuntu", "hw_machine_type": "q35", "y": "1"}


def a_weigher(*setting: str, multiplier: float = 1.0) -> ImagePropertiesWeigher:
    return ImagePropertiesWeigher(
        scheduling_conf(
            filter_scheduler__image_props_weight_setting=[*setting],
            filter_scheduler__image_props_weight_multiplier=multiplier,
        )
    )


@pytest.mark.parametrize(
    ("setting", "weight"),
    [
        ([], 5.0),
        (["os_distro=2"], 6.0),
        (["os_distro=2", "hw_machine_type=-0.5"], 5.0),
        (["x=4"], 0.0),  # the image has none
        (["y=4"], 0.0),  # no instance here has it
        (["nonsense"], 5.0),
    ],
)
def test_instances_with_the_same_properties_are_counted(setting: list[str], weight: float) -> None:
    """Each property counts 1, or what the setting says, and then no other."""
    state = a_table([a_host(instance_image_properties=COUNTS)])[0]
    spec = a_request_spec(image=an_image(properties=WANTED))
    assert a_weigher(*setting).host_weight(state, spec) == weight


@pytest.mark.parametrize("counts", [None, {}])
def test_an_empty_host_weighs_nothing(counts: Any) -> None:
    """Neither does one of which nothing is known."""
    state = a_table([a_host(instance_image_properties=counts)])[0]
    spec = a_request_spec(image=an_image(properties=WANTED))
    assert a_weigher().host_weight(state, spec) == 0.0


@pytest.mark.parametrize("image", [None, an_image()], ids=["none", "without properties"])
def test_an_image_that_says_nothing_is_not_weighed(image: Any) -> None:
    """No host can differ."""
    assert not a_weigher().applies_to(a_request_spec(image=image))


@pytest.mark.parametrize(("option", "weights"), [(0.0, []), (1.0, [[3.0]]), (-1.0, [[3.0]])])
def test_option_0_turns_it_off_whatever_aggregates_say(
    option: float, weights: list[list[float]]
) -> None:
    """Another number they override."""
    aggregate = an_aggregate(hosts=["host1"], metadata={"image_props_weight_multiplier": "3"})
    hosts = a_table([a_host()], cluster_metadata=some_cluster_metadata([aggregate]))
    spec = a_request_spec(image=an_image(properties=WANTED))
    found = raw_weights([a_weigher(multiplier=option)], hosts, spec)
    assert found.multipliers.T.tolist() == weights
