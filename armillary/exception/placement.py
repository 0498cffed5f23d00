"""Errors of placement: providers, inventories, traits, allocations and consumers."""

from armillary.exception.families import Conflict, Exists, InUse, Invalid, NotFound


class ResourceProviderNotFound(NotFound):
    """No provider has this UUID."""

    template = "No resource provider with uuid %(provider)s found."


class ResourceProviderInUse(InUse):
    """A provider with allocations cannot be deleted."""

    template = "Unable to delete resource provider %(provider)s: Resource provider has allocations."


class ResourceProviderHasChildren(InUse):
    """A provider with children cannot be deleted; delete the children first."""

    template = (
        "Unable to delete parent resource provider %(provider)s: It has child resource providers."
    )


class ResourceProviderExists(Exists, Conflict):
    """UUIDs and names of providers are unique."""

    template = "Conflicting resource provider %(field)s: %(value)s already exists."


class ProviderParentRefused(Invalid):
    """The provider cannot have this parent, or not with this version of the API."""

    template = "Unable to %(action)s resource provider %(provider)s: %(reason)s"


class ResourceProviderGenerationConflict(Conflict):
    """The provider was changed by another writer since it was read."""

    template = (
        "Resource provider %(provider)s was changed by another writer (resource provider "
        "generation conflict); read it again."
    )


class ResourceClassNotFound(NotFound):
    """The class is neither standard nor an existing custom one."""

    template = "No such resource class %(resource_class)s."


class TraitNotFound(NotFound):
    """The traits are neither standard nor existing custom ones."""

    template = "No such trait(s): %(traits)s."


class InventoryInUse(InUse):
    """An inventory with allocations cannot be removed."""

    template = "Inventory for '%(resource_class)s' on resource provider '%(provider)s' in use."


class InventoryNotFound(NotFound):
    """The provider has no inventory of this class."""

    template = "No inventory of class %(resource_class)s for %(provider)s."


class InventoryExists(Exists, Conflict):
    """The provider has an inventory of this class already."""

    template = "Resource provider %(provider)s has an inventory of %(resource_class)s already."


class ResourceClassExists(Exists, Conflict):
    """A resource class has this name already."""

    template = "Resource class %(resource_class)s exists already."


class ResourceClassInUse(InUse):
    """A resource class that is used in an inventory cannot be deleted."""

    template = "Class is in use in inventory: %(resource_class)s."


class TraitInUse(InUse):
    """A trait that is used by a provider cannot be deleted."""

    template = "The trait %(trait)s is in use by a resource provider."


class StandardName(Invalid):
    """A standard resource class or trait cannot be changed."""

    template = "Cannot %(verb)s standard %(kind)s %(name)s."


class InvalidInventory(Invalid):
    """An inventory is invalid."""

    template = "Invalid inventory for %(resource_class)s on provider %(provider)s: %(reason)s"


class InvalidResourceQuery(Invalid):
    """A query for allocation candidates is invalid."""

    template = "Invalid resource query: %(reason)s"


class ConsumerGenerationConflict(Conflict):
    """The consumer was changed by another writer since it was read."""

    template = "Consumer %(consumer)s was changed by another writer; read it again."


class ConsumerNotFound(NotFound):
    """The consumer has no allocations."""

    template = "No consumer %(consumer)s found."


class CapacityExceeded(Conflict):
    """A provider has too little of a class, or the amount violates its inventory's unit rules."""

    template = (
        "Unable to allocate inventory: %(resource_class)s on resource provider %(provider)s: "
        "%(reason)s."
    )


class NothingToAllocate(CapacityExceeded):
    """A provider has no inventory of a requested class."""

    template = (
        "Unable to allocate inventory: Inventory for '%(resource_class)s' on resource provider "
        "'%(provider)s' does not exist."
    )
