"""Request groups for PCI devices, one per device, if placement tracks devices."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import os_traits

from armillary import exception
from objects.pci import pci_names
from objects.pci.pci import PciRequest
from objects.request_spec import RequestSpec

Group = tuple[str, str, set[str]]
"""Suffix, resource class, and required traits of the provider."""

_OWNERS = frozenset((os_traits.OWNER_NOVA,))


def groups_of(spec: RequestSpec) -> Iterator[Group]:
    """Yield a group for each requested device.

    Its class is the ``resource_class`` of the alias, or derived from vendor and product. Its suffix
    is the request's id and the number of the device. If the request filters require an owner trait
    of the root, the device providers need it, too. Raises ``RequestFilterFailed`` for an alias that
    does not map to a single class.
    """
    owners = _OWNERS.intersection(_root_required(spec))
    for place, plain in enumerate(spec.pci_requests):
        request = _read(plain)
        resource_class, traits = _asked(request)
        for number in range(request.count):
            yield f"{request.request_id or place}-{number}", resource_class, traits | owners


def _root_required(spec: RequestSpec) -> list[str]:
    return spec.request_level_params.root_required if spec.request_level_params else []


def _read(plain: Mapping[str, Any]) -> PciRequest:
    try:
        return PciRequest.from_plain(plain)
    except (KeyError, TypeError, ValueError) as error:
        raise exception.RequestFilterFailed(
            reason=f"invalid request for PCI devices: {error}"
        ) from error


def _asked(request: PciRequest) -> tuple[str, set[str]]:
    found = {(_class_of(device), _traits_of(device)) for device in request.spec}
    if len(found) == 1:
        ((resource_class, traits),) = found
        if resource_class is not None:
            return resource_class, set(traits)
    what = "several kinds of devices" if len(found) > 1 else "no kind of device"
    raise exception.RequestFilterFailed(
        reason=f"the PCI alias {request.alias_name} names {what}, but a placement query needs "
        "exactly one kind; give all its entries in [pci] alias the same resource_class and "
        "traits, or the same vendor_id and product_id"
    )


def _class_of(device: Mapping[str, Any]) -> str | None:
    if name := device.get("resource_class"):
        return pci_names.resource_class(name)
    if not (device.get("vendor_id") and device.get("product_id")):
        return None
    return pci_names.resource_class_of(device["vendor_id"], device["product_id"])


def _traits_of(device: Mapping[str, Any]) -> frozenset[str]:
    return pci_names.traits(device.get("traits") or "")
