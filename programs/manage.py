"""``armillary-manage``: databases, cells, zones, keys and allocations, for operators."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from programs.operator.bootstrap import bootstrap

if TYPE_CHECKING:
    from programs.operator.application import OperatorApp

PROGRAM = "armillary-manage"

DESCRIPTION = """
Databases, cells, zones, keys and allocations of an Armillary deployment.

Exit codes: 0 success; 1 refused or failed; 2 usage error; 78 configuration error. "cell delete",
"zone remove", "db archive", "db purge" and the "placement" commands have codes of their own; see
their help.
"""

_PLACES = {
    "db sync": "db_commands:DbSync",
    "db version": "db_commands:DbVersion",
    "db archive": "archive_commands:DbArchive",
    "db purge": "archive_commands:DbPurge",
    "db online-data-migrations": "db_commands:DbOnlineDataMigrations",
    "broker permissions": "broker_commands:BrokerPermissions",
    "cell create": "cell_commands:CellCreate",
    "cell list": "cell_commands:CellList",
    "cell update": "cell_commands:CellUpdate",
    "cell delete": "cell_commands:CellDelete",
    "cell simple-setup": "cell_hosts:CellSimpleSetup",
    "cell list-hosts": "cell_hosts:CellListHosts",
    "cell delete-host": "cell_hosts:CellDeleteHost",
    "cell verify-instance": "cell_hosts:CellVerifyInstance",
    "cell discover-hosts": "cell_commands:CellDiscoverHosts",
    "cell map-instances": "cell_commands:CellMapInstances",
    "cell host-requests": "cell_commands:CellHostRequests",
    "cell approve-host": "cell_commands:CellApproveHost",
    "cell release-host": "cell_commands:CellReleaseHost",
    "zone add": "zone_commands:ZoneAdd",
    "zone list": "zone_commands:ZoneList",
    "zone update": "zone_commands:ZoneUpdate",
    "zone remove": "zone_commands:ZoneRemove",
    "zone refresh": "zone_commands:ZoneRefresh",
    "deploy remove-cell": "deploy.removal_commands:DeployRemoveCell",
    "deploy remove-host": "deploy.removal_commands:DeployRemoveHost",
    "deploy single": "deploy.commands:DeploySingle",
    "deploy add-cell": "deploy.commands:DeployAddCell",
    "deploy add-host": "deploy.commands:DeployAddHost",
    "deploy join": "deploy.commands:DeployJoin",
    "deploy start": "deploy.commands:DeployStart",
    "deploy stop": "deploy.commands:DeployStop",
    "host rotate-id-key": "host_commands:HostRotateIdKey",
    "identity hash-password": "identity_commands:HashPassword",
    "image rotate-ticket-key": "image_commands:ImageRotateTicketKey",
    "key create": "key_commands:KeyCreate",
    "key show": "key_commands:KeyShow",
    "key trust": "key_commands:KeyTrust",
    "key hosts": "key_commands:KeyHosts",
    "key list": "key_commands:KeyList",
    "key rotate": "key_commands:KeyRotate",
    "key revoke": "key_commands:KeyRevoke",
    "key sign": "key_commands:KeySign",
    "nova import-config": "nova.import_config:NovaImportConfig",
    "plugin list": "plugin_commands:PluginList",
    "plugin create": "plugin_commands:PluginCreate",
    "placement audit": "placement.audit:PlacementAudit",
    "placement heal-allocations": "placement.heal_allocations:PlacementHealAllocations",
    "placement adopt-providers": "placement.adopt_providers:PlacementAdoptProviders",
    "placement sync-aggregates": "placement.sync_aggregates:PlacementSyncAggregates",
}
_ALONE = frozenset({"nova", "identity"})
"""First words of commands that use neither a database nor a broker, and start sooner."""
COMMANDS = {words: f"programs.operator.{place}" for words, place in _PLACES.items()}


def main(argv: Sequence[str] | None = None) -> int:
    argv = sys.argv[1:] if argv is None else argv
    bootstrap(argv, PROGRAM, runs_services=_ALONE.isdisjoint(argv))
    from armillary.files.umask import PUBLIC_UMASK, tighten_umask

    tighten_umask(PUBLIC_UMASK)
    return make_app().run(list(argv))


def make_app(stdout: TextIO | None = None, stderr: TextIO | None = None) -> OperatorApp:
    """Return the application with its table of commands; the caller has bootstrapped."""
    from programs.operator.application import OperatorApp
    from programs.operator.nova import words as nova_words

    return OperatorApp(
        PROGRAM, DESCRIPTION, COMMANDS, words=nova_words.MANAGE, stdout=stdout, stderr=stderr
    )
