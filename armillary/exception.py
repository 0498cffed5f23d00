"""Every error a caller can act on, one class a fact, in families that a border can map.

oslo.messaging rebuilds an error on the caller's side from its arguments, and does so for classes of
this module only: an error that crosses a process is defined here, and its facts are plain values.
"""

from __future__ import annotations

from typing import Any


class ArmillaryError(Exception):
    """Root of all errors. The facts are kept in ``kwargs``.

    The message is made from them unless given.
    """

    template = "An unexpected error occurred."

    def __init__(self, message: str | None = None, **kwargs: Any) -> None:
        self.kwargs = kwargs
        if message is None:
            message = self._render(kwargs)
        self.message = message
        super().__init__(message)

    @classmethod
    def _render(cls, kwargs: dict[str, Any]) -> str:
        try:
            return cls.template % kwargs
        except (KeyError, TypeError, ValueError):
            facts = ", ".join(f"{key}={value}" for key, value in sorted(kwargs.items()))
            return f"{cls.__name__}: {facts}" if facts else cls.__name__


class NotFound(ArmillaryError):
    """Family: what was named does not exist."""

    template = "%(what)s was not found."


class Exists(ArmillaryError):
    """Family: what was to be made is there already."""

    template = "%(what)s exists already."


class Conflict(ArmillaryError):
    """Family: somebody else was faster, or the state does not allow it; read again and decide."""

    template = "The request conflicts with the current state: %(reason)s"


class InUse(Conflict):
    """Family: it cannot go away while something depends on it."""

    template = "%(what)s is in use: %(reason)s"


class Invalid(ArmillaryError):
    """Family: the input breaks a rule; nothing was changed."""

    template = "Invalid input: %(reason)s"


class Unavailable(ArmillaryError):
    """Family: a part of the system cannot be reached now; try again later."""

    template = "The service is unavailable: %(reason)s"


class Forbidden(ArmillaryError):
    """Family: the caller may not do this."""

    template = "This is not allowed: %(reason)s"


# Start-up and configuration ---------------------------------------------------------------------


class ConfigurationError(Invalid):
    """A service cannot start with this configuration; the message is one line for the operator."""

    template = "Configuration error: %(reason)s"


class PluginNotFound(ConfigurationError):
    """A plugin is named in the configuration but not installed."""

    template = (
        "%(option)s names the plugin '%(name)s', which is not installed; available: %(available)s"
    )


# Messages ----------------------------------------------------------------------------------------


class RpcTimeout(Unavailable):
    """No answer came in time: the outcome is unknown, the work may have been done."""

    template = "No answer to %(method)s on %(topic)s within %(timeout_seconds)s s; outcome unknown."


class RpcAnswerRefused(RpcTimeout):
    """An answer came that does not prove to be from who serves the topic: as good as none."""

    template = "The answer to %(method)s on %(topic)s is not believed: %(reason)s; outcome unknown."


class RpcUnavailable(Unavailable):
    """The broker or every server of a topic is out of reach: the work was not handed over."""

    template = "%(method)s on %(topic)s could not be sent: %(reason)s"


class RpcFailed(ArmillaryError):
    """The other side broke while doing it, and logged why; what it had done by then is unknown."""

    template = "%(method)s on %(topic)s failed unexpectedly: %(reason)s"


class RpcVersionTooOld(Invalid):
    """The peer, or its cap in [upgrade_levels], cannot do what is asked."""

    template = "%(topic)s %(method)s needs version %(needed)s, the peer is capped at %(cap)s."


class ServiceTooOld(Conflict):
    """A service is of a release that this one does not work with."""

    template = (
        "%(binary)s on %(host)s is of service version %(version)s; the oldest that is supported "
        "is %(oldest)s: upgrade it first, step by step"
    )


class HostTooOld(Conflict):
    """The agents of some hosts do not know yet what they would have to do."""

    template = (
        "%(operation)s needs agents of service version %(needed)s or later; older are those of "
        "%(hosts)s: upgrade armillary-compute there, or wait until that is done"
    )


