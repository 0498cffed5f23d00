"""Optional devices of guests: sound cards and packed virtqueues, asked for and offered."""

import os_traits
import pytest

from compute_agent.virt.libvirt.domain import xml_text
from compute_agent.virt.libvirt.domain.guest_devices import (
    DeviceSupport,
    GuestDevices,
    reported_models,
)
from tests import builders


def asked(extra_specs: dict[str, str], properties: dict[str, str]) -> GuestDevices:
    flavor = builders.a_flavor(extra_specs=extra_specs)
    image = builders.an_image(properties=properties)
    return GuestDevices.of(builders.an_instance(flavor=flavor, image=image))


def offered(arch: str, libvirt: int, qemu: int, *, has_network: bool = True) -> set[str]:
    return {*DeviceSupport(arch, libvirt, qemu, has_network).traits()}


def test_a_guest_has_what_flavor_or_image_ask_for() -> None:
    """The flavor's word counts; an instance without either has neither device."""
    assert asked({}, {}) == GuestDevices()
    wanted = {"hw_sound_model": "ich9", "hw_virtio_packed_ring": "true"}
    assert asked({}, wanted) == GuestDevices("ich9", has_packed_ring=True)
    assert asked({"hw:sound_model": "virtio"}, wanted).sound_model == "virtio"
    assert not asked({"hw:virtio_packed_ring": "false"}, wanted).has_packed_ring


def test_an_unknown_model_counts_as_none() -> None:
    """Requests for one are refused by its name."""
    assert asked({"hw:sound_model": "gramophone"}, {}) == GuestDevices()


def test_a_host_offers_what_libvirt_and_qemu_have() -> None:
    """By standard names; both must be new enough."""
    new = offered("x86_64", 10_004_000, 8_002_000)
    assert {"COMPUTE_SOUND_MODEL_VIRTIO", "COMPUTE_NET_VIRTIO_PACKED"} <= new
    assert new <= set(os_traits.get_traits())
    for libvirt, qemu in ((10_003_000, 8_002_000), (10_004_000, 8_001_000)):
        assert "COMPUTE_SOUND_MODEL_VIRTIO" not in offered("x86_64", libvirt, qemu)
    assert "COMPUTE_NET_VIRTIO_PACKED" not in offered("x86_64", 6_002_000, 4_002_000)
    assert offered("aarch64", 9_000_000, 7_000_000, has_network=False) == set()


@pytest.mark.parametrize(
    ("devices", "models"),
    [
        (
            "<sound supported='yes'><enum name='model'><value>ich9</value><value>virtio</value>"
            "<value>gramophone</value></enum></sound>",
            {"ich9", "virtio"},
        ),
        ("<sound supported='no'/>", set()),
        ("<video supported='yes'/>", {"ac97", "es1370", "ich6", "ich9", "pcspk", "sb16", "usb"}),
    ],
    ids=["some", "none", "not-reported"],
)
def test_sound_models_are_those_that_libvirt_reports(devices: str, models: set[str]) -> None:
    """Whatever the versions; an older libvirt does not report them, and the versions decide."""
    text = f"<domainCapabilities><devices>{devices}</devices></domainCapabilities>"
    reported = reported_models(xml_text.parse(text), "sound")
    support = DeviceSupport(
        "x86_64", 6_000_000, 4_000_000, has_network=True, reported_sound=reported
    )
    assert set(support.sound_models()) == models
