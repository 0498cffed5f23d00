"""Image properties become traits of the root provider, where operators want that."""

import logging
from typing import Any

import pytest

from armillary import exception
from scheduler import request_filters
from scheduler.request_filters import BaseRequestFilter
from scheduler.request_filters.image_metadata import ImageMetadata
from scheduler.request_filters.image_type_support import ImageTypeSupport
from tests.builders import an_image
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata


def required(each: type[BaseRequestFilter], *, is_on: bool = True, **image: Any) -> list[str]:
    conf = scheduling_conf(
        scheduler__query_placement_for_image_type_support=is_on,
        scheduler__image_metadata_prefilter=is_on,
    )
    spec = a_request_spec(image=an_image(**image) if image else None)
    request_filters.apply_all([each(conf)], spec, some_cluster_metadata())
    assert spec.request_level_params is not None
    return spec.request_level_params.root_required


def test_the_disk_format_is_required() -> None:
    """Of requests with an image, where operators want that."""
    assert required(ImageTypeSupport, disk_format="qcow2") == ["COMPUTE_IMAGE_TYPE_QCOW2"]
    assert required(ImageTypeSupport, disk_format="qcow2", is_on=False) == []
    assert required(ImageTypeSupport, disk_format=None) == []
    assert required(ImageTypeSupport) == []


def test_an_image_in_a_volume_is_not_a_restriction() -> None:
    """The host does not read it."""
    conf = scheduling_conf(scheduler__query_placement_for_image_type_support=True)
    spec = a_request_spec(image=an_image(disk_format="qcow2"), is_bfv=True)
    request_filters.apply_all([ImageTypeSupport(conf)], spec, some_cluster_metadata())
    assert spec.request_level_params is not None
    assert spec.request_level_params.root_required == []


def test_a_disk_format_without_a_trait_is_not_a_restriction(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        assert required(ImageTypeSupport, disk_format="floppy") == []
    assert "disk format floppy" in caplog.text


def test_buses_models_and_architectures_are_required() -> None:
    """Upper case, with underscores; each once."""
    properties = {
        "hw_disk_bus": "virtio",
        "hw_cdrom_bus": "virtio",
        "hw_video_model": "vga",
        "hw_vif_model": "virtio",
        "hw_architecture": "x86_64",
        "hw_viommu_model": "smmuv3",
        "os_type": "linux",
    }
    assert required(ImageMetadata, properties=properties) == [
        "COMPUTE_GRAPHICS_MODEL_VGA",
        "COMPUTE_NET_VIF_MODEL_VIRTIO",
        "COMPUTE_STORAGE_BUS_VIRTIO",
        "COMPUTE_VIOMMU_MODEL_SMMUV3",
        "HW_ARCH_X86_64",
    ]
    assert required(ImageMetadata, properties=properties, is_on=False) == []


def test_one_word_without_a_trait_leaves_all_out(caplog: pytest.LogCaptureFixture) -> None:
    """What one of them means is unknown, so nothing is required; the log names it."""
    properties = {"hw_disk_bus": "virtio", "hw_vif_model": "carrier-pigeon"}
    with caplog.at_level(logging.WARNING):
        assert required(ImageMetadata, properties=properties) == []
    assert "hw_vif_model = carrier-pigeon" in caplog.text


def test_a_virtual_machines_hardware_is_required_whatever_operators_want() -> None:
    """Of disks alone: other images say nothing of hardware."""
    properties = {"hw_firmware_type": "uefi", "hw_vif_model": "e1000e"}
    wanted = ["COMPUTE_FIRMWARE_UEFI", "COMPUTE_NET_VIF_MODEL_E1000E"]
    disk = {"disk_format": "raw", "properties": properties}
    assert sorted(required(ImageMetadata, is_on=False, **disk)) == wanted
    file = {"disk_format": None, "properties": {**properties, "libvirt_disk_file": "a.raw"}}
    assert sorted(required(ImageMetadata, is_on=False, **file)) == wanted
    other = {"disk_format": None, "properties": properties}
    assert required(ImageMetadata, is_on=False, **other) == []
    process = {"disk_format": "raw", "properties": {**properties, "img_hv_type": "process"}}
    assert required(ImageMetadata, is_on=False, **process) == []


def test_what_no_driver_obeys_is_refused_by_its_name() -> None:
    """Before a host is chosen."""
    disk = {"disk_format": "raw", "properties": {"hw_boot_menu": "true"}}
    with pytest.raises(exception.RequestFilterFailed, match="property hw_boot_menu is not"):
        required(ImageMetadata, is_on=False, **disk)
