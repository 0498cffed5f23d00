"""Extensions: parts of the Compute API that early clients looked for by name."""

from api.call import Call
from api.policies import extension as policies
from api.schemas import extension as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes

UPDATED = "2014-12-03T00:00:00Z"
"""Date of the last extension: since then, versions tell what is there."""

NAMES = {
    "OS-DCF": "DiskConfig",
    "OS-EXT-IPS": "ExtendedIps",
    "OS-EXT-IPS-MAC": "ExtendedIpsMac",
    "OS-FLV-DISABLED": "FlavorDisabled",
    "OS-FLV-EXT-DATA": "FlavorExtraData",
    "os-admin-actions": "AdminActions",
    "os-admin-password": "AdminPassword",
    "os-aggregates": "Aggregates",
    "os-attach-interfaces": "AttachInterfaces",
    "os-availability-zone": "AvailabilityZone",
    "os-block-device-mapping-v2-boot": "BlockDeviceMappingV2Boot",
    "os-config-drive": "ConfigDrive",
    "os-console-output": "ConsoleOutput",
    "os-consoles": "Consoles",
    "os-create-backup": "CreateBackup",
    "os-deferred-delete": "DeferredDelete",
    "os-evacuate": "Evacuate",
    "os-extended-availability-zone": "ExtendedAvailabilityZone",
    "os-extended-server-attributes": "ExtendedServerAttributes",
    "os-extended-status": "ExtendedStatus",
    "os-extended-volumes": "ExtendedVolumes",
    "os-flavor-access": "FlavorAccess",
    "os-flavor-extra-specs": "FlavorExtraSpecs",
    "os-flavor-manage": "FlavorManage",
    "os-flavor-rxtx": "FlavorRxtx",
    "os-hosts": "Hosts",
    "os-hypervisors": "Hypervisors",
    "os-instance-actions": "InstanceActions",
    "os-instance_usage_audit_log": "InstanceUsageAuditLog",
    "os-keypairs": "Keypairs",
    "os-lock-server": "LockServer",
    "os-migrate-server": "MigrateServer",
    "os-migrations": "Migrations",
    "os-multiple-create": "MultipleCreate",
    "os-pause-server": "PauseServer",
    "os-personality": "Personality",
    "os-quota-class-sets": "QuotaClasses",
    "os-quota-sets": "Quotas",
    "os-rescue": "Rescue",
    "os-scheduler-hints": "SchedulerHints",
    "os-security-groups": "SecurityGroups",
    "os-server-diagnostics": "ServerDiagnostics",
    "os-server-external-events": "ServerExternalEvents",
    "os-server-groups": "ServerGroups",
    "os-server-password": "ServerPassword",
    "os-server-usage": "ServerUsage",
    "os-services": "Services",
    "os-shelve": "Shelve",
    "os-simple-tenant-usage": "SimpleTenantUsage",
    "os-suspend-server": "SuspendServer",
    "os-used-limits": "UsedLimits",
    "os-user-data": "UserData",
}
"""Aliases of the extensions that are part of this API, and their names."""


def index(call: Call) -> Answer:
    """List extensions."""
    return Answer({"extensions": [_show(alias) for alias in NAMES]})


def show(call: Call) -> Answer:
    """Show an extension."""
    alias = call.path["alias"]
    if alias not in NAMES:
        raise exception.NotFound(what=f"Extension {alias}")
    return Answer({"extension": _show(alias)})


def _show(alias: str) -> Document:
    return {
        "alias": alias,
        "name": NAMES[alias],
        "namespace": f"urn:armillary:compute:{alias}",
        "description": "",
        "links": [],
        "updated": UPDATED,
    }


ROUTES: Routes[Call] = {
    "/v2.1/extensions": {"GET": Action(index, policies.LIST, schemas.INDEX_ANSWER)},
    "/v2.1/extensions/{alias}": {"GET": Action(show, policies.LIST, schemas.SHOW_ANSWER)},
}