class DatabaseUnavailable(Unavailable):
    """A database does not answer; the message names it without its password."""

    template = "The %(name)s database is unavailable: %(reason)s"


# Access ------------------------------------------------------------------------------------------


class PolicyNotAuthorized(Forbidden):
    """The policy does not allow the caller to do this."""

    template = "Policy doesn't allow %(rule)s to be performed."


class Unauthorized(ArmillaryError):
    """The caller did not prove who it is."""

    template = "The request needs a valid token."


class QuotaExceeded(Forbidden):
    """A project would go over one of its limits."""

    template = (
        "Quota exceeded for %(resource)s: requested %(requested)s, but already used %(used)s "
        "of %(limit)s"
    )


# Scheduling --------------------------------------------------------------------------------------


class NoValidHost(ArmillaryError):
    """No host fits.

    ``reason`` is one sentence for the operator, ``trace`` the decision trace (primitive).
    """

    template = "No valid host was found. %(reason)s"


class MaxRetriesExceeded(NoValidHost):
    """Every host that was tried failed to build the instance."""

    template = "Exceeded the maximum number of build attempts. %(reason)s"


class RequestFilterFailed(ArmillaryError):
    """A request filter rules the request out; the scheduler answers NoValidHost."""

    template = "A request filter refused the request: %(reason)s"


class UnsupportedPolicy(Invalid):
    """The filter or weigher that a server group's policy needs is not enabled."""

    template = "Server group policy %(policy)s is not supported: %(reason)s"


class InvalidNUMATopology(Invalid):
    """Extra specs or image properties ask for CPUs, memory or devices in a way that cannot be."""

    template = "%(key)s of %(source)s is %(found)s; allowed: %(allowed)s"


# Building on a host -------------------------------------------------------------------------------


class BuildFailed(ArmillaryError):
    """The driver could not build the instance here; another host may."""

    template = "Build of instance %(instance_uuid)s failed on %(host)s: %(reason)s"


class BuildAborted(ArmillaryError):
    """The build cannot work anywhere; trying other hosts is pointless."""

    template = "Build of instance %(instance_uuid)s was aborted: %(reason)s"


class ComputeResourcesUnavailable(BuildFailed):
    """The host cannot set the resources aside that the instance needs."""

    template = "Insufficient compute resources on %(host)s: %(reason)s"


class GroupPolicyViolation(BuildFailed):
    """The late check found that this host breaks the server group's policy."""

    template = "Server group policy %(policy)s forbids %(host)s for instance %(instance_uuid)s."


class OperationUnsupported(Invalid):
    """A host's driver cannot do what was asked; nothing was changed."""

    template = "Host %(host)s cannot %(operation)s: %(reason)s"


class OperationFailed(Conflict):
    """A host tried what was asked and could not; the guest is as it was before."""

    template = "%(operation)s of instance %(instance_uuid)s failed on host %(host)s: %(reason)s"


class LiveMigrationAborted(Conflict):
    """A live migration was ended on request; the guest runs on where it was."""

    template = "The live migration of instance %(instance_uuid)s was aborted."


class JournalCorrupt(ConfigurationError):
    """The agent's journal cannot be read; the message says what to do."""

    template = (
        "The journal %(path)s cannot be read (%(reason)s). Move it away and restart: "
        "running instances are taken over from the driver and the cell conductor."
    )


class JournalDiskFull(ConfigurationError):
    """The agent's journal has no room to be written in."""

    template = (
        "The journal %(path)s cannot be written: its file system has %(free_kib)d KiB left, and "
        "%(needed_kib)d are needed to start. Make room there and start again: nothing that the "
        "journal holds is lost, and instances run on."
    )


# Things by name -----------------------------------------------------------------------------------


class InstanceNotFound(NotFound):
    """No cell, and no build request, has this instance."""

    template = "Instance %(instance_uuid)s could not be found."


