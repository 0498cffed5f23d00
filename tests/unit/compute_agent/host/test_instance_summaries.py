"""Image properties that are reported, and those that are not."""

from compute_agent.host.instance_summaries import (
    PAIR_CHARS_MAX,
    PAIRS_PER_HOST_MAX,
    image_pairs,
    most_frequent,
)
from tests import builders


def test_an_image_s_properties_become_pairs() -> None:
    """In one order, whatever order they were given in."""
    image = builders.an_image(properties={"os_type": "linux", "hw_machine": "q35"})
    assert image_pairs(image) == ["hw_machine=q35", "os_type=linux"]


def test_an_instance_without_an_image_has_none() -> None:
    """It is not refused for it."""
    assert image_pairs(None) == []


def test_what_a_workload_runs_is_not_told() -> None:
    """Command and environment may hold secrets; long values are left out, too."""
    image = builders.an_image(
        properties={
            "process_command": "serve --key hunter2",
            "process_environment": '{"KEY": "hunter2"}',
            "licence": "x" * PAIR_CHARS_MAX,
            "os_type": "linux",
        }
    )
    assert image_pairs(image) == ["os_type=linux"]


def test_the_most_frequent_pairs_are_kept() -> None:
    """A host of very many images does not fill the messages."""
    rare = [f"rare={number:04d}" for number in range(PAIRS_PER_HOST_MAX)]
    counts = most_frequent([*rare, "often=1", "often=1"])
    assert len(counts) == PAIRS_PER_HOST_MAX
    assert counts["often=1"] == 2
    assert rare[-1] not in counts
