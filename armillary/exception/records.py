"""Errors about records: instances, flavors, images, aggregates, hosts, cells, zones."""

from armillary.exception.families import (
    Conflict,
    Exists,
    Forbidden,
    InUse,
    Invalid,
    NotFound,
    Unavailable,
)


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

    template = "Another %(kind)s with the %(field)s %(value)s already exists."


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
    """The claim does not exist, or has ended."""

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
