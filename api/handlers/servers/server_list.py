"""Lists of servers: filters, order, pages and cells that are down."""

import dataclasses
from itertools import zip_longest

from api.call import Call
from api.formats import times
from api.handlers.servers.server_view import shows_unknown
from api.policies.servers import server as policies
from api.schemas.servers import server_list as schemas
from api.schemas.servers.server import NEVER_SHOWN, STATUSES
from armillary.http.call import Answer, Document
from armillary.http.validation import invalid
from objects.instances.server_answers import ServerPage
from objects.instances.server_filters import ALIVE, ANY, DELETED, ServerFilters
from objects.instances.server_order import SortKey, SortValue, moment

FILTERS = (
    "name",
    "host",
    "reservation_id",
    "uuid",
    "user_id",
    "flavor",
    "image",
    "availability_zone",
    "vm_state",
    "hostname",
    "description",
    "ip",
    "ip6",
)
"""Query parameters that are filters as they stand."""
EQUAL = (
    "access_ip_v4",
    "access_ip_v6",
    "key_name",
    "launch_index",
    "locked_by",
    "node",
    "power_state",
    "task_state",
)
"""Query parameters that are attributes of the same name."""
FLAGS = ("config_drive", "locked")
TIMES = ("created_at", "launched_at", "terminated_at")
TAGS = {"tags": "tags", "tags-any": "tags_any", "not-tags": "not_tags",
        "not-tags-any": "not_tags_any"}  # fmt: skip
CONSTANTS = {"kernel_id": "", "ramdisk_id": "", "root_device_name": "", "progress": 0}
"""Query parameters about attributes that all servers have the same value of."""
NO_UUID = ""
"""Matches no server."""
FOR_ADMINISTRATORS = frozenset({"host", "node", "deleted"})
"""Query parameters of administrators, the first two also sort keys.

For others the parameters are ignored, as in Nova; our own clients get a refusal instead.
"""
SOFT_DELETED = "soft-delete"
NEWEST_FIRST = SortKey("created_at")
KNOWN_STATUSES = sorted([*STATUSES, *NEVER_SHOWN])
KNOWN_STATUSES_SINCE = (2, 38)


def list_servers(call: Call, all_projects_rule: str) -> ServerPage:
    """Return the page of servers that the query asks for; all projects need their own rule."""
    return call.conductor.list_servers(
        call.context,
        filters=_filters(call, all_projects_rule),
        limit=call.page_size,
        marker=call.query.get("marker"),
        for_display=shows_unknown(call),
    )


def _filters(call: Call, all_projects_rule: str) -> ServerFilters:
    sort_keys = call.values("sort_key")
    is_asked = call.shows_own and any(call.query.get(name) for name in FOR_ADMINISTRATORS)
    if is_asked or not FOR_ADMINISTRATORS.isdisjoint(sort_keys):
        call.authorize(policies.ALL_FILTERS)
    if not call.allows(policies.ALL_FILTERS):
        query = {name: call.query[name] for name in call.query.keys() - FOR_ADMINISTRATORS}
        call = dataclasses.replace(call, query=query)
    project_id = call.query.get("project_id", call.query.get("tenant_id"))
    all_projects = call.query.get("all_tenants", False) in (True, "")
    if all_projects:
        call.authorize(all_projects_rule)
    changed_since, changed_before = times.asked_changes(call.query)
    existence = _existence(call)
    statuses = _statuses(call)
    if existence == DELETED:
        statuses = [status for status in statuses if status != "DELETED"]
    return ServerFilters(
        **{name: call.query.get(name) for name in FILTERS},
        **_tags(call),
        equal=_equal(call) or None,
        sort=_sort(call, sort_keys),
        status=",".join(statuses) or None,
        changed_since=changed_since,
        changed_before=changed_before,
        project_id=project_id if all_projects else None,
        all_projects=all_projects,
        existence=existence,
        soft_deleted_is_deleted=_hides_soft_deleted(call, existence, statuses),
    )


def _statuses(call: Call) -> list[str]:
    """Return the statuses that are listed, none for all. Raises Invalid for an unknown, since 2.38.

    In earlier versions no server has an unknown one.
    """
    statuses = [given.upper().replace(",", " ") for given in call.values("status")]
    unknown = [status for status in statuses if status not in KNOWN_STATUSES]
    if unknown and call.version >= KNOWN_STATUSES_SINCE:
        raise invalid("status", unknown[0], f"It must be one of {', '.join(KNOWN_STATUSES)}")
    return statuses


def _equal(call: Call) -> dict[str, SortValue]:
    """Return the values that attributes must have."""
    query = call.query
    found: dict[str, SortValue] = {name: query[name] for name in EQUAL if name in query}
    found |= {name: int(query[name]) for name in FLAGS if name in query}
    found |= {name: moment(times.asked(query, name)) for name in TIMES if name in query}
    if "auto_disk_config" in query:
        found["disk_config"] = "AUTO" if query["auto_disk_config"] else "MANUAL"
    if query.get("soft_deleted"):
        found["vm_state"] = SOFT_DELETED
    if any(query.get(name, value) != value for name, value in CONSTANTS.items()):
        found["uuid"] = NO_UUID
    return found


def _tags(call: Call) -> Document:
    given = {field: call.query.get(name) for name, field in TAGS.items()}
    return {field: text.split(",") for field, text in given.items() if text}


def _sort(call: Call, keys: list[str]) -> list[SortKey] | None:
    """Return the sort keys; a key without a direction has the first one, or descends."""
    directions = call.values("sort_dir")
    keys = keys or [NEWEST_FIRST.name]
    if len(directions) > len(keys):
        rule = "There are more directions than sort keys"
        raise invalid("sort_dir", ",".join(directions), rule)
    first = directions[0] if directions else "desc"
    known = dict(schemas.SORT_KEYS)
    if call.version >= schemas.LOCKED_SINCE:
        known["locked"] = "locked"
    sort = [
        SortKey(known[key], direction == "desc")
        for key, direction in zip_longest(keys, directions, fillvalue=first)
        if key in known
    ]
    return None if not sort or sort[0] == NEWEST_FIRST else sort


def _existence(call: Call) -> str:
    """Return which servers to list: with a time of changes also those deleted since."""
    is_deleted = call.query.get("deleted")
    if is_deleted is not None:
        return DELETED if is_deleted else ALIVE
    if call.context.is_admin and _statuses(call) == ["DELETED"]:
        return DELETED
    return ANY if "changes-since" in call.query else ALIVE


def _hides_soft_deleted(call: Call, existence: str, statuses: list[str]) -> bool:
    """Return whether soft-deleted servers are listed with the deleted ones.

    So they are in Nova; our own clients list them with the others, and so do those that ask for
    their state.
    """
    asks = "SOFT_DELETED" in statuses or call.query.get("vm_state") == SOFT_DELETED
    asks = asks or bool(call.query.get("soft_deleted"))
    return not call.shows_own and (existence == DELETED or not asks)


def answer(call: Call, listed: ServerPage, servers: list[Document]) -> Answer:
    """Return the response with the link to the next page; it says whether cells were down."""
    body: Document = {"servers": servers}
    if servers and len(servers) == call.page_size:
        body["servers_links"] = call.links.next_page(listed.instances[-1].uuid)
    if listed.down_cells:
        body["armillary:partial"] = True
        if call.context.is_admin:
            body["armillary:down_cells"] = listed.down_cells
    return Answer(body)
