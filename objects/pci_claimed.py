"""Requests for PCI devices as a host's agent has to read them once placement has chosen cards.

A claim names the providers that devices are taken from. The agent, which sees no placement, is told
of them in the requests: ``rp_uuid`` in each dict of ``spec``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from objects import pci_names

AllocationRequest = Mapping[str, Mapping[str, Mapping[str, int]]]
PROVIDER_KEY = "rp_uuid"


def with_providers(
    requests: Sequence[Mapping[str, Any]], allocations: AllocationRequest
) -> list[dict[str, Any]]:
    """Return wire forms of requests that name the providers of a claim.

    One of which the claim takes nothing stays as it is: placement does not count such devices. One
    for devices of several cards becomes several, so many of each as the claim takes; only where
    requests of one class differ in what else they ask each may have devices of any of the cards.
    """
    left = {provider: dict(allocation["resources"]) for provider, allocation in allocations.items()}
    kinds: dict[str, set[str]] = {}
    for request in requests:
        kinds.setdefault(_class_of(request) or "", set()).add(_what_else(request))
    found: list[dict[str, Any]] = []
    for request in requests:
        name = _class_of(request)
        cards = [provider for provider, amounts in left.items() if name in amounts]
        if name is None or not cards:
            found.append(dict(request))
        elif len(kinds[name]) > 1:
            found.append(_named(request, int(request["count"]), cards))
        else:
            found += _split(request, name, left)
    return found


def names_providers(request_spec: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether a request's spec says which cards its devices are taken from."""
    return any(PROVIDER_KEY in one for one in request_spec)


def _split(
    request: Mapping[str, Any], name: str, left: Mapping[str, dict[str, int]]
) -> list[dict[str, Any]]:
    wanted, found = int(request["count"]), []
    for provider, amounts in left.items():
        count = min(wanted, amounts.get(name, 0))
        if count:
            amounts[name] -= count
            wanted -= count
            found.append(_named(request, count, [provider]))
    if wanted:  # the claim has less than was asked for: let the agent say so
        found.append(_named(request, wanted, [each for each in left if name in left[each]]))
    return found


def _named(request: Mapping[str, Any], count: int, cards: Sequence[str]) -> dict[str, Any]:
    spec = [{**one, PROVIDER_KEY: card} for card in cards for one in request["spec"]]
    return {**request, "count": count, "spec": spec}


def _class_of(request: Mapping[str, Any]) -> str | None:
    """Return the class that placement was asked for, None when no single one stands for it."""
    found = {_class_of_device(one) for one in request["spec"]}
    return found.pop() if len(found) == 1 else None


def _class_of_device(device: Mapping[str, Any]) -> str | None:
    if device.get("resource_class"):
        return pci_names.resource_class(device["resource_class"])
    if not (device.get("vendor_id") and device.get("product_id")):
        return None
    return pci_names.resource_class_of(device["vendor_id"], device["product_id"])


def _what_else(request: Mapping[str, Any]) -> str:
    return json.dumps([request["spec"], request.get("numa_policy")], sort_keys=True)
