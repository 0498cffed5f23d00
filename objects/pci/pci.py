"""PCI passthrough, also of SR-IOV functions: aliases, requests, pools of free devices, assignment.

A pool is a dict of ``vendor_id``, ``product_id``, ``dev_type``, ``numa_node``, ``count`` and
perhaps more (``physical_network``, ``address``, ``tags``); its devices are interchangeable.
"""

import dataclasses
import json
import re
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Self

from armillary import exception
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta

Pool = Mapping[str, Any]

LEGACY, REQUIRED, PREFERRED, SOCKET = NUMA_POLICIES = ("legacy", "required", "preferred", "socket")
PHYSICAL_FUNCTION = "type-PF"
DEVICE_TYPES = ("type-PCI", PHYSICAL_FUNCTION, "type-VF")

ALIAS_KEY = "pci_passthrough:alias"
POLICY_KEY = "hw:pci_numa_affinity_policy"
POLICY_PROPERTY = "hw_pci_numa_affinity_policy"
DEVICES_MAX = 128
"""Maximum number of devices that a flavor may request."""

_HEX_ID = re.compile(r"[0-9a-fA-F]{4}")
_NAME = re.compile(r"[^\s,:]{1,256}")
_ALIAS_FIELDS = (
    "name", "vendor_id", "product_id", "device_type", "numa_policy", "resource_class", "traits",
)  # fmt: skip
_FOR_PLACEMENT = frozenset(("resource_class", "traits"))


