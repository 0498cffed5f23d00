"""ImageFetches: what a host says about the images that it was asked to fetch."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ImageFetches:
    """Ids of images: those that the host has, those that it fetches, and why others failed."""

    cached: list[str] = field(default_factory=list)
    fetching: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
