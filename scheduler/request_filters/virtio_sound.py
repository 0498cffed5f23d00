"""Request filter for the virtio sound device."""

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements


class VirtioSound(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_SOUND_MODEL_VIRTIO`` if that sound model is requested.

    The request comes from the flavor's ``hw:sound_model`` or the image's ``hw_sound_model``.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if requirements.demand(spec, "hw:sound_model", "hw_sound_model") == "virtio":
            requirements.require(spec, os_traits.COMPUTE_SOUND_MODEL_VIRTIO)
