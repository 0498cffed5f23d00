"""Flavors: the sizes of servers."""

import operator
from itertools import zip_longest
from typing import Any

from api.call import Call
from api.formats.links import page
from api.policies.flavors import flavor as policies
from api.schemas.flavors import flavor as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.flavor import Flavor

COLLECTION = "flavors"
SWAP_NUMBER_SINCE = (2, 75)


def index(call: Call) -> Answer:
    """List flavors by id and name."""
    flavors, links = _page(call)
    return Answer({"flavors": [_brief(call, flavor) for flavor in flavors], **links})


def detail(call: Call) -> Answer:
    """List flavors with details."""
    flavors, links = _page(call)
    return Answer({"flavors": [_show(call, flavor) for flavor in flavors], **links})


def show(call: Call) -> Answer:
    """Show a flavor."""
    flavor = call.conductor.get_flavor(call.context, call.path["flavor_id"])
    return Answer({"flavor": _show(call, flavor)})


def create(call: Call) -> Answer:
    """Create a flavor."""
    wanted = call.body["flavor"]
    flavor_id = wanted.get("id")
    flavor = Flavor.from_values(
        flavorid="" if flavor_id in (None, "auto") else str(flavor_id),
        name=wanted["name"],
        vcpus=wanted["vcpus"],
        memory_mb=wanted["ram"],
        root_gb=wanted["disk"],
        ephemeral_gb=wanted.get("OS-FLV-EXT-DATA:ephemeral", 0),
        swap_mb=wanted.get("swap", 0),
        rxtx_factor=float(wanted.get("rxtx_factor", 1.0)),
        is_public=wanted.get("os-flavor-access:is_public", True),
        description=wanted.get("description"),
    )
    made = call.conductor.create_flavor(call.context, flavor)
    return Answer({"flavor": _show(call, made)})


def update(call: Call) -> Answer:
    """Change the description of a flavor."""
    flavor_id, text = call.path["flavor_id"], call.body["flavor"]["description"]
    changed = call.conductor.set_flavor_description(call.context, flavor_id, text)
    return Answer({"flavor": _show(call, changed)})


def delete(call: Call) -> Answer:
    """Delete a flavor; existing servers keep their copy of it."""
    call.conductor.delete_flavor(call.context, call.path["flavor_id"])
    return Answer()


def _page(call: Call) -> tuple[list[Flavor], Document]:
    flavors = [
        flavor
        for flavor in call.conductor.list_flavors(call.context, is_public=_is_public(call))
        if flavor.memory_mb >= call.query.get("minRam", 0)
        and flavor.root_gb >= call.query.get("minDisk", 0)
    ]
    _sort(flavors, call.values("sort_key"), call.values("sort_dir"))
    cut, marker = page(
        flavors, lambda flavor: flavor.flavorid, call.page_size, call.query.get("marker")
    )
    return cut, {} if marker is None else {"flavors_links": call.links.next_page(marker)}


def _sort(flavors: list[Flavor], keys: list[str], directions: list[str]) -> None:
    """Sort by the keys; one without a direction ascends, and flavors without a value come first."""
    by_id = ("flavorid", directions[0] if directions and not keys else "asc")
    order = [by_id, *reversed(list(zip_longest(keys, directions[: len(keys)], fillvalue="asc")))]
    for key, direction in order:  # sorting is stable: the first key is the last to be sorted by
        if key not in schemas.CONSTANT_SORT_KEYS:
            value = operator.attrgetter(schemas.SORT_KEYS[key])
            flavors.sort(key=lambda flavor: _present(value(flavor)), reverse=direction == "desc")


def _present(value: Any) -> tuple[Any, ...]:
    """Return a value that is comparable even if it is None."""
    return () if value is None else (value,)


def _is_public(call: Call) -> bool | None:
    """Return which flavors to list; others than administrators see those that they may use."""
    wanted: bool | str = call.query.get("is_public", True) if call.context.is_admin else True
    return wanted if isinstance(wanted, bool) else None


def _brief(call: Call, flavor: Flavor) -> Document:
    links = call.links.of(COLLECTION, flavor.flavorid)
    return {
        "id": flavor.flavorid,
        "name": flavor.name,
        "links": links,
        "description": flavor.description,
    }


def _no_swap(call: Call) -> int | str:
    """Return how the version shows a flavor without swap."""
    return 0 if call.version >= SWAP_NUMBER_SINCE else ""


def _show(call: Call, flavor: Flavor) -> Document:
    return {
        **_brief(call, flavor),
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap_mb or _no_swap(call),
        "rxtx_factor": flavor.rxtx_factor,
        "OS-FLV-DISABLED:disabled": flavor.disabled,
        "os-flavor-access:is_public": flavor.is_public,
        "extra_specs": flavor.extra_specs,
    }


ROUTES: Routes[Call] = {
    "/v2.1/flavors": {
        "GET": Action(index, policies.SHOW, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY),
        "POST": Action(create, policies.CREATE, schemas.SHOW_ANSWER, body=schemas.CREATE),
    },
    "/v2.1/flavors/detail": {
        "GET": Action(detail, policies.SHOW, schemas.DETAIL_ANSWER, query=schemas.INDEX_QUERY)
    },
    "/v2.1/flavors/{flavor_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER),
        "PUT": Action(
            update, policies.UPDATE, schemas.SHOW_ANSWER, since=(2, 55), body=schemas.UPDATE
        ),
        "DELETE": Action(delete, policies.DELETE, status=202),
    },
}
