"""Imports for kinds of resources of third parties, without a scheduler."""

from objects.claims.resource_kinds import Figure, PoolAttribute, ResourceKind, WeigherSetting

__all__ = ["Figure", "PoolAttribute", "ResourceKind", "WeigherSetting"]
