"""``[pci] device_spec``: what it picks, and how a mistake is told."""

import pytest

from armillary import exception
from compute_agent.host.pci_devices import PciDevice
from compute_agent.virt.machine.device_spec import DeviceSpec, pick

DEVICES = (
    PciDevice("0000:03:00.0", "10de", "1db4"),
    PciDevice("0000:06:10.0", "8086", "10ed", "type-VF"),
    PciDevice("0000:06:10.1", "8086", "10ed", "type-VF"),
    PciDevice("0000:0a:10.0", "8086", "10ed", "type-VF"),
)


def picked(*lines: str) -> list[str]:
    return [device.address[5:] for device in pick(DEVICES, DeviceSpec.parse_all(lines))]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"vendor_id": "10de"}', ["03:00.0"]),
        ('{"vendor_id": "10DE", "product_id": "*"}', ["03:00.0"]),
        ('{"vendor_id": "8086", "product_id": "10ed"}', ["06:10.0", "06:10.1", "0a:10.0"]),
        ('{"vendor_id": "10de", "product_id": "10ed"}', []),
        ('{"address": "0000:06:*"}', ["06:10.0", "06:10.1"]),
        ('{"address": "*:10.0", "vendor_id": "8086"}', ["06:10.0", "0a:10.0"]),
        ('{"address": "0000:0A:10.0"}', ["0a:10.0"]),
        ('{"vendor_id": "*"}', ["03:00.0", "06:10.0", "06:10.1", "0a:10.0"]),
        ('[{"vendor_id": "10de"}, {"address": "*:0a:*"}]', ["03:00.0", "0a:10.0"]),
        ("[]", []),
    ],
)
def test_a_line_picks_by_ids_and_address(line: str, expected: list[str]) -> None:
    """What is left out matches any device."""
    assert picked(line) == expected


def test_no_line_picks_nothing() -> None:
    """Devices are the host's own until the operator gives them away."""
    assert picked() == []


def test_the_first_line_that_matches_says_what_the_device_is() -> None:
    """Network and tags; a device is picked once."""
    specs = DeviceSpec.parse_all(
        [
            '{"address": "0000:06:10.1", "physical_network": "lab"}',
            '{"vendor_id": "8086", "tags": {"trusted": "true"}}',
        ]
    )
    first, second, third = pick(DEVICES, specs)
    assert (second.physical_network, dict(second.tags)) == ("lab", {})
    for device in (first, third):
        assert (device.physical_network, dict(device.tags)) == (None, {"trusted": "true"})


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("vendor_id=8086", "not valid JSON"),
        ("[{}]", "must be a non-empty JSON object"),
        ("{}", "must be a non-empty JSON object"),
        ('{"vendor": "8086"}', "vendor is not one of vendor_id, product_id"),
        ('{"vendor_id": 8086}', "vendor_id must be four hexadecimal digits, or"),
        ('{"product_id": "10e"}', "product_id must be four hexadecimal digits, or"),
        ('{"address": "the card"}', "address must be like 0000:06:00.1"),
        ('{"physical_network": ""}', "physical_network must be a non-empty string"),
        ('{"tags": {"a": 1}}', "tags must be a JSON object of strings"),
    ],
)
def test_a_mistake_is_told_with_what_was_written(line: str, why: str) -> None:
    """One sentence: option, line, what is wrong with it, an example."""
    with pytest.raises(exception.ConfigurationError) as caught:
        DeviceSpec.parse_all([line])
    text = str(caught.value)
    assert why in text
    assert f"[pci] device_spec '{line}'" in text
    assert "expected for example" in text


def test_a_line_says_what_placement_calls_a_device() -> None:
    """In upper case, and custom where there is no such standard name; else nothing is said."""
    line = '{"resource_class": "vGPU", "traits": "hw_pci_live_migratable, fast-1"}'
    device = pick(DEVICES, DeviceSpec.parse_all([line]))[0]
    assert device.resource_class == "VGPU"
    assert device.traits == {"HW_PCI_LIVE_MIGRATABLE", "CUSTOM_FAST_1"}
    device = pick(DEVICES, DeviceSpec.parse_all(['{"resource_class": "nic"}']))[0]
    assert (device.resource_class, device.traits) == ("CUSTOM_NIC", frozenset())
    device = pick(DEVICES, DeviceSpec.parse_all(['{"vendor_id": "*", "address": "*"}']))[0]
    assert (device.resource_class, device.traits) == (None, frozenset())


@pytest.mark.parametrize(
    "line",
    ['{"resource_class": 1}', '{"traits": ["A"]}', f'{{"resource_class": "{"x" * 249}"}}'],
    ids=["number", "list", "long"],
)
def test_a_name_for_placement_is_a_text_that_it_takes(line: str) -> None:
    """Of 255 characters with its prefix."""
    with pytest.raises(exception.ConfigurationError, match=r"resource_class|traits"):
        DeviceSpec.parse_all([line])
