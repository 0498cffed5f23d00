"""Requirements that may come from a flavor's extra spec or an image's property."""

import os_traits
from oslo_utils import strutils

from objects.request_spec import RequestSpec


def demand(spec: RequestSpec, extra_spec: str, image_property: str) -> str | None:
    """Return the flavor's extra spec, or else the image's property; None if neither is set."""
    text = spec.flavor.extra_specs.get(extra_spec)
    if text is None and spec.image is not None:
        text = spec.image.properties.get(image_property)
    return text or None


def is_demanded(spec: RequestSpec, extra_spec: str, image_property: str) -> bool:
    """Return whether the flavor or the image says yes; an invalid boolean counts as no."""
    text = demand(spec, extra_spec, image_property)
    return bool(strutils.bool_from_string(text, default=False))


def trait_of(prefix: str, word: str) -> str | None:
    """Return the standard trait for a word, such as ``virtio``; None if there is none."""
    name = f"{prefix}_{word.strip().upper().replace('-', '_')}"
    return name if name in os_traits.get_traits(prefix) else None


def require(spec: RequestSpec, *traits: str) -> None:
    """Require a provider whose root has these traits."""
    assert spec.request_level_params is not None
    spec.request_level_params.root_required.extend(traits)
