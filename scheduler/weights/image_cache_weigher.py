"""Weigher by the images that a host has."""

import functools
import threading
from typing import Any

from oslo_config import cfg

from objects.request_spec import RequestSpec
from scheduler import weights
from scheduler.hosts.derived_columns import Derived, Reports
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

_IMAGES_MAX = 64
"""Maximum number of images whose hosts are cached, at 8 bytes per host each."""


class ImageCacheWeigher(weights.BaseHostWeigher):
    """Prefers hosts that have the requested image; a negative multiplier avoids them.

    Hosts report the images that they used last, up to ``[image_cache] report_images_max`` of the
    agent. The default multiplier 0 disables the weigher, except on hosts of aggregates with the
    metadata ``image_cache_weight_multiplier``.
    """

    host_attributes = ("cached_images",)

    is_host_local = True

    is_steady = True

    multiplier_option = "image_cache_weight_multiplier"

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        self._reports = Reports("cached_images")
        self._lock = threading.Lock()
        self._derived: dict[str, Derived] = {}  # by image id, most recently used last

    def applies_to(self, spec: RequestSpec) -> bool:
        return spec.image is not None

    def host_weight(self, host_state: HostState, spec: RequestSpec) -> float:
        return _has(host_state.cached_images, _image_id(spec))

    def host_weights(self, hosts: HostTable, spec: RequestSpec) -> weights.Numbers:
        image_id = _image_id(spec)
        with self._lock:
            derived = self._derived.pop(image_id, None) or Derived(
                functools.partial(_has, image_id=image_id)
            )
            self._derived[image_id] = derived
            if len(self._derived) > _IMAGES_MAX:
                del self._derived[next(iter(self._derived))]
        return self._reports.numbers(hosts, derived)


def _image_id(spec: RequestSpec) -> str:
    return spec.image.id if spec.image else ""


def _has(images: Any, image_id: str) -> float:
    return 1.0 if images and image_id in images else 0.0
