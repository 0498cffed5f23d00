"""What flavors and images say in the same words: one asks in the other's place."""

from __future__ import annotations

import os_traits
from oslo_utils import strutils

from objects.request_spec import RequestSpec


def demand(spec: RequestSpec, extra_spec: str, image_property: str) -> str | None:
    """Return what the flavor's extra spec says, or else the image's property; None for nothing."""
    text = spec.flavor.extra_specs.get(extra_spec)
    if text is None and spec.image is not None:
        text = spec.image.properties.get(image_property)
    return text or None


def is_demanded(spec: RequestSpec, extra_spec: str, image_property: str) -> bool:
    """Tell whether flavor or image say yes; what is neither yes nor no is no."""
    text = demand(spec, extra_spec, image_property)
    return bool(strutils.bool_from_string(text, default=False))


def trait_of(prefix: str, word: str) -> str | None:
    """Return the standard trait for a word, such as ``virtio``; None when there is none."""
    name = f"{prefix}_{word.strip().upper().replace('-', '_')}"
    return name if name in os_traits.get_traits(prefix) else None


def require(spec: RequestSpec, *traits: str) -> None:
    """Ask for a provider whose root has these traits."""
    assert spec.request_level_params is not None
    spec.request_level_params.root_required.extend(traits)
