"""A host must be able to run the image."""

import json
from typing import Any

import pytest

from scheduler.filters.image_properties_filter import ImagePropertiesFilter
from tests.builders import an_image
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf

KVM = ["x86_64", "kvm", "hvm"]
ARM = ["aarch64", "qemu", "hvm"]


def passes(
    properties: dict[str, str] | None, *, default: str | None = None, **reported: Any
) -> bool:
    conf = scheduling_conf(filter_scheduler__image_properties_default_architecture=default)
    each = ImagePropertiesFilter(conf)
    image = None if properties is None else an_image(properties=properties)
    spec = a_request_spec(image=image)
    hosts = a_table([a_host(**{"supported_instances": [KVM, ARM], **reported})])
    passed = each.host_passes(hosts[0], spec)
    assert each.host_mask(hosts, spec).tolist() == [passed]
    if not passed:
        assert each.explain(hosts[0], spec)
    return passed


@pytest.mark.parametrize(
    ("properties", "passed"),
    [
        (None, True),
        ({}, True),
        ({"hw_architecture": "x86_64"}, True),
        ({"hw_architecture": "AMD64"}, True),
        ({"hw_architecture": "ppc64le"}, False),
        ({"img_hv_type": "KVM"}, True),
        ({"img_hv_type": "xen"}, False),
        ({"hw_vm_mode": "hv"}, True),
        ({"hw_vm_mode": "xen"}, False),
        ({"hw_architecture": "arm64", "img_hv_type": "qemu"}, True),
        ({"hw_architecture": "arm64", "img_hv_type": "kvm"}, False),
    ],
    ids=str,
)
def test_one_supported_triple_must_have_all_that_is_asked(
    properties: dict[str, str] | None, passed: bool
) -> None:
    """Under any of the names that are known for it."""
    assert passes(properties) is passed


@pytest.mark.parametrize("reported", [[], None, ["x86_64"], [None]], ids=str)
def test_a_host_that_reports_no_triple_fails(reported: Any) -> None:
    """Unless nothing is asked for."""
    assert not passes({"hw_architecture": "x86_64"}, supported_instances=reported)
    assert passes({}, supported_instances=reported)


def test_an_image_without_architecture_has_the_configured_one() -> None:
    """If there is one."""
    assert passes({}, default="ppc64le") is False
    assert passes(None, default="ppc64le") is False
    assert passes({"hw_architecture": "x86_64"}, default="ppc64le") is True


@pytest.mark.parametrize(
    ("asked", "version", "passed"),
    [
        (">=6.0, <7", 6_002_003, True),
        (">=6.0, <7", 7_000_000, False),
        (">=6.0, <7", 5_999_999, False),
        ("==6.2.3", 6_002_003, True),
        ("!=6.2.3", 6_002_003, False),
        (">6.2", 6_002_000, False),
        ("<=6.2", 6_002_000, True),
        (">=6.0", 0, True),
        ("6.0", 6_000_000, False),
        (">=six", 6_000_000, False),
        (">=6.0,", 6_000_000, False),
        ("", 6_000_000, True),
    ],
)
def test_the_hypervisor_version_must_meet_all_conditions(
    asked: str, version: int, passed: bool
) -> None:
    """A host without a version meets any; a condition that cannot be read is met by none."""
    properties = {"img_hv_type": "kvm", "img_hv_requested_version": asked}
    assert passes(properties, hypervisor_version=version) is passed


@pytest.mark.parametrize(
    ("asked", "cpu_info", "passed"),
    [
        ("42", {"maxphysaddr": {"bits": 42}}, True),
        ("43", {"maxphysaddr": {"bits": 42}}, False),
        ("43", {}, True),
        ("43", [], True),
        ("many", {"maxphysaddr": {"bits": 42}}, False),
        ("43", {"maxphysaddr": {"bits": None}}, False),
    ],
    ids=str,
)
def test_the_host_needs_enough_address_bits(asked: str, cpu_info: Any, passed: bool) -> None:
    """As far as it reports them."""
    properties = {"hw_architecture": "x86_64", "hw_maxphysaddr_bits": asked}
    assert passes(properties, cpu_info=json.dumps(cpu_info)) is passed


def test_version_and_bits_alone_are_not_looked_at() -> None:
    """An image that names neither architecture, type nor mode runs anywhere."""
    properties = {"img_hv_requested_version": ">=99", "hw_maxphysaddr_bits": "999"}
    assert passes(properties, cpu_info='{"maxphysaddr": {"bits": 1}}')
