"""Route table: path, method, handler, policy, schemas; a noun's part is beside its handlers."""

from placement.rest.call import Routes
from placement.rest.handlers import (
    aggregate,
    allocation,
    allocation_candidate,
    inventory,
    provider_trait,
    reshaper,
    resource_class,
    resource_provider,
    root,
    trait,
    usage,
)

_NOUNS = (
    root, resource_provider, aggregate, inventory, resource_class, trait, provider_trait,
    allocation, usage, reshaper, allocation_candidate,
)  # fmt: skip

ROUTES: Routes = {path: methods for noun in _NOUNS for path, methods in noun.ROUTES.items()}