@dataclasses.dataclass(frozen=True, slots=True)
class Alias:
    """A kind of device under the name that flavors use; the dicts in ``spec`` are alternatives."""

    name: str
    spec: tuple[Mapping[str, Any], ...]
    numa_policy: str | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class PciRequest:
    """A number of devices that each match one of ``spec``, with a NUMA affinity policy.

    For guests with NUMA cells the policy means: ``required``: on a NUMA node of the guest;
    ``legacy`` (also None): that, or without a known node; ``socket``: on a socket of the guest;
    ``preferred``: as near as possible.
    """

    alias_name: str
    count: int
    spec: Sequence[Mapping[str, Any]]
    numa_policy: str | None = None
    request_id: str | None = None

    def to_plain(self) -> dict[str, object]:
        """Return the wire form, made of JSON values."""
        return {
            "alias_name": self.alias_name,
            "count": self.count,
            "spec": [dict(one) for one in self.spec],
            "numa_policy": self.numa_policy,
            "request_id": self.request_id,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Parse a wire form."""
        return cls(
            alias_name=plain["alias_name"],
            count=int(plain["count"]),
            spec=tuple(plain["spec"]),
            numa_policy=plain.get("numa_policy"),
            request_id=plain.get("request_id"),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Taken:
    """Number of devices that a request takes from the pool at an index."""

    request: PciRequest
    pool: int
    count: int


# Assignment of devices --------------------------------------------------------------------------


def take(
    pools: Sequence[Pool],
    requests: Sequence[PciRequest],
    numa_cells: Collection[int] | None = None,
    sockets: Mapping[int, int | None] | None = None,
) -> list[Pool] | None:
    """Return the pools without what the requests take, or None if they cannot be served.

    Takes the arguments of ``assign``; empty pools are left out.
    """
    taken = assign(pools, requests, numa_cells, sockets)
    return None if taken is None else without(pools, taken)


def assign(
    pools: Sequence[Pool],
    requests: Sequence[PciRequest],
    numa_cells: Collection[int] | None = None,
    sockets: Mapping[int, int | None] | None = None,
    *,
    is_strict: bool = False,
) -> list[Taken] | None:
    """Return which pools serve which requests, or None if not all can be served.

    ``numa_cells`` are the ids of the guest's host cells; None for a guest without NUMA cells,
    whose devices may be anywhere. ``sockets`` maps each cell of the host to its socket. With
    ``is_strict`` the policy ``preferred`` acts like ``required``. Competing requests are served
    whenever a combination exists.
    """
    ranks = [
        [_rank(pool, request, numa_cells, sockets, is_strict=is_strict) for pool in pools]
        for request in requests
    ]
    flow = _Flow(ranks, [int(pool.get("count", 1)) for pool in pools])
    if not flow.serve([request.count for request in requests]):
        return None
    return [
        Taken(request, index, count)
        for request, row in zip(requests, flow.taken, strict=True)
        for index, count in enumerate(row)
        if count
    ]


def without(pools: Sequence[Pool], taken: Iterable[Taken]) -> list[Pool]:
    """Return the rest of the pools; unchanged pools are the same objects."""
    counts = [int(pool.get("count", 1)) for pool in pools]
    left = list(counts)
    for each in taken:
        left[each.pool] -= each.count
    return [
        pool if now == before else {**pool, "count": now}
        for pool, before, now in zip(pools, counts, left, strict=True)
        if now > 0
    ]


def matches(pool: Pool, request: PciRequest) -> bool:
    """Return whether the devices of a pool match a request, regardless of their location.

    A physical function matches only requests for one.
    """
    return any(_is_like(pool, one) for one in request.spec)


def why_not(pools: Sequence[Pool], requests: Sequence[PciRequest]) -> str | None:
    """Return which devices are missing, in a few words; None if there are enough."""
    for request in requests:
        found = count_free(pool for pool in pools if matches(pool, request))
        if found < request.count:
            return f"has {found} free devices of {request.alias_name}; {request.count} are needed"
    if assign(pools, requests) is None:
        wanted = sum(request.count for request in requests)
        return f"does not have {wanted} free devices for all aliases together"
    return None


def count_free(pools: Iterable[Pool]) -> int:
    """Return the number of devices in all pools."""
    return sum(int(pool.get("count", 1)) for pool in pools)


def _is_like(pool: Pool, wanted: Mapping[str, Any]) -> bool:
    if pool.get("dev_type") == PHYSICAL_FUNCTION and wanted.get("dev_type") != PHYSICAL_FUNCTION:
        return False
    tags = pool.get("tags") or {}
    return all(
        pool.get(name, tags.get(name)) == value
        for name, value in wanted.items()
        if name not in _FOR_PLACEMENT
    )


def _rank(
    pool: Pool,
    request: PciRequest,
    numa_cells: Collection[int] | None,
    sockets: Mapping[int, int | None] | None,
    *,
    is_strict: bool,
) -> int | None:
    """Return the distance of a pool from the guest, 0 being nearest; None if it must not serve."""
    if not matches(pool, request):
        return None
    if numa_cells is None:
        return 0
    node = pool.get("numa_node")
    if node in numa_cells:
        return 0
    policy = request.numa_policy or LEGACY
    if policy == SOCKET:
        return 1 if _on_same_socket(node, numa_cells, sockets or {}) else None
    if policy == LEGACY:
        return 1 if node is None else None
    if policy == PREFERRED and not is_strict:
        return 2 if node is None else 3
    return None


def _on_same_socket(
    node: int | None, numa_cells: Collection[int], sockets: Mapping[int, int | None]
) -> bool:
    socket = None if node is None else sockets.get(node)
    return socket is not None and any(sockets.get(cell) == socket for cell in numa_cells)


class _Flow:
    """Maximum flow from requests to pools; a device in use is moved to make room if possible.

    ``ranks[request][pool]`` is None if the pool must not serve; lower is better.
    """

    def __init__(self, ranks: Sequence[Sequence[int | None]], counts: Sequence[int]) -> None:
        self._left = list(counts)
        self._choices = [
            sorted(
                (index for index, rank in enumerate(row) if rank is not None),
                key=lambda index, row=row: (row[index], index),  # type: ignore[misc]
            )
            for row in ranks
        ]
        self.taken = [[0] * len(counts) for _ in ranks]

    def serve(self, counts: Sequence[int]) -> bool:
        """Serve all requests, the least flexible first; return whether that was possible."""
        for request in sorted(range(len(counts)), key=lambda index: len(self._choices[index])):
            for _ in range(counts[request]):
                if not self._serve_one(request, set()):
                    return False
        return True

    def _serve_one(self, request: int, seen: set[int]) -> bool:
        """Assign a device, if necessary by moving another request's device to another pool."""
        for pool in self._choices[request]:
            if self._left[pool] > 0:
                self._left[pool] -= 1
                self.taken[request][pool] += 1
                return True
        for pool in self._choices[request]:
            if pool in seen:
                continue
            seen.add(pool)
            for other, row in enumerate(self.taken):
                if other != request and row[pool] and self._serve_one(other, seen):
                    row[pool] -= 1
                    self.taken[request][pool] += 1
                    return True
        return False


# Parsing of flavors and configuration ------------------------------------------------------------


def requests_of(
    flavor: Flavor, image: ImageMeta | None, aliases: Mapping[str, Alias]
) -> list[PciRequest]:
    """Return the requests in a flavor's ``pci_passthrough:alias``: ``name:count``, with commas.

    ``hw:pci_numa_affinity_policy`` of the flavor, or else ``hw_pci_numa_affinity_policy`` of the
    image, overrides the aliases' policies. Raises ``InvalidNUMATopology``.
    """
    source = f"flavor {flavor.name}"
    policy = _policy_asked(flavor, image)
    text = flavor.extra_specs.get(ALIAS_KEY)
    if text is None:
        return []
    requests: list[PciRequest] = []
    for part in text.split(","):
        name, colon, number = (piece.strip() for piece in part.partition(":"))
        count = int(number) if re.fullmatch("[0-9]{1,4}", number) else 0
        if not colon or not 1 <= count <= DEVICES_MAX:
            allowed = f"name:count separated by commas, each count from 1 to {DEVICES_MAX}"
            raise _refused(ALIAS_KEY, source, text, allowed)
        alias = aliases.get(name)
        if alias is None:
            known = ", ".join(sorted(aliases)) or "none configured"
            raise _refused(ALIAS_KEY, source, text, f"names of PCI aliases ({known})")
        requests.append(
            PciRequest(
                alias_name=name,
                count=count,
                spec=tuple(dict(one) for one in alias.spec),
                numa_policy=policy or alias.numa_policy,
                request_id=str(uuid.uuid4()),
            )
        )
    if sum(request.count for request in requests) > DEVICES_MAX:
        raise _refused(ALIAS_KEY, source, text, f"at most {DEVICES_MAX} devices in total")
    return requests


def parse_aliases(texts: Iterable[str]) -> dict[str, Alias]:
    """Return the aliases of ``[pci] alias``, by name.

    Each text is a JSON object of ``name``, ``vendor_id`` and ``product_id`` (four hexadecimal
    digits), ``device_type``, ``numa_policy``, and for placement ``resource_class`` and ``traits``
    (separated by commas), or a list of such objects. Several with one name are alternatives. Raises
    ``ConfigurationError`` that quotes the text.
    """
    aliases: dict[str, Alias] = {}
    for text in texts:
        for fields in _objects(text):
            alias = _alias(fields, text)
            former = aliases.get(alias.name)
            if former is not None:
                if former.numa_policy != alias.numa_policy:
                    raise _wrong(text, f"{alias.name} has a different numa_policy elsewhere")
                alias = dataclasses.replace(alias, spec=(*former.spec, *alias.spec))
            aliases[alias.name] = alias
    return aliases


def _policy_asked(flavor: Flavor, image: ImageMeta | None) -> str | None:
    for key, source, texts in (
        (POLICY_KEY, f"flavor {flavor.name}", flavor.extra_specs),
        (
            POLICY_PROPERTY,
            f"image {image.name}" if image else "",
            image.properties if image else {},
        ),
    ):
        policy = texts.get(key)
        if policy is not None:
            if policy not in NUMA_POLICIES:
                raise _refused(key, source, policy, ", ".join(NUMA_POLICIES))
            return policy
    return None


def _refused(key: str, source: str, found: str, allowed: str) -> exception.InvalidNUMATopology:
    return exception.InvalidNUMATopology(
        key=key, source=source, found=f"'{found[:200]}'", allowed=allowed
    )


def _objects(text: str) -> list[dict[str, object]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(text, f"it is not JSON ({error})") from error
    objects = found if isinstance(found, list) else [found]
    if not all(isinstance(each, dict) for each in objects):
        raise _wrong(text, "it is neither a JSON object nor a list of them")
    return objects


def _alias(fields: Mapping[str, Any], text: str) -> Alias:
    if unknown := sorted(fields.keys() - set(_ALIAS_FIELDS)):
        raise _wrong(text, f"unknown {', '.join(unknown)}; known: {', '.join(_ALIAS_FIELDS)}")
    name = fields.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise _wrong(text, "name must be 1 to 256 characters without spaces, commas and colons")
    spec: dict[str, str] = {}
    for key in ("vendor_id", "product_id"):
        value = fields.get(key)
        if value is None:
            continue
        if not isinstance(value, str) or not _HEX_ID.fullmatch(value):
            raise _wrong(text, f"{key} must be four hexadecimal digits")
        spec[key] = value.lower()
    spec.update(_for_placement(fields, text))
    if not spec:
        raise _wrong(text, "it needs one of vendor_id, product_id and resource_class")
    if (kind := fields.get("device_type")) is not None:
        if kind not in DEVICE_TYPES:
            raise _wrong(text, f"device_type must be one of {', '.join(DEVICE_TYPES)}")
        spec["dev_type"] = kind
    policy = fields.get("numa_policy")
    if policy is not None and policy not in NUMA_POLICIES:
        raise _wrong(text, f"numa_policy must be one of {', '.join(NUMA_POLICIES)}")
    return Alias(name, (spec,), policy)


def _for_placement(fields: Mapping[str, Any], text: str) -> dict[str, str]:
    asked = {name: fields[name] for name in _FOR_PLACEMENT if fields.get(name) is not None}
    for name, value in asked.items():
        if not isinstance(value, str):
            raise _wrong(text, f"{name} must be a string")
    return asked


def _wrong(text: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(reason=f"[pci] alias '{text[:200]}': {why}")
