"""Default policies; one file per noun, each rule can be overridden in the policy file."""

from __future__ import annotations

from oslo_policy import policy

from api.policies import (
    aggregate,
    allocation,
    availability_zone,
    base,
    dry_run,
    event,
    explanation,
    extension,
    extra_spec,
    flavor,
    health,
    host,
    hypervisor,
    identity,
    image,
    image_metadata,
    image_service,
    instance_action,
    key_pair,
    limit,
    migration,
    quota_set,
    server,
    server_action,
    server_attachment,
    server_group,
    server_metadata,
    server_tag,
    service,
    zone,
)

_NOUNS = (
    base, server, server_metadata, server_tag, server_action, migration, instance_action, flavor,
    extra_spec, image, hypervisor, service, aggregate, availability_zone, server_group, quota_set,
    limit, explanation, dry_run, allocation, zone, health, event, identity, extension, host,
    key_pair, server_attachment, image_service,
    image_metadata,
)  # fmt: skip


def list_rules() -> list[policy.RuleDefault]:
    """Return every rule with its default, for the enforcer and the sample policy file."""
    return [rule for noun in _NOUNS for rule in noun.RULES]
