"""Errors of compute hosts: failed builds and operations, the journal of an agent."""

from armillary.exception.families import ArmillaryError, Conflict, Invalid, Unavailable
from armillary.exception.services import ConfigurationError


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


class ImageUnsupported(BuildFailed):
    """The image is not for hosts of this kind; hosts with another driver may build from it."""

    template = "This host cannot build instance %(instance_uuid)s: %(reason)s"


class OperationUnsupported(Invalid):
    """A host's driver does not support the operation; nothing was changed."""

    template = "Host %(host)s cannot %(operation)s: %(reason)s"


class OperationFailed(Conflict):
    """A host tried the operation and failed; the guest is in its previous state."""

    template = "%(operation)s of instance %(instance_uuid)s failed on host %(host)s: %(reason)s"


class ImageCacheFull(Unavailable):
    """A host has no room for an image: guests use those that it has fetched."""

    template = (
        "Image %(image)s does not fit on host %(host)s: %(missing_mb)s MiB more than "
        "[image_cache] size_mb_max, and guests use the other images"
    )


class GuestLost(OperationFailed):
    """The guest of the operation is not on its host: repeating the operation cannot help."""


class GuestAside(OperationFailed):
    """A rebuild failed, and its former guest is kept on its host, to be put back by a start."""


class GuestKept(OperationFailed):
    """The operation failed, and the guest is as before; it may have been started again."""


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


class JournalUnwritable(Unavailable):
    """The agent's journal takes no writes at the moment; nothing was changed."""

    template = "The journal %(path)s cannot be written at the moment: %(reason)s"
