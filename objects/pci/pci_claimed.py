"""PCI requests for a host's agent, with the resource providers that placement chose.

A claim names the providers that devices are taken from. The agent does not see placement, so the
requests name the providers: ``rp_uuid`` in each dict of ``spec``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from objects.pci import pci_names
from objects.pci.pci import PciRequest

AllocationRequest = Mapping[str, Mapping[str, Mapping[str, int]]]
PROVIDER_KEY = "rp_uuid"


def with_providers(
    requests: Sequence[PciRequest], allocations: AllocationRequest
) -> list[PciRequest]:
    """Return requests that name the providers of a claim.

    A request for which the claim has no allocation is unchanged: placement does not track such
    devices. A request served by several providers is split by the amounts of the claim. If requests
    of one class differ otherwise, each may use devices of any of the providers.
    """
    left = {provider: dict(allocation["resources"]) for provider, allocation in allocations.items()}
    kinds: dict[str, set[str]] = {}
    for request in requests:
        kinds.setdefault(_class_of(request) or "", set()).add(_what_else(request))
    found: list[PciRequest] = []
    for request in requests:
        name = _class_of(request)
        cards = [provider for provider, amounts in left.items() if name in amounts]
        if name is None or not cards:
            found.append(request)
        elif len(kinds[name]) > 1:
            found.append(_named(request, request.count, cards))
        else:
            found += _split(request, name, left)
    return found


def names_providers(request_spec: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a request's spec names the providers of its devices."""
    return any(PROVIDER_KEY in one for one in request_spec)


def _split(request: PciRequest, name: str, left: Mapping[str, dict[str, int]]) -> list[PciRequest]:
    wanted, found = request.count, []
    for provider, amounts in left.items():
        count = min(wanted, amounts.get(name, 0))
        if count:
            amounts[name] -= count
            wanted -= count
            found.append(_named(request, count, [provider]))
    if wanted:  # the claim has too few devices; the agent will report it
        found.append(_named(request, wanted, [each for each in left if name in left[each]]))
    return found


def _named(request: PciRequest, count: int, cards: Sequence[str]) -> PciRequest:
    spec = [{**one, PROVIDER_KEY: card} for card in cards for one in request.spec]
    return replace(request, count=count, spec=spec)


def _class_of(request: PciRequest) -> str | None:
    """Return the resource class that placement was asked for, None if it is ambiguous."""
    found = {_class_of_device(one) for one in request.spec}
    return found.pop() if len(found) == 1 else None


def _class_of_device(device: Mapping[str, Any]) -> str | None:
    if device.get("resource_class"):
        return pci_names.resource_class(device["resource_class"])
    if not (device.get("vendor_id") and device.get("product_id")):
        return None
    return pci_names.resource_class_of(device["vendor_id"], device["product_id"])


def _what_else(request: PciRequest) -> str:
    return json.dumps([list(request.spec), request.numa_policy], sort_keys=True)
