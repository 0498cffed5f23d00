"""Extensions: parts of the Compute API that early clients looked for by name."""

from __future__ import annotations

from api.call import Call
from api.policies import extension as policies
from api.schemas import extension as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes

UPDATED = "2014-12-03T00:00:00Z"
"""Date of the last extension: since then, versions tell what is there."""

NAMES = {
    "os-aggregates": "Aggregates",
    "os-availability-zone": "AvailabilityZone",
    "os-console-output": "ConsoleOutput",
    "os-consoles": "Consoles",
    "os-evacuate": "Evacuate",
    "os-extended-availability-zone": "ExtendedAvailabilityZone",
    "os-extended-server-attributes": "ExtendedServerAttributes",
    "os-extended-status": "ExtendedStatus",
    "os-flavor-access": "FlavorAccess",
    "os-flavor-extra-specs": "FlavorExtraSpecs",
    "os-flavor-manage": "FlavorManage",
    "os-hosts": "Hosts",
    "os-hypervisors": "Hypervisors",
    "os-instance-actions": "InstanceActions",
    "os-lock-server": "LockServer",
    "os-migrate-server": "MigrateServer",
    "os-migrations": "Migrations",
    "os-multiple-create": "MultipleCreate",
    "os-quota-sets": "Quotas",
    "os-scheduler-hints": "SchedulerHints",
    "os-server-groups": "ServerGroups",
    "os-server-usage": "ServerUsage",
    "os-services": "Services",
    "os-shelve": "Shelve",
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
