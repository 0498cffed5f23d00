"""Lookup by id or name: an id takes precedence, a name must be unique.

Of a UUID, the start that lists show is enough, unless something has that name.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

from armillary import exception
from armillary.service_history import COMPUTE
from armillary.table_columns import printable
from programs.access.errors import ApiNotFound
from programs.commands import silent_cells
from programs.http_client import ApiClient, Document

IDS_SHOWN_MAX = 5
SIMILAR_SHOWN_MAX = 5
_LISTED_AS = {"server group": "group"}
"""Kind -> the word of its list command, where that is another."""
SERVER_ADVICE = "A server there is found by its id: armillary server list shows it as UNKNOWN."
HOST_ADVICE = "Try again when it answers."
KEY_PAIRS = "os-keypairs"
UNKNOWN = "UNKNOWN"
"""The status of servers whose cell does not answer."""

_ID_START = re.compile(r"[0-9a-f]{8}[0-9a-f-]{0,28}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class AmbiguousName(exception.Invalid):
    """Several objects have the name."""

    template = "%(count)s %(kind)ss are named '%(name)s': %(ids)s. Use an id."


class NotAllSearched(exception.Unavailable):
    """Nothing was found, but not everything could be searched."""

    template = (
        "No %(kind)s that can be seen now has the id or name '%(name)s', but %(silent)s did not "
        "answer. %(advice)s"
    )


class _Partial(dict[str, Any]):
    """A document whose missing fields are None."""

    def __missing__(self, key: str) -> None:
        return None


def with_gaps(server: Document) -> Document:
    """Return a server; the fields of one whose cell does not answer are None if unknown."""
    return _Partial(server) if server["status"] == UNKNOWN else server


def find_server(api: ApiClient, server: str) -> Document:
    """Return the server with this id or name.

    Of a silent cell's servers only the ids are known. Raises ``NotFound``, ``AmbiguousName``,
    ``NotAllSearched``.
    """
    if _UUID.fullmatch(server):
        found = _get_or_none(api, "server", "servers", server)
        if found is not None:
            return with_gaps(found)
    listing = _Listing(api, "servers", "servers", "detail")
    same = listing.items({"name": server})
    if _ID_START.fullmatch(server):
        same = chain(same, listing.items())
    advice = None if _UUID.fullmatch(server) else SERVER_ADVICE
    with listing.says_what_is_missing("server", server, advice):
        return _the_one("server", server, map(with_gaps, same))


def find_flavor(api: ApiClient, flavor: str) -> Document:
    found = _get_or_none(api, "flavor", "flavors", flavor)
    if found is not None:
        return found
    return _the_one("flavor", flavor, api.list_all("flavors", "flavors", "detail"))


def find_image(api: ApiClient, image: str) -> Document:
    return _the_one("image", image, api.list_all("images", "images", "detail"))


def find_key_pair(api: ApiClient, name: str) -> Document:
    """Return the caller's key pair with this name. Raises ``NotFound``."""
    found = _get_or_none(api, "keypair", KEY_PAIRS, name)
    if found is not None:
        return found
    others = [each["keypair"]["name"] for each in api.list_all("keypairs", KEY_PAIRS)]
    raise _not_found("keypair", name, others)


def find_group(api: ApiClient, group: str) -> Document:
    groups = api.list_all("server_groups", "os-server-groups")
    return _the_one("server group", group, groups)


def find_claim(api: ApiClient, claim: str) -> Document:
    claims = api.list_all("claims", "armillary", "claims")
    return _the_one("claim", claim, claims)


def find_pool(api: ApiClient, pool: str) -> Document:
    return _the_one("pool", pool, api.get("armillary", "pools")["pools"])


def find_aggregate(api: ApiClient, aggregate: str) -> Document:
    aggregates = api.list_all("aggregates", "os-aggregates")
    return _the_one("aggregate", aggregate, aggregates, ids=lambda a: (str(a["id"]), a.get("uuid")))


