"""Leave hosts out that cannot emulate a virtio sound device."""

from __future__ import annotations

import os_traits

from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.facts import Facts
from scheduler.request_filters import demands


class VirtioSound(request_filters.BaseRequestFilter):
    """Require ``COMPUTE_SOUND_MODEL_VIRTIO`` when that model is asked for.

    That is by the flavor's ``hw:sound_model`` or the image's ``hw_sound_model``.
    """

    def apply(self, spec: RequestSpec, facts: Facts) -> None:
        if demands.demand(spec, "hw:sound_model", "hw_sound_model") == "virtio":
            demands.require(spec, os_traits.COMPUTE_SOUND_MODEL_VIRTIO)
