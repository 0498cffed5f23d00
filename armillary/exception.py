"""Errors that callers can act on: one class per fact, in families that map to HTTP statuses.

oslo.messaging rebuilds an error on the caller's side from its arguments, and only if its class is
in this module. An error that crosses processes must therefore be defined here, with plain values as
its facts.
"""

from typing import Any


class ArmillaryError(Exception):
    """Root of all errors. The facts are kept in ``kwargs``.

    Unless a message is given, it is built from the facts.
    """

    template = "An unexpected error occurred."

    def __init__(self, message: str | None = None, **kwargs: Any) -> None:
        self.kwargs = kwargs
        if message is None:
            message = self._render(**kwargs)
        self.message = message
        super().__init__(message)

    @classmethod
    def _render(cls, /, **kwargs: Any) -> str:
        try:
            return cls.template % kwargs
        except (KeyError, TypeError, ValueError):
            facts = ", ".join(f"{key}={value}" for key, value in sorted(kwargs.items()))
            return f"{cls.__name__}: {facts}" if facts else cls.__name__


class NotFound(ArmillaryError):
    """Family: the named object does not exist."""

    template = "%(what)s was not found."


class Exists(ArmillaryError):
    """Family: the object to create exists already."""

    template = "%(what)s exists already."


class Conflict(ArmillaryError):
    """Family: a concurrent change or the current state forbids it; read again and decide."""

    template = "The request conflicts with the current state: %(reason)s"


class InUse(Conflict):
    """Family: the object cannot be removed while something depends on it."""

    template = "%(what)s is in use: %(reason)s"


class Invalid(ArmillaryError):
    """Family: the input is invalid; nothing was changed."""

    template = "Invalid input: %(reason)s"


class Unavailable(ArmillaryError):
    """Family: a part of the system is unreachable; retry later."""

    template = "The service is unavailable: %(reason)s"


class Forbidden(ArmillaryError):
    """Family: the caller is not allowed to do this."""

    template = "This is not allowed: %(reason)s"


# Start-up and configuration ---------------------------------------------------------------------


class ConfigurationError(Invalid):
    """The service cannot start with this configuration; the message is one line for operators."""

    template = "Configuration error: %(reason)s"


class PluginNotFound(ConfigurationError):
    """A plugin is named in the configuration but not installed."""

    template = (
        "%(option)s names the plugin '%(name)s', which is not installed; available: %(available)s"
    )


# Messages ----------------------------------------------------------------------------------------


class RpcTimeout(Unavailable):
    """The call timed out: its outcome is unknown, the work may have been done."""

    template = "No answer to %(method)s on %(topic)s within %(timeout_seconds)s s; outcome unknown."


class RpcAnswerRefused(RpcTimeout):
    """The response was not signed by a service of the topic; handled like a missing response."""

    template = "The answer to %(method)s on %(topic)s was rejected: %(reason)s; outcome unknown."


class RpcUnavailable(Unavailable):
    """The broker or every consumer of a topic is unreachable: the message was not delivered."""

    template = "%(method)s on %(topic)s could not be sent: %(reason)s"


class RpcFailed(ArmillaryError):
    """The called service failed unexpectedly and logged the error; the outcome is unknown."""

    template = "%(method)s on %(topic)s failed unexpectedly: %(reason)s"


class RpcVersionTooOld(Invalid):
    """The peer, or its cap in [upgrade_levels], does not support the request."""

    template = "%(topic)s %(method)s needs version %(needed)s, the peer is capped at %(cap)s."


class ServiceTooOld(Conflict):
    """A service is too old to work with this release."""

    template = (
        "%(binary)s on %(host)s has service version %(version)s, but the oldest supported "
        "version is %(oldest)s; upgrade it first, one release at a time"
    )


class DatabaseUnavailable(Unavailable):
    """A database does not respond; the message names it without its password."""

    template = "The %(name)s database is unavailable: %(reason)s"


class HostNotFencedYet(Unavailable):
    """Guests of a host may still run; ``seconds`` is how long to wait before the next look."""

    template = "Host %(host)s is not fenced yet: %(reason)s; looking again in %(seconds).0f s"


# Access ------------------------------------------------------------------------------------------


class NotItsOwn(Forbidden):
    """The signer of a message asks for a change of what belongs to another."""


class AgentNotAdmitted(Conflict):
    """The cell has another agent of this name, or knows its host by another identity."""

    template = "Agent %(agent)s is not admitted: %(reason)s"


