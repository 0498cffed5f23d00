"""Route table: path, method, handler, policy, schemas; each noun's part is beside its handlers."""

from api.call import Call
from api.handlers import event, extension, health, version
from api.handlers.claims import claim, pool
from api.handlers.console import console_link, fleet, fleet_host, now
from api.handlers.flavors import extra_spec, flavor, flavor_access
from api.handlers.hosts import aggregate, availability_zone, host, hypervisor, service, usage_audit
from api.handlers.images import image, image_metadata
from api.handlers.networks import external_event, network_proxy, server_attachment
from api.handlers.quotas import limit, quota_set, usage
from api.handlers.scheduling import allocation, dry_run, explanation, zone
from api.handlers.servers import (
    console_grant,
    diagnostics,
    instance_action,
    key_pair,
    migration,
    remote_console,
    server,
    server_action_routes,
    server_group,
    server_metadata,
    server_tag,
    server_topology,
    volume_attachment,
)
from armillary.http.dispatch import Routes

_NOUNS = (
    version, server, server_metadata, server_attachment, server_tag, server_action_routes,
    migration, instance_action, flavor, flavor_access, extra_spec, image, image_metadata,
    hypervisor, host, service, aggregate, availability_zone, server_group, quota_set, limit,
    key_pair, extension, explanation, dry_run, allocation, zone, health, event,
    usage, usage_audit, diagnostics, remote_console, external_event, claim, pool,
    server_topology, network_proxy, console_grant, console_link, fleet, fleet_host, now,
    volume_attachment,
)  # fmt: skip

ROUTES: Routes[Call] = {path: methods for noun in _NOUNS for path, methods in noun.ROUTES.items()}
