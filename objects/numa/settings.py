"""NUMA settings of flavor and image: ``hw:cpu_policy`` and ``hw_cpu_policy`` are one setting."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from armillary import exception
from objects.flavor import Flavor
from objects.image_meta import ImageMeta


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """The value of a setting, None if it is not set, with its key and source."""

    text: str | None
    key: str
    source: str

    def refused(self, allowed: str) -> exception.InvalidNUMATopology:
        """Return an error that names the allowed values."""
        found = "missing" if self.text is None else f"'{self.text[:200]}'"
        return exception.InvalidNUMATopology(
            key=self.key, source=self.source, found=found, allowed=allowed
        )

    def one_of(self, words: Collection[str]) -> Setting:
        """Return self. Raises ``InvalidNUMATopology`` unless the value is one of the words."""
        if self.text is not None and self.text not in words:
            raise self.refused(", ".join(words))
        return self

    def number(self, largest: int, what: str) -> int | None:
        """Return the value as a number from 1. Raises ``InvalidNUMATopology`` otherwise."""
        if self.text is None:
            return None
        digits = self.text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            raise self.refused(what)
        if not 1 <= (number := int(digits)) <= largest:
            raise self.refused(what)
        return number


class Settings:
    """Settings of a flavor and an image, by the flavor's key without ``hw:``."""

    def __init__(self, flavor: Flavor, image: ImageMeta | None) -> None:
        self.flavor = flavor
        self._properties = {} if image is None else image.properties
        self._image_source = "" if image is None else f"image {image.name}"

    def of_flavor(self, name: str) -> Setting:
        """Return the flavor's setting."""
        key = f"hw:{name}"
        return Setting(self.flavor.extra_specs.get(key), key, f"flavor {self.flavor.name}")

    def of_image(self, name: str) -> Setting:
        """Return the image's setting."""
        key = f"hw_{name}"
        return Setting(self._properties.get(key), key, self._image_source)

    def of_flavor_or_image(self, name: str) -> Setting:
        """Return the flavor's setting, or else the image's. Raises if they differ."""
        flavor, image = self.of_flavor(name), self.of_image(name)
        if flavor.text is None:
            return flavor if image.text is None else image
        if image.text not in (None, flavor.text):
            raise image.refused(f"'{flavor.text}', as in {flavor.key} of {flavor.source}")
        return flavor

    def numbered(self, name: str) -> dict[str, Setting]:
        """Return the settings ``name.N`` by N, as it is written."""
        texts = {
            key.rpartition(".")[2]
            for texts, prefix in ((self.flavor.extra_specs, "hw:"), (self._properties, "hw_"))
            for key in texts
            if key.startswith(f"{prefix}{name}.")
        }
        return {number: self.of_flavor_or_image(f"{name}.{number}") for number in sorted(texts)}