class HostsNotApproved(NotItsOwn):
    """These hosts are not this agent's, by its key's enrolment or by an operator's approval."""

    template = (
        "Agent %(agent)s may not have these hosts: %(named)s. They belong to another agent, or its "
        "key's enrolment does not name them; an operator can give them to it with "
        "armillary-manage cell approve-host"
    )


class PolicyNotAuthorized(Forbidden):
    """The policy does not allow the caller to do this."""

    template = "Policy doesn't allow %(rule)s to be performed."


class Unauthorized(ArmillaryError):
    """The caller is not authenticated."""

    template = "The request needs a valid token."


class QuotaExceeded(Forbidden):
    """The request would exceed one of the project's limits."""

    template = (
        "Quota exceeded for %(resource)s: requested %(requested)s, but already used %(used)s "
        "of %(limit)s"
    )


# Scheduling --------------------------------------------------------------------------------------


class NoValidHost(ArmillaryError):
    """No host fits the request.

    ``reason`` is one sentence for the operator, ``trace`` the decision trace (primitive).
    """

    template = "No valid host was found. %(reason)s"


class MaxRetriesExceeded(NoValidHost):
    """Every host that was tried failed to build the instance."""

    template = "Exceeded the maximum number of build attempts. %(reason)s"


class RequestFilterFailed(ArmillaryError):
    """A request filter rejects the request; the scheduler answers NoValidHost."""

    template = "A request filter rejected the request: %(reason)s"


class UnsupportedPolicy(Invalid):
    """The filter or weigher that a server group's policy needs is not enabled."""

    template = "Server group policy %(policy)s is not supported: %(reason)s"


class InvalidNUMATopology(Invalid):
    """Extra specs or image properties request an invalid topology of CPUs, memory or devices."""

    template = "%(key)s of %(source)s is %(found)s; allowed: %(allowed)s"


# Building on a host -------------------------------------------------------------------------------


class BuildFailed(ArmillaryError):
    """The driver could not build the instance on this host; another host may succeed."""

    template = "Build of instance %(instance_uuid)s failed on %(host)s: %(reason)s"


class BuildNotUndone(ArmillaryError):
    """A build failed, and what it left on the host cannot be removed at the moment."""

    template = (
        "Build of instance %(instance_uuid)s failed on %(host)s and is not undone: %(reason)s"
    )


class BuildAborted(ArmillaryError):
    """The build cannot succeed on any host; do not retry."""

    template = "Build of instance %(instance_uuid)s was aborted: %(reason)s"


class ComputeResourcesUnavailable(BuildFailed):
    """The host cannot claim the resources that the instance needs."""

    template = "Insufficient compute resources on %(host)s: %(reason)s"


class GroupPolicyViolation(BuildFailed):
    """The late check on the host found a violation of the server group's policy."""

    template = "Server group policy %(policy)s forbids %(host)s for instance %(instance_uuid)s."


class OperationUnsupported(Invalid):
    """A host's driver does not support the operation; nothing was changed."""

    template = "Host %(host)s cannot %(operation)s: %(reason)s"


class OperationFailed(Conflict):
    """A host tried the operation and failed; the guest is in its previous state."""

    template = "%(operation)s of instance %(instance_uuid)s failed on host %(host)s: %(reason)s"


class GuestLost(OperationFailed):
    """The guest of the operation is not on its host: repeating the operation cannot help."""


class LiveMigrationAborted(Conflict):
    """A live migration was aborted on request; the guest still runs on the source."""

    template = "The live migration of instance %(instance_uuid)s was aborted."


class JournalCorrupt(ConfigurationError):
    """The agent's journal cannot be read; the message says how to recover."""

    template = (
        "The journal %(path)s cannot be read (%(reason)s). Move it away and restart: "
        "running instances are recovered from the driver and the cell conductor."
    )


class JournalDiskFull(ConfigurationError):
    """The agent's journal cannot be written because its file system is full."""

    template = (
        "The journal %(path)s cannot be written: its file system has %(free_kib)d KiB "
        "left, but %(needed_kib)d KiB are needed to start. Free some space and start "
        "again: the journal is intact, and instances keep running."
    )


# Things by name -----------------------------------------------------------------------------------


class InstanceNotFound(NotFound):
    """No cell and no build request has this instance."""

    template = "Instance %(instance_uuid)s could not be found."


class InstanceInvalidState(Conflict):
    """The instance is not in a state that allows the operation; it may be later."""

    template = "Server %(instance_uuid)s cannot %(operation)s: %(reason)s."


class HostIsUp(Invalid):
    """The operation is for servers of hosts that are down."""

    template = (
        "Server %(instance_uuid)s cannot be evacuated: its host %(host)s is up. If the host is "
        "dead, force its service down."
    )


