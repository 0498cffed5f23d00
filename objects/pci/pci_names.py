"""Resource classes and traits of PCI devices in placement, from configured names."""

import re

from objects.extra_specs import extra_specs

CUSTOM_PREFIX = "CUSTOM_"
NAME_LENGTH_MAX = 255
_NOT_IN_NAMES = re.compile(r"[^A-Z0-9_]")


def resource_class(name: str) -> str:
    """Return the resource class of a name: upper case, and custom unless it is a standard one."""
    name = _as_name(name)
    return name if extra_specs.is_resource_class(name) else _custom(name)


def resource_class_of(vendor_id: str, product_id: str) -> str:
    """Return the default resource class of devices."""
    return _custom(f"PCI_{vendor_id}_{product_id}")


def traits(names: str) -> frozenset[str]:
    """Return the traits in a list separated by commas."""
    found = (_as_name(name) for name in names.split(",") if name.strip())
    return frozenset(name if extra_specs.is_trait(name) else _custom(name) for name in found)


def _custom(name: str) -> str:
    name = _as_name(name)
    return name if name.startswith(CUSTOM_PREFIX) else f"{CUSTOM_PREFIX}{name}"


def _as_name(name: str) -> str:
    return _NOT_IN_NAMES.sub("_", name.strip().upper())
