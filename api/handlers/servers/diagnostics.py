"""Diagnostics of servers: what the driver of their host measures."""

import falcon

from api.call import Call
from api.handlers.servers import server
from api.policies.servers import diagnostics as policies
from api.schemas.servers import diagnostics as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Routes
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics, DiskDiagnostics

SAME_OF_ALL_DRIVERS_SINCE = (2, 48)
"""In earlier versions the fields are those that libvirt's driver had."""
STATES = {"running": "running", "paused": "paused", "suspended": "suspended"}
OFF = "shutdown"
_NANOSECONDS = 10**9
_KIB_PER_MIB = 1024


def show(call: Call) -> Answer:
    """Show what is measured of a server."""
    try:
        found = call.conductor.get_diagnostics(call.context, call.path["server_id"])
    except exception.OperationUnsupported as error:
        raise falcon.HTTPNotImplemented(description=error.message) from error
    if call.version < SAME_OF_ALL_DRIVERS_SINCE:
        return Answer(_in_words_of_libvirt(call.subject, found))
    return Answer(_plain(call.subject, found))


def _plain(instance: Instance, found: Diagnostics) -> Document:
    memory_max_mb = _memory_max_mb(instance, found)
    return {
        "state": STATES.get(found.power_state, OFF),
        "driver": found.driver,
        "hypervisor": found.hypervisor,
        "hypervisor_os": found.hypervisor_os,
        "uptime": found.uptime_seconds,
        "config_drive": instance.settings is not None and instance.settings.config_drive,
        "num_cpus": instance.flavor.vcpus,
        "num_nics": 0,
        "num_disks": len(found.disks),
        "memory_details": {"maximum": memory_max_mb, "used": found.memory_used_mb},
        "cpu_details": [
            {"id": number, "time": _nanoseconds(seconds), "utilisation": None}
            for number, seconds in enumerate(found.cpu_seconds)
        ],
        "nic_details": [],
        "disk_details": [_disk(disk) for disk in found.disks],
    }


def _disk(disk: DiskDiagnostics) -> Document:
    return {
        "read_bytes": disk.read_bytes,
        "read_requests": disk.read_requests,
        "write_bytes": disk.write_bytes,
        "write_requests": disk.write_requests,
        "errors_count": disk.errors,
    }


def _in_words_of_libvirt(instance: Instance, found: Diagnostics) -> Document:
    made: Document = {"memory": _memory_max_mb(instance, found) * _KIB_PER_MIB}
    if found.memory_used_mb is not None:
        made["memory-rss"] = found.memory_used_mb * _KIB_PER_MIB
    for number, seconds in enumerate(found.cpu_seconds):
        made[f"cpu{number}_time"] = _nanoseconds(seconds)
    for number, disk in enumerate(found.disks):
        name = f"vd{chr(ord('a') + number % 26)}"
        made[f"{name}_read"], made[f"{name}_read_req"] = disk.read_bytes, disk.read_requests
        made[f"{name}_write"], made[f"{name}_write_req"] = disk.write_bytes, disk.write_requests
        made[f"{name}_errors"] = disk.errors
    return made


def _memory_max_mb(instance: Instance, found: Diagnostics) -> int:
    return instance.flavor.memory_mb if found.memory_max_mb is None else found.memory_max_mb


def _nanoseconds(seconds: float | None) -> int | None:
    return None if seconds is None else int(seconds * _NANOSECONDS)


ROUTES: Routes[Call] = {
    "/v2.1/servers/{server_id}/diagnostics": {
        "GET": server.action(show, policies.SHOW, schemas.SHOW_ANSWER)
    }
}