class InstanceLocked(Conflict):
    """The instance is locked, and the caller is not an administrator."""

    template = "Server %(instance_uuid)s is locked; unlock it first."


class MigrationNotFound(NotFound):
    """No migration has this name for this instance."""

    template = "Migration %(migration)s was not found."


class DecisionNotFound(NotFound):
    """No decision about this server is stored for this request."""

    template = (
        "No decision about server %(instance_uuid)s was made for request %(request_id)s, "
        "or it is no longer stored."
    )


class AccountNotFound(NotFound):
    """The built-in identity has no such user, project or role."""

    template = "Could not find %(kind)s: %(account)s."


class AccountExists(Exists, Conflict):
    """Names of users, projects and roles are unique."""

    template = "A %(kind)s with the %(field)s %(value)s already exists."


class AccountFixed(Forbidden):
    """An entry of the token file, which is changed there alone."""

    template = "The %(kind)s %(account)s is in the token file: change it there."


class FlavorNotFound(NotFound):
    """No flavor has this id or name."""

    template = "Flavor %(flavor)s could not be found."


class FlavorExists(Exists, Conflict):
    """Flavor ids and names are unique."""

    template = "Flavor with %(field)s %(value)s already exists."


class FlavorIsPublic(Conflict):
    """Access to a flavor that all projects may use."""

    template = "Flavor %(flavor)s is public: all projects have access to it."


class FlavorAccessExists(Exists, Conflict):
    """The project may use the private flavor already."""

    template = "Project %(project_id)s has access to flavor %(flavor)s already."


class FlavorAccessNotFound(NotFound):
    """The project has no access to the private flavor."""

    template = "Project %(project_id)s has no access to flavor %(flavor)s."


class ImageNotFound(NotFound):
    """No image has this id or name."""

    template = "Image %(image)s could not be found."


class ImageChanged(Conflict):
    """The image was changed since it was read."""

    template = "Image %(image)s was changed at the same time; read it again."


class ImageProtected(Forbidden):
    """A protected image cannot be deleted."""

    template = "Image %(image)s is protected and cannot be deleted."


class ImageExists(Exists, Conflict):
    """Image ids are unique."""

    template = "Image %(image)s already exists."


class AvailabilityZoneNotFound(Invalid):
    """No aggregate defines this zone, and it is not the default zone."""

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
    """A host can be in only one availability zone."""

    template = "Host %(host)s is in availability zone %(zone)s already."


class ZoneInUseByServers(InUse):
    """A host with servers cannot change its availability zone."""

    template = (
        "The availability zone of host %(host)s cannot change while it has servers, such as "
        "%(instance_uuid)s. Move them to other hosts first."
    )


class ZoneKeptByServer(InUse):
    """The last aggregate of a zone that a server asked for cannot lose it."""

    template = (
        "Availability zone %(zone)s cannot be removed: server %(instance_uuid)s was created in "
        "it and can only be moved or unshelved there. Delete such servers first, or have another "
        "aggregate name this zone."
    )


class ClaimNotFound(NotFound):
    """No such claim is held, or it has ended."""

    template = "Claim %(claim)s could not be found."


class KeyPairNotFound(NotFound):
    """The user has no such key pair."""

    template = "Key pair %(name)s could not be found."


class KeyPairExists(Exists, Conflict):
    """Names of a user's key pairs are unique."""

    template = "Key pair %(name)s already exists."


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
    """A cell is unreachable for now."""

    template = "Cell %(cell)s did not answer: %(reason)s"


class CellDisabled(Invalid):
    """A requested host is in a cell that takes no new servers."""

    template = (
        "Host %(host)s is in cell %(cell)s, which is disabled and takes no new servers: "
        "choose another host, or enable the cell."
    )


class ZoneNotFound(NotFound):
    """No zone below this one has this UUID or name."""

    template = "Zone %(zone)s could not be found."


class ZoneExists(Exists, Conflict):
    """Names and UUIDs of child zones are unique."""

    template = "A zone with %(field)s %(value)s exists already."


class ZoneInUse(InUse):
    """Servers of this deployment run in the zone."""

    template = "Zone %(zone)s is in use: %(reason)s"


class ZoneUnavailable(Unavailable):
    """A zone is unreachable for now; what it was asked to do may have been done."""

    template = "Zone %(zone)s did not answer: %(reason)s"


class StaleZoneAttempt(Conflict):
    """The attempt to build in a zone was cancelled there, or superseded by a later one."""

    template = "Attempt %(attempt)s for %(instance_uuid)s was refused: %(reason)s"


# Placement ----------------------------------------------------------------------------------------


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
