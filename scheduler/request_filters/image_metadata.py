"""Request filter for the device models and architectures that an image needs."""

import logging

from armillary import exception
from objects.images import guest_properties
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements

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

    For the disk of a virtual machine, those of ``objects/images/guest_properties.py`` are always
    required, and what no driver obeys is refused by its name.

    The rest is enabled by ``[scheduler] image_metadata_prefilter``. The properties are
    ``hw_cdrom_bus``, ``hw_disk_bus``, ``hw_video_model``, ``hw_vif_model``, ``hw_architecture``,
    ``hw_emulation_architecture`` and ``hw_viommu_model``. If one of them has a value without a
    matching trait, no traits are required.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if guest_properties.is_virtual_machine(spec.image):
            for problem in guest_properties.problems(spec.flavor, spec.image):
                raise exception.RequestFilterFailed(reason=problem)
            requirements.require(spec, *sorted(guest_properties.traits(spec.flavor, spec.image)))
        if not self._conf.scheduler.image_metadata_prefilter or spec.image is None:
            return
        traits = set()
        for name, prefix in _PREFIXES.items():
            word = spec.image.properties.get(name)
            if not word:
                continue
            trait = requirements.trait_of(prefix, word)
            if trait is None:
                LOG.warning("Image %s: no trait matches %s = %s", spec.image.id, name, word)
                return
            traits.add(trait)
        assert spec.request_level_params is not None
        required = set(spec.request_level_params.root_required)
        requirements.require(spec, *sorted(traits - required))
