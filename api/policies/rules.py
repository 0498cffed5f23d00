"""Default policies of all APIs on this port."""

from oslo_policy import policy

from api.policies import base, event, extension, health, identity
from api.policies.claims import claim, pool
from api.policies.console import console_link, fleet
from api.policies.flavors import extra_spec, flavor
from api.policies.hosts import aggregate, availability_zone, host, hypervisor, service, usage_audit
from api.policies.images import image, image_metadata, image_service
from api.policies.networks import external_event, network_proxy, server_attachment
from api.policies.quotas import limit, quota_set, usage
from api.policies.scheduling import allocation, dry_run, explanation, zone
from api.policies.servers import (
    diagnostics,
    instance_action,
    key_pair,
    migration,
    remote_console,
    server,
    server_action,
    server_group,
    server_metadata,
    server_tag,
    server_topology,
    volume_attachment,
)

_NOUNS = (
    base, server, server_metadata, server_tag, server_action, migration, instance_action, flavor,
    extra_spec, image, hypervisor, service, aggregate, availability_zone, server_group, quota_set,
    limit, explanation, dry_run, allocation, zone, health, event, identity, extension, host,
    key_pair, server_attachment, image_service,
    image_metadata, usage, usage_audit, diagnostics, remote_console, external_event, claim, pool,
    server_topology, network_proxy, console_link, fleet, volume_attachment,
)  # fmt: skip

RULES: list[policy.RuleDefault] = [rule for noun in _NOUNS for rule in noun.RULES]
