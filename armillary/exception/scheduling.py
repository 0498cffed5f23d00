"""Errors of scheduling: no host fits, or a request cannot be scheduled."""

from armillary.exception.families import ArmillaryError, Invalid


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
