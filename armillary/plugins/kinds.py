"""Imports for third parties' kinds of resources; loads no part of the scheduler."""

from objects.claims.resource_kinds import Figure, PoolAttribute, ResourceKind, WeigherSetting

__all__ = ["Figure", "PoolAttribute", "ResourceKind", "WeigherSetting"]