class InstanceInvalidState(Conflict):
    """An instance is in no state for what was asked; it may be later."""

    template = "Server %(instance_uuid)s cannot %(operation)s: %(reason)s."


class InstanceLocked(Conflict):
    """An instance is locked, and the caller is no administrator."""

    template = "Server %(instance_uuid)s is locked; unlock it first."


class MigrationNotFound(NotFound):
    """No migration has this name for this instance."""

    template = "Migration %(migration)s was not found."


class DecisionNotFound(NotFound):
    """No decision about this server that is kept was made for this request."""

    template = (
        "No decision about server %(instance_uuid)s was made for request %(request_id)s, "
        "or it is not kept any more."
    )


class FlavorNotFound(NotFound):
    """No flavor has this id or name."""

    template = "Flavor %(flavor)s could not be found."


class FlavorExists(Exists, Conflict):
    """Flavor ids and names are unique."""

    template = "Flavor with %(field)s %(value)s already exists."


class ImageNotFound(NotFound):
    """No image has this id or name."""

    template = "Image %(image)s could not be found."


class ImageExists(Exists, Conflict):
    """Image ids are unique."""

    template = "Image %(image)s already exists."


class AvailabilityZoneNotFound(Invalid):
    """No aggregate names this zone, and it is not the default one."""

    template = "The requested availability zone %(zone)s is not available; known: %(known)s"


class AggregateNotFound(NotFound):
    """No aggregate has this id or UUID."""

    template = "Aggregate %(aggregate)s could not be found."


class AggregateExists(Exists, Conflict):
    """Aggregate names are unique."""

    template = "Aggregate %(name)s already exists."


class AggregateHostExists(Exists, Conflict):
    """The host is in the aggregate already."""

    template = "Aggregate %(aggregate)s already has host %(host)s."


class AggregateHostNotFound(NotFound):
    """The host is not in the aggregate."""

    template = "Aggregate %(aggregate)s has no host %(host)s."


class AggregateInUse(InUse):
    """An aggregate with hosts cannot be deleted."""

    template = "Aggregate %(aggregate)s still has hosts: %(hosts)s. Remove them first."


class HostInOtherZone(Conflict):
    """A host is in at most one availability zone."""

    template = "Host %(host)s is in availability zone %(zone)s already."


class ServerGroupNotFound(NotFound):
    """The project has no such server group."""

    template = "Server group %(group)s could not be found."


class HostNotFound(NotFound):
    """No cell has this host."""

    template = "Host %(host)s could not be found."


class ComputeNodeNotFound(NotFound):
    """No cell has this hypervisor."""

    template = "Hypervisor %(node)s could not be found."


class ServiceNotFound(NotFound):
    """No cell has this service record."""

    template = "Service %(service)s could not be found."


class CellNotFound(NotFound):
    """No cell has this UUID or name."""

    template = "Cell %(cell)s could not be found."


class CellExists(Exists, Conflict):
    """Cell names and UUIDs are unique."""

    template = "A cell with %(field)s %(value)s exists already."


class CellInUse(InUse):
    """The cell has hosts or instances."""

    template = "Cell %(cell)s is in use: %(reason)s"


class CellUnavailable(Unavailable):
    """A cell is out of reach for now."""

    template = "Cell %(cell)s did not answer: %(reason)s"


class ZoneNotFound(NotFound):
    """No zone below this one has this UUID or name."""

    template = "Zone %(zone)s could not be found."


class ZoneExists(Exists, Conflict):
    """Names and UUIDs of child zones are unique."""

    template = "A zone with %(field)s %(value)s exists already."


class ZoneInUse(InUse):
    """The zone has servers of this one."""

    template = "Zone %(zone)s is in use: %(reason)s"


class ZoneUnavailable(Unavailable):
    """A zone is out of reach for now; what it was asked to do may have been done."""

    template = "Zone %(zone)s did not answer: %(reason)s"


