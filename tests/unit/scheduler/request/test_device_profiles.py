"""Device profiles in the configuration."""

import json
from typing import Any

import pytest

from armillary import exception
from scheduler.request_filters import accelerators


def a_profile(*groups: Any, name: Any = "fpga") -> str:
    return json.dumps({"name": name, "groups": groups})


def test_a_profile_is_a_list_of_groups() -> None:
    """Amounts may be numbers; keys for others are left out."""
    group = {"resources:FPGA": 2, "trait:CUSTOM_FAST": "required", "accel:bitstream_id": "b"}
    profiles = accelerators.parse(
        [a_profile(group, {"resources:VGPU": "1"}), a_profile({"resources:PGPU": "1"}, name="gpu")]
    )
    assert profiles == {
        "fpga": [{"resources:FPGA": "2", "trait:CUSTOM_FAST": "required"}, {"resources:VGPU": "1"}],
        "gpu": [{"resources:PGPU": "1"}],
    }


def test_groups_have_suffixes_of_their_own() -> None:
    """So each may be served by another provider."""
    groups = [{"resources:FPGA": "1", "trait:CUSTOM_A": "required"}, {"resources:FPGA": "2"}]
    assert accelerators.as_extra_specs(groups) == {
        "resources_device_profile_0:FPGA": "1",
        "trait_device_profile_0:CUSTOM_A": "required",
        "resources_device_profile_1:FPGA": "2",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("fpga", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "object with name and groups"),
        ('{"name": "fpga"}', "object with name and groups"),
        (a_profile({"resources:FPGA": "1"}, name=""), "name must be a non-empty string"),
        (a_profile(), "1 to 64 objects"),
        (a_profile(*[{"resources:FPGA": "1"}] * 65), "1 to 64 objects"),
        (a_profile("FPGA"), "object of extra specs"),
        (a_profile({"FPGA": "1"}), "neither resources:CLASS nor trait:TRAIT"),
        (a_profile({"resources1:FPGA": "1"}), "neither resources:CLASS nor trait:TRAIT"),
        (a_profile({"resources:FPGAS": "1"}), "Unknown resource class FPGAS"),
        (a_profile({"resources:FPGA": "-1"}), "whole number"),
        (a_profile({"resources:FPGA": "1", "trait:CUSTOM_A": "wanted"}), "one of required"),
        (a_profile({"trait:CUSTOM_A": "required"}), "no resources"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_not_a_profile_is_refused_with_its_text(text: str, why: str) -> None:
    """At the start of the scheduler, and not with the first request."""
    with pytest.raises(exception.ConfigurationError, match=why) as caught:
        accelerators.parse([text])
    assert text[:10] in str(caught.value)


def test_a_name_stands_for_one_profile() -> None:
    with pytest.raises(exception.ConfigurationError, match="profile fpga is defined twice"):
        accelerators.parse([a_profile({"resources:FPGA": "1"})] * 2)
