"""``armillary-manage zone``: direct child zones and their transport URLs."""

from argparse import ArgumentParser, Namespace
from typing import Any

from conductor.super_conductor.db.zones import zone_records
from programs.application import WithOptions
from programs.operator.service_clients import peers
from programs.operator.transport_records import (
    CreateRecord,
    ListRecords,
    RecordKind,
    RemoveRecord,
    TransportRecord,
    UpdateRecord,
)

ZONES = RecordKind(
    "zone",
    zone_records.list_zones,
    zone_records.get_zone,
    zone_records.create_zone,
    zone_records.update_zone,
    zone_records.delete_zone,
    # As for "cell delete": live servers in it, mappings of deleted ones.
    {"servers": 3, "leftovers": 4},
    {"Weight offset": "weight_offset", "Weight scale": "weight_scale"},
)
_WEIGHTS = ("weight_offset", "weight_scale")


def _add_weights(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--weight-offset",
        type=float,
        metavar="NUMBER",
        help="what is added to the weight of each of its hosts, beside those of other zones",
    )
    parser.add_argument(
        "--weight-scale",
        type=float,
        metavar="NUMBER",
        help="what the weight of each of its hosts is multiplied by before",
    )


class ZoneAdd(CreateRecord):
    """Add a child zone; services pick it up automatically.

    The name is that of the child's [zones] name; the transport URL is that of the child's broker,
    with an account that the child created for its parent.
    """

    kind = ZONES
    name_help = "[zones] name of the child"
    broker = "child's broker"
    disabled_help = "add it disabled: it is not asked for hosts"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        _add_weights(parser)

    def create(self, session: Any, parsed_args: Namespace, **values: Any) -> TransportRecord:
        given = {name: getattr(parsed_args, name) for name in _WEIGHTS}
        weights = {name: value for name, value in given.items() if value is not None}
        return super().create(session, parsed_args, **values, **weights)


class ZoneList(ListRecords):
    """List the direct child zones; passwords are masked."""

    kind = ZONES


class ZoneUpdate(UpdateRecord):
    """Change a zone. Services pick the change up automatically."""

    kind = ZONES
    changes = (*UpdateRecord.changes, *_WEIGHTS)
    disable_help = "no new servers there; existing ones keep running and can be managed"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        _add_weights(parser)


class ZoneRemove(RemoveRecord):
    """Remove a zone from the tree. Nothing is changed in the zone itself.

    Exit codes: 1 no such zone, 3 servers of this zone run in it or are being built there (not even
    with --force: they would become unreachable), 4 mappings of deleted servers are left.
    """

    kind = ZONES
    force_help = "also remove mappings of deleted servers"


class ZoneRefresh(WithOptions):
    """Make all zones of the tree push their summaries now; needs this zone's top broker."""

    app: Any

    def take_action(self, parsed_args: Namespace) -> None:
        with peers(self.app.conf) as asked:
            asked.conductor.refresh_zones(asked.context)
