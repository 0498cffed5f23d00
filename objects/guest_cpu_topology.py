"""Sockets, cores and threads of virtual machines, as flavor and image ask for them."""

from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta

NAMES = ("cpu_sockets", "cpu_cores", "cpu_threads")
"""Settings: ``hw_NAME`` of an image, ``hw:NAME`` of a flavor, which takes precedence."""
COUNT_MAX = 4096


def of(flavor: Flavor, image: ImageMeta | None) -> tuple[int, int, int] | None:
    """Return sockets, cores and threads whose product is the number of vCPUs.

    None if none is requested. Numbers that are not given follow from the others. Raises ValueError
    with the reason if the vCPUs cannot be divided that way.
    """
    given = [_asked(flavor, image, name) for name in NAMES]
    if not any(given):
        return None
    sockets, cores, threads = (_count(name, text) for name, text in zip(NAMES, given, strict=True))
    vcpus = max(1, flavor.vcpus)
    if sockets is None:
        sockets = vcpus // ((cores or 1) * (threads or 1))
    if cores is None:
        cores = vcpus // max(1, sockets * (threads or 1))
    threads = threads or vcpus // max(1, sockets * cores)
    if sockets * cores * threads != vcpus:
        wanted = ", ".join(f"{n} {t}" for n, t in zip(NAMES, given, strict=True) if t)
        raise ValueError(f"{vcpus} vCPUs cannot be divided as asked: {wanted}")
    return sockets, cores, threads


def _asked(flavor: Flavor, image: ImageMeta | None, name: str) -> str | None:
    text = flavor.extra_specs.get(f"hw:{name}")
    if text is None and image is not None:
        text = image.properties.get(f"hw_{name}")
    return text or None


def _count(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and 0 < int(text) <= COUNT_MAX):
        raise ValueError(f"hw_{name} is {text}; expected a number from 1 to {COUNT_MAX}")
    return int(text)
