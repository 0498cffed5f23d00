"""Declaration of the kinds of resources that claims ask for: attributes, filters, weighers.

A *pool* is a resource provider of placement other than a host, such as a storage array or a range
of addresses; its trait names its kind. API, super conductor and scheduler derive from the one
declaration of a kind. A new kind is one entry of ``KINDS``, or an object behind an entry point
``armillary.resource_kinds`` of another package.
"""

import dataclasses
import enum
import fnmatch
import functools
import re
from collections.abc import Mapping
from typing import Any

import stevedore

from armillary import exception

NAMESPACE = "armillary.resource_kinds"
POOL_TRAITS = "CUSTOM_POOL_"
"""Beginning of the traits of pools; the rest is the name of their kind."""

_NAME = re.compile(r"[a-z][a-z0-9_]{0,35}")


class Figure(enum.Enum):
    """What an attribute says about the inventory of a resource class."""

    TOTAL = "total"
    USED = "used"
    FREE = "free"
    FREE_SHARE = "free share"
    """The free part of the capacity, from 0 to 1."""


@dataclasses.dataclass(frozen=True, slots=True)
class PoolAttribute:
    """An attribute of a pool, which filters and weighers read.

    ``resource_class`` may end in ``*``. Of several requested classes the least value counts.
    """

    name: str
    unit: str
    resource_class: str
    figure: Figure


@dataclasses.dataclass(frozen=True, slots=True)
class WeigherSetting:
    """A weigher of pools and its multiplier; a negative one reverses the order."""

    name: str
    multiplier: float = 1.0


@dataclasses.dataclass(frozen=True, slots=True)
class ResourceKind:
    """A kind of resource. A claim may ask for ``resource_classes``; one may end in ``*``.

    ``filters`` and ``weighers`` are entry points of ``armillary.pool.filters`` and
    ``armillary.pool.weighers``, or class paths.
    """

    name: str
    resource_classes: tuple[str, ...]
    attributes: tuple[PoolAttribute, ...] = ()
    filters: tuple[str, ...] = ("OwnResourcesFilter", "PoolClaimsFilter")
    weighers: tuple[WeigherSetting, ...] = ()

    @property
    def trait(self) -> str:
        """The trait of the pools of this kind."""
        return f"{POOL_TRAITS}{self.name.upper()}"

    def has_class(self, resource_class: str) -> bool:
        """Return whether claims of this kind may ask for a resource class."""
        return any(fnmatch.fnmatchcase(resource_class, each) for each in self.resource_classes)

    def attributes_of(self, resource_class: str) -> list[PoolAttribute]:
        """Return the attributes that derive from a resource class."""
        return [
            each
            for each in self.attributes
            if fnmatch.fnmatchcase(resource_class, each.resource_class)
        ]


_FREE_SHARE = PoolAttribute("free_share", "1", "*", Figure.FREE_SHARE)

KINDS = (
    ResourceKind(
        "network",
        (
            "IPV4_ADDRESS", "NET_BW_EGR_KILOBIT_PER_SEC", "NET_BW_IGR_KILOBIT_PER_SEC",
            "CUSTOM_NETWORK_*",
        ),
        (_FREE_SHARE, PoolAttribute("free_addresses", "addresses", "IPV4_ADDRESS", Figure.FREE)),
        weighers=(WeigherSetting("FreeShareWeigher"),),
    ),
    ResourceKind(
        "storage",
        ("DISK_GB", "CUSTOM_STORAGE_*"),
        (
            _FREE_SHARE,
            PoolAttribute("total_gb", "GiB", "DISK_GB", Figure.TOTAL),
            PoolAttribute("used_gb", "GiB", "DISK_GB", Figure.USED),
            PoolAttribute("free_gb", "GiB", "DISK_GB", Figure.FREE),
        ),
        weighers=(WeigherSetting("FreeShareWeigher"),),
    ),
    ResourceKind(
        "license",
        ("CUSTOM_LICENSE", "CUSTOM_LICENSE_*"),
        (_FREE_SHARE,),
        weighers=(WeigherSetting("FreeShareWeigher", -1.0),),  # fills one contract before the next
    ),
)  # fmt: skip


@functools.cache
def known_kinds() -> Mapping[str, ResourceKind]:
    """Return all kinds by name: the declared ones, and those of other packages.

    Raises ``ConfigurationError`` for one that cannot be imported, is malformed, or has the name of
    another.
    """
    manager = stevedore.ExtensionManager[Any](NAMESPACE, on_load_failure_callback=_refuse)
    kinds: dict[str, ResourceKind] = {}
    for kind in (*KINDS, *(checked(each.plugin) for each in manager)):
        if kind.name in kinds:
            raise exception.ConfigurationError(
                reason=f"two kinds of resources have the name {kind.name!r}"
            )
        kinds[kind.name] = kind
    return kinds


def get_kind(name: str) -> ResourceKind:
    """Return a kind. Raises ``Invalid`` if there is none of this name."""
    kinds = known_kinds()
    if name not in kinds:
        raise exception.Invalid(
            reason=f"unknown kind of resource {name!r}; known: {', '.join(sorted(kinds))}"
        )
    return kinds[name]


def checked(kind: object) -> ResourceKind:
    """Return a kind of another package. Raises ``ConfigurationError`` if it is malformed."""
    if not isinstance(kind, ResourceKind):
        raise exception.ConfigurationError(reason=f"{NAMESPACE}: {kind!r} is not a ResourceKind")
    if not _NAME.fullmatch(kind.name):
        raise exception.ConfigurationError(
            reason=f"{NAMESPACE}: the name of a kind has lower-case letters, digits and _, at most "
            f"36, which {kind.name!r} does not"
        )
    if not kind.resource_classes:
        raise exception.ConfigurationError(
            reason=f"{NAMESPACE}: kind {kind.name!r} names no resource classes"
        )
    return kind


def _refuse(_manager: object, entry_point: object, error: BaseException) -> None:
    raise exception.ConfigurationError(
        reason=f"{NAMESPACE}: {entry_point} cannot be imported: {type(error).__name__}: {error}"
    ) from error