class StaleZoneAttempt(Conflict):
    """An attempt to build in a zone was cancelled there, or a later one has come."""

    template = "Attempt %(attempt)s for %(instance_uuid)s was refused: %(reason)s"


# Placement ----------------------------------------------------------------------------------------


class ResourceProviderNotFound(NotFound):
    """No provider has this UUID."""

    template = "No resource provider with uuid %(provider)s found."


class ResourceProviderInUse(InUse):
    """A provider with allocations cannot be deleted."""

    template = "Unable to delete resource provider %(provider)s: Resource provider has allocations."


class ResourceProviderHasChildren(InUse):
    """A provider with children cannot be deleted: they come first."""

    template = (
        "Unable to delete parent resource provider %(provider)s: It has child resource providers."
    )


class ResourceProviderExists(Exists, Conflict):
    """UUIDs and names of providers are unique."""

    template = "Conflicting resource provider %(field)s: %(value)s already exists."


class ProviderParentRefused(Invalid):
    """A provider cannot be put under this parent, or not by this version of the API."""

    template = "Unable to %(action)s resource provider %(provider)s: %(reason)s"


class ResourceProviderGenerationConflict(Conflict):
    """Somebody else wrote to the provider since it was read."""

    template = (
        "Resource provider %(provider)s changed meanwhile (resource provider generation conflict); "
        "read it again."
    )


class ResourceClassNotFound(NotFound):
    """Neither a standard class nor a custom one that was made."""

    template = "No such resource class %(resource_class)s."


class TraitNotFound(NotFound):
    """Neither standard traits nor custom ones that were made."""

    template = "No such trait(s): %(traits)s."


class InventoryInUse(InUse):
    """An inventory with allocations cannot be removed."""

    template = "Inventory for '%(resource_class)s' on resource provider '%(provider)s' in use."


class InventoryNotFound(NotFound):
    """The provider has nothing of this class."""

    template = "No inventory of class %(resource_class)s for %(provider)s."


class InventoryExists(Exists, Conflict):
    """The provider has an inventory of this class already."""

    template = "Resource provider %(provider)s has an inventory of %(resource_class)s already."


class ResourceClassExists(Exists, Conflict):
    """A resource class has this name already."""

    template = "Resource class %(resource_class)s exists already."


class ResourceClassInUse(InUse):
    """A resource class that some provider has an inventory of cannot be deleted."""

    template = "Class is in use in inventory: %(resource_class)s."


class TraitInUse(InUse):
    """A trait that some provider has cannot be deleted."""

    template = "The trait %(trait)s is in use by a resource provider."


class StandardName(Invalid):
    """A standard resource class or trait stays as it is."""

    template = "Cannot %(verb)s standard %(kind)s %(name)s."


class InvalidInventory(Invalid):
    """An inventory breaks a rule of its own."""

    template = "Invalid inventory for %(resource_class)s on provider %(provider)s: %(reason)s"


class InvalidResourceQuery(Invalid):
    """A question for candidates that cannot be answered."""

    template = "Invalid resource query: %(reason)s"


class ConsumerGenerationConflict(Conflict):
    """Somebody else wrote to the consumer since it was read."""

    template = "Consumer %(consumer)s changed meanwhile; read it again."


class ConsumerNotFound(NotFound):
    """The consumer holds nothing."""

    template = "No consumer %(consumer)s found."


class CapacityExceeded(Conflict):
    """A provider has less of a class than is asked of it, or gives it out in other portions."""

    template = (
        "Unable to allocate inventory: %(resource_class)s on resource provider %(provider)s: "
        "%(reason)s."
    )


class NothingToAllocate(CapacityExceeded):
    """A provider has nothing at all of a class that is asked of it."""

    template = (
        "Unable to allocate inventory: Inventory for '%(resource_class)s' on resource provider "
        "'%(provider)s' does not exist."
    )
