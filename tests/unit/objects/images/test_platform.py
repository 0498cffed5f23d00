"""Platforms of images by the names of Nova's and of Glance's documents."""

import pytest

from objects.images import platform


@pytest.mark.parametrize(
    ("properties", "expected"),
    [
        ({}, ("", "", "")),
        ({"architecture": "arm64", "hypervisor_type": "QEMU", "vm_mode": "hvm"},
         ("aarch64", "qemu", "hvm")),
        ({"hw_architecture": "amd64", "img_hv_type": "xapi", "hw_vm_mode": "pv"},
         ("x86_64", "xen", "xen")),
        ({"hw_architecture": "x86_64", "architecture": "arm64"}, ("x86_64", "", "")),
    ],
    ids=["none", "glance", "nova", "both"],
)  # fmt: skip
def test_a_platform_has_two_names(properties: dict[str, str], expected: tuple[str, ...]) -> None:
    """Values have the words that hosts report."""
    found = (
        platform.architecture(properties),
        platform.hypervisor(properties),
        platform.mode(properties),
    )
    assert found == expected
