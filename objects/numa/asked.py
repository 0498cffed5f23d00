"""What flavor and image say of one thing under two names: ``hw:cpu_policy``, ``hw_cpu_policy``."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection

from armillary import exception
from objects.flavor import Flavor
from objects.image_meta import ImageMeta


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """A text, or None when nobody says anything, and where it stands."""

    text: str | None
    key: str
    source: str

    def refused(self, allowed: str) -> exception.InvalidNUMATopology:
        """Return the error that says what would be allowed in place of the text."""
        found = "missing" if self.text is None else f"'{self.text[:200]}'"
        return exception.InvalidNUMATopology(
            key=self.key, source=self.source, found=found, allowed=allowed
        )

    def one_of(self, words: Collection[str]) -> Asked:
        """Return itself; raise ``InvalidNUMATopology`` unless the text is one of the words."""
        if self.text is not None and self.text not in words:
            raise self.refused(", ".join(words))
        return self

    def number(self, largest: int, what: str) -> int | None:
        """Return the text as a number from 1; raise ``InvalidNUMATopology`` for another."""
        if self.text is None:
            return None
        digits = self.text.strip()
        if not (digits.isascii() and digits.isdigit() and len(digits) < 10):
            raise self.refused(what)
        if not 1 <= (number := int(digits)) <= largest:
            raise self.refused(what)
        return number


class Request:
    """A flavor and the image with it, asked by the flavor's key without ``hw:``."""

    def __init__(self, flavor: Flavor, image: ImageMeta | None) -> None:
        self.flavor = flavor
        self._properties = {} if image is None else image.properties
        self._image_source = "" if image is None else f"image {image.name}"

    def of_flavor(self, name: str) -> Asked:
        """Return what the flavor says."""
        key = f"hw:{name}"
        return Asked(self.flavor.extra_specs.get(key), key, f"flavor {self.flavor.name}")

    def of_image(self, name: str) -> Asked:
        """Return what the image says."""
        key = f"hw_{name}"
        return Asked(self._properties.get(key), key, self._image_source)

    def of_either(self, name: str) -> Asked:
        """Return what the flavor says, or else the image; raise when the image says another."""
        flavor, image = self.of_flavor(name), self.of_image(name)
        if flavor.text is None:
            return flavor if image.text is None else image
        if image.text not in (None, flavor.text):
            raise image.refused(f"'{flavor.text}', as {flavor.key} of {flavor.source} has it")
        return flavor

    def numbered(self, name: str) -> dict[str, Asked]:
        """Return what stands under ``name.N``, by N as it is written."""
        texts = {
            key.rpartition(".")[2]
            for texts, prefix in ((self.flavor.extra_specs, "hw:"), (self._properties, "hw_"))
            for key in texts
            if key.startswith(f"{prefix}{name}.")
        }
        return {number: self.of_either(f"{name}.{number}") for number in sorted(texts)}