def find_hypervisor(api: ApiClient, host: str) -> Document:
    """Return the hypervisor with this id, node name or host name.

    Raises ``NotFound``, ``AmbiguousName``, ``NotAllSearched``.
    """
    listing = _Listing(api, "hypervisors", "os-hypervisors", "detail")
    with listing.says_what_is_missing("host", host, HOST_ADVICE):
        return _the_one(
            "host",
            host,
            listing.items(),
            ids=lambda node: (str(node["id"]), node["hypervisor_hostname"]),
            name=lambda node: node["service"]["host"],
        )


def find_service(api: ApiClient, service: str, binary: str | None = None) -> Document:
    """Return the service with this id, or of this host: its compute service, or another.

    Raises as ``find_hypervisor``.
    """
    listing = _Listing(api, "services", "os-services")

    def host(one: Document) -> str | None:
        return one["host"] if binary or one["binary"] == COMPUTE else None

    with listing.says_what_is_missing("service", service, HOST_ADVICE):
        services = listing.items({"binary": binary} if binary else None)
        return _the_one("service", service, services, name=host)


class _Listing:
    """A list of the API, which remembers the cells and zones that were missing from it."""

    def __init__(self, api: ApiClient, key: str, *path: str) -> None:
        self._api = api
        self._key = key
        self._path = path
        self._silent: dict[str, None] = {}

    def items(self, query: Mapping[str, Any] | None = None) -> Iterator[Document]:
        return self._api.list_all(self._key, *self._path, query=query, on_page=self._remember)

    def _remember(self, answer: Document) -> None:
        self._silent |= dict.fromkeys(silent_cells.parts(answer))

    @contextmanager
    def says_what_is_missing(self, kind: str, wanted: str, advice: str | None) -> Iterator[None]:
        """Raise ``NotAllSearched`` instead of ``NotFound`` if something was missing.

        Without advice it is ``NotFound`` in any case.
        """
        try:
            yield
        except exception.NotFound as error:
            if not self._silent or advice is None:
                raise
            silent = " and ".join(self._silent)
            raise NotAllSearched(kind=kind, name=wanted, silent=silent, advice=advice) from error


def _get_or_none(api: ApiClient, key: str, collection: str, identifier: str) -> Document | None:
    try:
        found: Document = api.get(collection, identifier)[key]
    except ApiNotFound:
        return None
    return found


def _the_one(
    kind: str,
    wanted: str,
    candidates: Iterable[Document],
    *,
    ids: Callable[[Document], tuple[str | None, ...]] = lambda item: (str(item["id"]),),
    name: Callable[[Document], str | None] = lambda item: item["name"],
) -> Document:
    named, starting, others = [], [], set()
    is_start = _ID_START.fullmatch(wanted) is not None
    for candidate in candidates:
        if wanted in ids(candidate):
            return candidate
        others.add(name(candidate) or "")
        if name(candidate) == wanted:
            named.append(candidate)
        elif is_start and any((one or "").startswith(wanted) for one in ids(candidate)):
            starting.append(candidate)
    named = named or starting
    if not named:
        raise _not_found(kind, wanted, others)
    if len(named) > 1:
        shown = ", ".join(str(item["id"]) for item in named[:IDS_SHOWN_MAX])
        more = ", …" if len(named) > IDS_SHOWN_MAX else ""
        raise AmbiguousName(kind=kind, name=wanted, count=len(named), ids=shown + more)
    return named[0]


def _not_found(kind: str, wanted: str, names: Iterable[str]) -> exception.NotFound:
    """Return the error, with names that are nearly the same, and where all are listed."""
    import difflib  # mistakes are rare

    wanted, letters = printable(wanted), wanted.lower()
    small = {name.lower(): printable(name) for name in sorted(names)}
    near = [small[each] for each in difflib.get_close_matches(letters, small, n=SIMILAR_SHOWN_MAX)]
    similar = f" Similar: {', '.join(near)}." if near else ""
    command = f"armillary {_LISTED_AS.get(kind, kind)} list"
    return exception.NotFound(
        f"No {kind} has the id or name '{wanted}'.{similar} To see all: {command}"
    )
