"""Calls of openstacksdk in their order; each has a name, and code whose value is true.

Runs in the clients' environment, which has none of our packages: ``python sdk_calls.py CLOUD``
prints a JSON object of those that failed, with the reason.
"""

import importlib
import json
import sys
import time
from typing import Any

CALLS = """
create_server: cloud.create_server('sdk-1', image='sdk-image', flavor='sdk-tiny', auto_ip=False, \
wait=True, timeout=60, meta={'a': 'b'}).status == 'ACTIVE'
find_server: compute.find_server('sdk-1', all_projects=True).name == 'sdk-1'
find_nothing: compute.find_server('sdk-0') is None and compute.find_flavor('sdk-0') is None
get_server: cloud.get_server('sdk-1').metadata == {'a': 'b'}
get_server_by_id: cloud.get_server_by_id(server().id).name == 'sdk-1'
list_servers: 'sdk-1' in [one.name for one in cloud.list_servers(detailed=True)]
list_servers_filtered: [one.name for one in cloud.list_servers(filters={'name': 'sdk-1'})] == \
['sdk-1']
list_servers_of_all: len(cloud.list_servers(all_projects=True, bare=True)) > 0
search_servers: [one.name for one in cloud.search_servers('sdk-*')] == ['sdk-1']
servers_in_pages: len(list(compute.servers(limit=1, sort_key='display_name'))) > 0
update_server: cloud.update_server('sdk-1', description='new').description == 'new'
set_server_metadata: cloud.set_server_metadata('sdk-1', {'c': 'd'}) is None
delete_server_metadata: cloud.delete_server_metadata('sdk-1', ['c']) is None
add_tag: compute.add_tag_to_server(server(), 'tag') is None
remove_tags: compute.remove_tags_from_server(server()) is None
get_server_console: 'simulated' in cloud.get_server_console('sdk-1')
diagnostics: compute.get_server_diagnostics(server()).state == 'running'
pause: compute.pause_server(server()) is None and at_rest('PAUSED')
live_migrate_paused: compute.live_migrate_server(server(), host=None, block_migration='auto') \
is None and at_rest('PAUSED')
unpause: compute.unpause_server(server()) is None and at_rest('ACTIVE')
suspend: compute.suspend_server(server()) is None and at_rest('SUSPENDED')
resume: compute.resume_server(server()) is None and at_rest('ACTIVE')
stop: compute.stop_server(server()) is None and at_rest('SHUTOFF')
start: compute.start_server(server()) is None and at_rest('ACTIVE')
rescue: compute.rescue_server(server()) is None and at_rest('RESCUE')
unrescue: compute.unrescue_server(server()) is None and at_rest('ACTIVE')
shelve: compute.shelve_server(server()) is None and at_rest('SHELVED_OFFLOADED')
shelved_image: cloud.get_image('sdk-1-shelved').status == 'active'
unshelve: compute.unshelve_server(server()) is None and at_rest('ACTIVE')
no_shelved_image: cloud.get_image('sdk-1-shelved') is None
resize: compute.resize_server(server(), compute.find_flavor('sdk-small')) is None and \
at_rest('VERIFY_RESIZE')
revert: compute.revert_server_resize(server()) is None and at_rest('ACTIVE')
migrate: compute.migrate_server(server()) is None and at_rest('VERIFY_RESIZE')
confirm: compute.confirm_server_resize(server()) is None and at_rest('ACTIVE')
migrations: {one.migration_type for one in compute.migrations(instance_uuid=server().id)} >= \
{'live-migration', 'migration', 'resize'}
migrations_of_project: list(compute.migrations(project_id='nothing')) == []
migrations_in_pages: len(list(compute.migrations(limit=1))) >= 3
actions_in_pages: len(list(compute.server_actions(server(), limit=2))) > 10
an_action: compute.get_server_action(next(compute.server_actions(server())).request_id, \
server()).events is not None
rebuild_server: cloud.rebuild_server(server().id, image.id, wait=True, timeout=60).status == \
'ACTIVE'
create_image_snapshot: cloud.create_image_snapshot('sdk-snapshot', 'sdk-1', wait=True, \
timeout=60).status == 'active'
delete_image: cloud.delete_image('sdk-snapshot', wait=True)
lock: compute.lock_server(server(), locked_reason='x') is None and server().is_locked
unlock: compute.unlock_server(server()) is None and not server().is_locked
change_password: compute.change_server_password(server(), 'new') is None
crash_dump: refused(lambda: compute.trigger_server_crash_dump(server()), 'crash dump')
interfaces: len(list(compute.server_interfaces(server()))) == 1
security_groups: compute.fetch_server_security_groups(server()).security_groups == []
volume_attachments: list(compute.volume_attachments(server())) == []
volume_attachments_in_pages: list(compute.volume_attachments(server(), limit=1)) == []
server_groups: cloud.delete_server_group(cloud.create_server_group('sdk', policy='affinity').id)
keypairs: cloud.create_keypair('sdk').name == 'sdk' and cloud.delete_keypair('sdk')
aggregates: cloud.create_aggregate('sdk').name == 'sdk' and cloud.delete_aggregate('sdk')
aggregate_without_zone: cloud.create_aggregate('sdk-zoned', availability_zone='sdk-zone') and \
cloud.update_aggregate('sdk-zoned', availability_zone=None).availability_zone is None and \
cloud.delete_aggregate('sdk-zoned')
flavors_sorted: len(list(compute.flavors(sort_key='vcpu_weight', sort_dir='desc'))) >= 2
numbers_in_extra_specs: cloud.set_flavor_specs(compute.find_flavor('sdk-tiny').id, {'a': 1}) is None
availability_zones: all(service['nova-compute']['updated_at'] for zone in \
compute.availability_zones(details=True) for service in (zone.hosts or {}).values())
hypervisors: compute.find_hypervisor('sim-1', details=True).name == 'sim-1'
services: len(list(compute.services(host='sim-1'))) == 1
quotas: cloud.get_compute_quotas('admin').instances is not None
quotas_of_a_user: compute.get_quota_set('admin', user_id='admin').instances is not None
limits: cloud.get_compute_limits().instances_used >= 1
usage: cloud.get_compute_usage('admin').total_hours >= 0
delete_server: cloud.delete_server('sdk-1', wait=True, timeout=60)
"""
SECONDS_MAX = 60.0


