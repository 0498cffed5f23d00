"""Aggregates: sets of hosts and their metadata; availability zones, of which users choose one."""

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from typing import Any

from armillary import exception
from armillary.table_columns import cells
from programs.commands import arguments, base
from programs.commands.lookup import find_aggregate, find_image
from programs.http_client import ApiClient, Document

AGGREGATES = "os-aggregates"

AGGREGATE = base.Noun(
    "aggregate",
    AGGREGATES,
    find_aggregate,
    {
        "id": "id",
        "uuid": "uuid",
        "name": "name",
        "availability_zone": "availability_zone",
        "hosts": "hosts",
        "properties": "metadata",
        "created": "created_at",
        "updated": "updated_at",
    },
)
COLUMNS: base.Columns = {
    "Name": "name",
    "Zone": "availability_zone",
    "Hosts": "hosts",
    "Age": base.age("created_at"),
    "Properties": "metadata",
    "ID": "id",
}


class CreateAggregate(base.ApiShow):
    """Create an aggregate without hosts."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="name")
        parser.add_argument("--zone", help="availability zone of its hosts")
        arguments.add_pairs(parser, "--property", "properties", "metadata")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        aggregate = {"name": parsed_args.name, "availability_zone": parsed_args.zone}
        created = self.api.post(AGGREGATES, body={"aggregate": aggregate})["aggregate"]
        if parsed_args.properties:
            with base.removed_on_failure(self.api, AGGREGATES, str(created["id"])):
                created = _set_metadata(self.api, created["id"], dict(parsed_args.properties))
        return base.record(AGGREGATE.fields, created)


class ListAggregates(base.ApiLister):
    """List aggregates."""

    def take_action(self, parsed_args: Namespace) -> base.Table:
        return base.table(COLUMNS, self.items("aggregates", AGGREGATES))


class ShowAggregate(base.ShowNamed):
    """Show one aggregate."""

    noun = AGGREGATE


class SetAggregate(base.ApiCommand):
    """Change an aggregate's name, zone or properties."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("aggregate", help="id or name")
        parser.add_argument("--name", help="new name")
        parser.add_argument("--zone", help="new availability zone of its hosts")
        arguments.add_pairs(parser, "--property", "properties", "property to set")
        arguments.add_list(parser, "--no-property", "removed", "KEY", "property to remove")

    def take_action(self, parsed_args: Namespace) -> int:
        changes = arguments.given(name=parsed_args.name, availability_zone=parsed_args.zone)
        metadata = {**dict(parsed_args.properties), **dict.fromkeys(parsed_args.removed)}
        if not changes and not metadata:
            raise exception.Invalid(
                "Nothing to change: give --name, --zone, --property or --no-property."
            )
        aggregate = str(find_aggregate(self.api, parsed_args.aggregate)["id"])
        if changes:
            self.api.put(AGGREGATES, aggregate, body={"aggregate": changes})
        if metadata:
            _set_metadata(self.api, aggregate, metadata)
        return 0


class UnsetAggregate(base.ApiCommand):
    """Remove properties of an aggregate."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("aggregate", help="id or name")
        parser.add_argument(
            "--property", dest="removed", metavar="KEY", action="append", required=True,
            help="property to remove; may be repeated",
        )  # fmt: skip

    def take_action(self, parsed_args: Namespace) -> int:
        aggregate = find_aggregate(self.api, parsed_args.aggregate)["id"]
        _set_metadata(self.api, aggregate, dict.fromkeys(parsed_args.removed))
        return 0


class DeleteAggregates(base.DeleteNamed):
    """Delete aggregates that have no hosts."""

    noun = AGGREGATE


class _ChangeHosts(base.ApiShow):
    """Common part of the commands that add and remove a host."""

    ACTION: str

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("aggregate", help="id or name")
        parser.add_argument("host", help="name of the host")

    def take_action(self, parsed_args: Namespace) -> base.Record:
        aggregate = str(find_aggregate(self.api, parsed_args.aggregate)["id"])
        body = {self.ACTION: {"host": parsed_args.host}}
        changed = self.api.post(AGGREGATES, aggregate, "action", body=body)["aggregate"]
        return base.record(AGGREGATE.fields, changed)


class AddAggregateHost(_ChangeHosts):
    """Add a host to an aggregate."""

    ACTION = "add_host"


class RemoveAggregateHost(_ChangeHosts):
    """Remove a host from an aggregate."""

    ACTION = "remove_host"


class CacheImages(base.ApiCommand):
    """Have the hosts of an aggregate fetch images, a few hosts at a time."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("aggregate", help="id or name")
        parser.add_argument("images", nargs="+", metavar="image", help="id or name")

    def take_action(self, parsed_args: Namespace) -> None:
        aggregate = str(find_aggregate(self.api, parsed_args.aggregate)["id"])
        ids = dict.fromkeys(find_image(self.api, image)["id"] for image in parsed_args.images)
        body = {"cache": [{"id": image_id} for image_id in ids]}
        self.api.post(AGGREGATES, aggregate, "images", body=body)


class ListAvailabilityZones(base.ApiLister):
    """List availability zones."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--long", action="store_true", help="show the hosts (administrators)")

    def take_action(self, parsed_args: Namespace) -> base.Table:
        path = ("os-availability-zone", "detail") if parsed_args.long else ("os-availability-zone",)
        zones = self.api.get(*path)["availabilityZoneInfo"]
        if not parsed_args.long:
            return ("Zone", "State"), [cells(_zone_and_state(zone)) for zone in zones]
        rows = [cells((*_zone_and_state(zone), _hosts(zone["hosts"]))) for zone in zones]
        return ("Zone", "State", "Hosts"), rows


def _set_metadata(
    api: ApiClient, aggregate: object, metadata: Mapping[str, str | None]
) -> Document:
    """Set properties, or remove those that are None; return the aggregate."""
    body = {"set_metadata": {"metadata": metadata}}
    changed: Document = api.post(AGGREGATES, str(aggregate), "action", body=body)["aggregate"]
    return changed


def _zone_and_state(zone: Document) -> tuple[str, str]:
    state = "available" if zone["zoneState"]["available"] else "not available"
    return zone["zoneName"], state


def _hosts(hosts: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return for each host whether any of its services is up and enabled."""
    return {
        host: "up"
        if any(s["active"] and s["available"] for s in services.values())
        else "not in use"
        for host, services in hosts.items()
    }
