"""``[pci] device_spec``: selection and attributes of PCI devices for workloads."""

import dataclasses
import fnmatch
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Self

from armillary import exception
from compute_agent.host.pci_devices import PciDevice
from objects.pci import pci_names

_KEYS = (
    "vendor_id", "product_id", "address", "physical_network", "tags", "resource_class", "traits",
)  # fmt: skip
_ID = re.compile(r"[0-9a-f]{4}")
_ADDRESS = re.compile(r"[0-9a-fA-F:.*?\[\]!-]{1,64}")
_EXAMPLE = '{"vendor_id": "8086", "product_id": "10ed", "address": "0000:06:*"}'


@dataclasses.dataclass(frozen=True, slots=True)
class DeviceSpec:
    """One entry: criteria for devices (None matches any), and attributes to set on them."""

    vendor_id: str | None = None
    product_id: str | None = None
    address: str | None = None
    physical_network: str | None = None
    tags: Mapping[str, str] = dataclasses.field(default_factory=dict)
    resource_class: str | None = None
    traits: frozenset[str] = frozenset()

    @classmethod
    def parse_all(cls, texts: Iterable[str]) -> tuple[Self, ...]:
        """Parse JSON objects, and lists of them. Raises ConfigurationError with the text."""
        return tuple(cls._of(given, text) for text in texts for given in _objects(text))

    @classmethod
    def _of(cls, given: Any, text: str) -> Self:
        if not isinstance(given, dict) or not given:
            raise _wrong(text, "must be a non-empty JSON object, or a list of them")
        unknown = sorted(given.keys() - set(_KEYS))
        if unknown:
            raise _wrong(text, f"{', '.join(unknown)} is not one of {', '.join(_KEYS)}")
        tags = given.get("tags", {})
        if not isinstance(tags, dict) or not all(isinstance(v, str) for v in tags.values()):
            raise _wrong(text, "tags must be a JSON object of strings")
        return cls(
            vendor_id=_id(text, given, "vendor_id"),
            product_id=_id(text, given, "product_id"),
            address=_address(text, given),
            physical_network=_name(text, given, "physical_network"),
            tags=tags,
            resource_class=_resource_class(text, given),
            traits=_traits(text, given),
        )

    def picks(self, device: PciDevice) -> bool:
        return (
            self.vendor_id in (None, device.vendor_id)
            and self.product_id in (None, device.product_id)
            and (self.address is None or fnmatch.fnmatchcase(device.address, self.address))
        )


def pick(devices: Iterable[PciDevice], specs: Iterable[DeviceSpec]) -> tuple[PciDevice, ...]:
    """Return the matching devices, with the attributes of the first entry that matches each."""
    lines = tuple(specs)
    found = []
    for device in devices:
        spec = next((line for line in lines if line.picks(device)), None)
        if spec is not None:
            found.append(
                dataclasses.replace(
                    device,
                    physical_network=spec.physical_network,
                    tags=dict(spec.tags),
                    resource_class=spec.resource_class,
                    traits=spec.traits,
                )
            )
    return tuple(found)


def _objects(text: str) -> list[Any]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(text, f"not valid JSON ({error})") from error
    return given if isinstance(given, list) else [given]


def _id(text: str, given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value in (None, "*"):
        return None
    if not isinstance(value, str) or not _ID.fullmatch(value.lower().removeprefix("0x")):
        raise _wrong(text, f"{key} must be four hexadecimal digits, or *")
    return value.lower().removeprefix("0x")


def _address(text: str, given: Mapping[str, Any]) -> str | None:
    value = given.get("address")
    if value is None:
        return None
    if not isinstance(value, str) or not _ADDRESS.fullmatch(value):
        raise _wrong(text, "address must be like 0000:06:00.1, with * and ? as in a shell")
    return value.lower()


def _name(text: str, given: Mapping[str, Any], key: str) -> str | None:
    value = given.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise _wrong(text, f"{key} must be a non-empty string")
    return value


def _resource_class(text: str, given: Mapping[str, Any]) -> str | None:
    name = _name(text, given, "resource_class")
    if name is None:
        return None
    return _checked(text, "resource_class", pci_names.resource_class(name))


def _traits(text: str, given: Mapping[str, Any]) -> frozenset[str]:
    names = pci_names.traits(_name(text, given, "traits") or "")
    return frozenset(_checked(text, "traits", name) for name in names)


def _checked(text: str, key: str, name: str) -> str:
    if len(name) > pci_names.NAME_LENGTH_MAX:
        raise _wrong(text, f"{key}: a name has at most {pci_names.NAME_LENGTH_MAX} characters")
    return name


def _wrong(text: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(
        reason=f"[pci] device_spec '{text}': {why}; expected for example {_EXAMPLE}"
    )
