"""Route table: path, method, handler, policy, schemas; a noun's part is beside its handlers."""

from __future__ import annotations

from placement.rest.call import Routes
from placement.rest.handlers import (
    aggregate,
    allocation,
    allocation_candidate,
    health,
    inventory,
    provider_allocation,
    provider_trait,
    provider_usage,
    reshaper,
    resource_class,
    resource_provider,
    root,
    trait,
    usage,
)

_NOUNS = (
    root, health, resource_provider, aggregate, inventory, resource_class, trait, provider_trait,
    allocation, provider_allocation, provider_usage, usage, reshaper, allocation_candidate,
)  # fmt: skip

ROUTES: Routes = {path: methods for noun in _NOUNS for path, methods in noun.ROUTES.items()}
