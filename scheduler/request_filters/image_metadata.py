"""Leave hosts out that cannot emulate what the image wants."""

from __future__ import annotations

import logging

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands

LOG = logging.getLogger(__name__)

_PREFIXES = {
    "hw_cdrom_bus": "COMPUTE_STORAGE_BUS",
    "hw_disk_bus": "COMPUTE_STORAGE_BUS",
    "hw_video_model": "COMPUTE_GRAPHICS_MODEL",
    "hw_vif_model": "COMPUTE_NET_VIF_MODEL",
    "hw_architecture": "HW_ARCH",
    "hw_emulation_architecture": "COMPUTE_ARCH",
    "hw_viommu_model": "COMPUTE_VIOMMU_MODEL",
}


class ImageMetadata(request_filters.BaseRequestFilter):
    """Require the traits of the buses, models and architectures in the image's properties.

    Works when ``[scheduler] image_metadata_prefilter`` is set. The properties are ``hw_cdrom_bus``,
    ``hw_disk_bus``, ``hw_video_model``, ``hw_vif_model``, ``hw_architecture``,
    ``hw_emulation_architecture`` and ``hw_viommu_model``. When one has a value that no trait stands
    for, none is required.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if not self._conf.scheduler.image_metadata_prefilter or spec.image is None:
            return
        traits = set()
        for name, prefix in _PREFIXES.items():
            word = spec.image.properties.get(name)
            if not word:
                continue
            trait = demands.trait_of(prefix, word)
            if trait is None:
                LOG.warning("Image %s: no trait stands for %s = %s", spec.image.id, name, word)
                return
            traits.add(trait)
        demands.require(spec, *sorted(traits))
