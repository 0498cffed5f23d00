"""Lists of servers, and of what was done to one."""

from argparse import ArgumentParser, Namespace
from itertools import islice

from programs.commands import arguments, base
from programs.commands.lookup import find_flavor, find_image, find_server, with_gaps
from programs.commands.servers.server import COLUMNS, LONG_COLUMNS, STATUSES
from programs.http_client import Document

PAGE_SIZE_MAX = 1000

EVENT_COLUMNS: base.Columns = {
    "Started": "start_time",
    "Action": "action",
    "Event": "event",
    "Host": "host",
    "Result": "result",
    "Try": "armillary:attempt",
    "Details": "details",
}
LONG_EVENT_COLUMNS: base.Columns = {**EVENT_COLUMNS, "Finished": "finish_time"}


class ListServers(base.ApiLister):
    """List servers, newest first."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", help="only servers whose name contains this")
        parser.add_argument(
            "--status", choices=STATUSES, type=str.upper, help="only servers with this status"
        )
        parser.add_argument("--host", help="only servers on this host (administrators)")
        parser.add_argument("--reservation-id", metavar="ID", help="only servers of this request")
        parser.add_argument(
            "--all-projects",
            action="store_true",
            help="list servers of all projects (administrators)",
        )
        parser.add_argument("--flavor", help="only servers of this flavor (id or name)")
        parser.add_argument("--image", help="only servers of this image (id or name)")
        parser.add_argument("--availability-zone", metavar="ZONE", help="only servers in this zone")
        parser.add_argument(
            "--project", metavar="ID", help="only servers of this project (administrators)"
        )
        parser.add_argument("--user", metavar="ID", help="only servers of this user")
        parser.add_argument(
            "--changes-since", metavar="TIME", help="only servers changed since, in ISO 8601"
        )
        _add_attributes(parser)
        parser.add_argument("--marker", metavar="ID", help="only servers after this one")
        parser.add_argument(
            "--limit",
            metavar="N",
            type=arguments.positive,
            help="maximum number of servers (default: all)",
        )
        parser.add_argument("--long", action="store_true", help="show more columns")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        limit = parsed_args.limit
        query = arguments.given(
            name=parsed_args.name,
            status=parsed_args.status,
            host=parsed_args.host,
            reservation_id=parsed_args.reservation_id,
            all_tenants="true" if parsed_args.all_projects or parsed_args.project else None,
            project_id=parsed_args.project,
            user_id=parsed_args.user,
            flavor=parsed_args.flavor and find_flavor(self.api, parsed_args.flavor)["id"],
            image=parsed_args.image and find_image(self.api, parsed_args.image)["id"],
            availability_zone=parsed_args.availability_zone,
            **{"changes-since": parsed_args.changes_since},
            **_attributes(parsed_args),
            marker=parsed_args.marker,
            limit=limit and min(limit, PAGE_SIZE_MAX),
        )
        found = self.items("servers", "servers", "detail", query=query)
        servers = islice(map(with_gaps, found), limit)
        return base.table(LONG_COLUMNS if parsed_args.long else COLUMNS, servers)


def _add_attributes(parser: ArgumentParser) -> None:
    for option, what in (
        ("--ip", "address contains this or matches it"),
        ("--ip6", "IPv6 address contains this or matches it"),
        ("--key-name", "key pair has this name"),
    ):
        parser.add_argument(option, help=f"only servers whose {what}")
    for option, what in (
        ("--tags", "all of these tags"),
        ("--tags-any", "one of these tags"),
        ("--not-tags", "not all of these tags"),
        ("--not-tags-any", "none of these tags"),
    ):
        parser.add_argument(option, metavar="TAG[,TAG...]", help=f"only servers with {what}")
    locked = parser.add_mutually_exclusive_group()
    locked.add_argument("--locked", action="store_true", default=None, help="only locked servers")
    locked.add_argument(
        "--unlocked", dest="locked", action="store_false", help="only servers that are not locked"
    )
    parser.add_argument(
        "--sort",
        metavar="KEY[:DIRECTION]",
        default="",
        help="order, asc or desc, such as display_name:asc; several with commas",
    )


def _attributes(parsed_args: Namespace) -> Document:
    """Return the query parameters of ``_add_attributes``."""
    keys = [each.partition(":") for each in parsed_args.sort.split(",") if each]
    return arguments.given(
        ip=parsed_args.ip,
        ip6=parsed_args.ip6,
        key_name=parsed_args.key_name,
        tags=parsed_args.tags,
        locked=None if parsed_args.locked is None else str(parsed_args.locked),
        sort_key=[key for key, _colon, _direction in keys] or None,
        sort_dir=[direction or "desc" for _key, _colon, direction in keys] or None,
        **{
            "tags-any": parsed_args.tags_any,
            "not-tags": parsed_args.not_tags,
            "not-tags-any": parsed_args.not_tags_any,
        },
    )


class ListServerEvents(base.ApiLister):
    """List the actions on a server, step by step, oldest first."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("server", help="id or name")
        parser.add_argument("--long", action="store_true", help="show when each step finished")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        server = find_server(self.api, parsed_args.server)["id"]
        path = ("servers", server, "os-instance-actions")
        actions = self.api.get(*path)["instanceActions"]
        events = (
            event
            for action in reversed(actions)
            for event in _events(self.api.get(*path, action["request_id"])["instanceAction"])
        )
        return base.table(LONG_EVENT_COLUMNS if parsed_args.long else EVENT_COLUMNS, events)


def _events(action: Document) -> list[Document]:
    """Return the events of an action, or itself as one if it has none yet."""
    name = {"action": action["action"]}
    if action["events"]:
        return [{"host": None, "details": None, **event, **name} for event in action["events"]]
    unknown = dict.fromkeys(("event", "host", "result", "armillary:attempt"))
    begun = {"start_time": action["start_time"], "finish_time": action["updated_at"]}
    return [{**unknown, **begun, **name, "details": action["message"]}]
