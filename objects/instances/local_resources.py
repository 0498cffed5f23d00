"""Local resources that an instance requests of a host: NUMA cells and PCI devices."""

from collections.abc import Mapping

from objects import numa
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from objects.pci import pci


def local_resources_of(
    flavor: Flavor, image: ImageMeta | None, aliases: Mapping[str, pci.Alias]
) -> dict[str, object]:
    """Return the request spec fields derived from flavor and image, in their wire form.

    They are ``numa_topology`` and ``pci_requests``; call it again when the flavor of a request spec
    changes. ``aliases`` are those of ``[pci] alias``. Raises ``InvalidNUMATopology``.
    """
    topology = numa.topology_of(flavor, image)
    return {
        "numa_topology": None if topology is None else topology.to_plain(),
        "pci_requests": [request.to_plain() for request in pci.requests_of(flavor, image, aliases)],
    }
