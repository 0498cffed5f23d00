"""Request filter for the image's disk format."""

import logging

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters import requirements

LOG = logging.getLogger(__name__)


class ImageTypeSupport(request_filters.BaseRequestFilter):
    """Require the trait ``COMPUTE_IMAGE_TYPE_*`` of the image's disk format.

    Enabled by ``[scheduler] query_placement_for_image_type_support``. A format without a matching
    trait does not restrict a request, nor does the image of a server that boots from a volume.
    """

    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        if not self._conf.scheduler.query_placement_for_image_type_support:
            return
        if spec.is_bfv or spec.image is None or not spec.image.disk_format:
            return
        trait = requirements.trait_of("COMPUTE_IMAGE_TYPE", spec.image.disk_format)
        if trait is None:
            LOG.warning("No trait matches the disk format %s", spec.image.disk_format)
            return
        requirements.require(spec, trait)