def run(cloud: Any, tests: str) -> dict[str, str]:
    """Return the calls that failed, with the reason."""
    compute = cloud.compute
    for name, memory in (("sdk-tiny", 64), ("sdk-small", 128)):
        cloud.create_flavor(name, memory, 1, 1)
    values: dict[str, Any] = {
        "cloud": cloud,
        "compute": compute,
        "image": cloud.create_image("sdk-image", img_hv_type="simulated", visibility="public"),
        "server": lambda: compute.get_server(compute.find_server("sdk-1")),
        "at_rest": lambda status: _is_at_rest(compute, status),
        "refused": _is_refused,
    }
    failed = {}
    for line in tests.replace("\\\n", "").strip().splitlines():
        name, _, code = line.partition(": ")
        try:
            if not eval(code, values):
                failed[name] = "is not true"
        except Exception as error:
            failed[name] = f"{type(error).__name__}: {error}"
    return failed


def _is_at_rest(compute: Any, status: str) -> bool:
    """Wait until nothing is done to the server; return whether it has this status."""
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        server = compute.get_server(compute.find_server("sdk-1"))
        is_shelved = server.status == "SHELVED" and status == "SHELVED_OFFLOADED"
        if server.task_state is None and not is_shelved:
            return bool(server.status == status)
        time.sleep(0.2)
    return False


def _is_refused(call: Any, reason: str) -> bool:
    try:
        call()
    except Exception as error:
        return reason in str(error)
    return False


if __name__ == "__main__":
    connected = importlib.import_module("openstack").connect(cloud=sys.argv[1])
    print(json.dumps(run(connected, CALLS)))  # noqa: T201 - its answer
