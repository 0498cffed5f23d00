"""Leave hosts out that cannot run the image's disk format."""

from __future__ import annotations

import logging

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands

LOG = logging.getLogger(__name__)


class ImageTypeSupport(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_IMAGE_TYPE_`` and the image's disk format.

    Works when ``[scheduler] query_placement_for_image_type_support`` is set. A format that no trait
    stands for is no restriction, and neither is the image of a server that boots from a volume.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if not self._conf.scheduler.query_placement_for_image_type_support:
            return
        if spec.is_bfv or spec.image is None or not spec.image.disk_format:
            return
        trait = demands.trait_of("COMPUTE_IMAGE_TYPE", spec.image.disk_format)
        if trait is None:
            LOG.warning("No trait stands for the disk format %s", spec.image.disk_format)
            return
        demands.require(spec, trait)
