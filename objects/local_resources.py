"""What an instance asks of the parts of its host: NUMA cells and PCI devices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from objects import numa, pci
from objects.flavor import Flavor
from objects.image_meta import ImageMeta


def local_resources_of(
    flavor: Flavor, image: ImageMeta | None, aliases: Mapping[str, pci.Alias]
) -> dict[str, Any]:
    """Return the fields of a request spec that follow from flavor and image, in their wire form.

    They are ``numa_topology`` and ``pci_requests``; whoever changes the flavor of a request spec
    asks again. ``aliases`` are those of ``[pci] alias``. Raises ``InvalidNUMATopology``.
    """
    topology = numa.topology_of(flavor, image)
    return {
        "numa_topology": None if topology is None else topology.to_plain(),
        "pci_requests": [request.to_plain() for request in pci.requests_of(flavor, image, aliases)],
    }
