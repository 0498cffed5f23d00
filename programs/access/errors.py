"""Errors of a client of an API: refused, unreachable, timed out, not trusted."""

from armillary import exception


class ApiRefused(exception.ArmillaryError):
    """The API rejected the request. ``kwargs`` has status, reason, request_id."""

    template = "%(reason)s (HTTP %(status)s, request %(request_id)s)"

    @property
    def status(self) -> int:
        return int(self.kwargs["status"])


class ApiNotFound(ApiRefused, exception.NotFound):
    """The requested object does not exist, or is not visible to this caller."""

    template = ApiRefused.template


class ApiUnauthorized(ApiRefused):
    """The API does not know the token, or none was given."""

    template = (
        f"{ApiRefused.template}. Give a valid token with --token or ARMILLARY_TOKEN; only the user "
        "who started 'armillary up' needs none."
    )


class ApiUnavailable(ApiRefused, exception.Unavailable):
    """The API is up, but a service behind it is not; the request may have been executed."""

    template = ApiRefused.template


class ApiBusy(ApiRefused, exception.Conflict):
    """The API is still handling the same request, sent before."""

    template = ApiRefused.template


class ApiUnreachable(exception.Unavailable):
    """No API is listening at the address; the request was not sent."""

    template = (
        "No Armillary API answers at %(url)s: %(reason)s. Start one with: armillary up. One that "
        "is elsewhere is named with --api-url or ARMILLARY_API_URL."
    )


class ApiTimeout(exception.Unavailable):
    """The request timed out or the connection broke: the outcome is unknown."""

    template = (
        "%(method)s %(path)s at %(url)s: %(reason)s. The request may have been executed: "
        "check before you repeat it."
    )


class ApiConnectionLost(ApiTimeout):
    """The connection broke before the answer came."""

    template = ApiTimeout.template


class ApiNotTrusted(exception.ArmillaryError):
    """The server's TLS certificate could not be verified."""

    template = (
        "The certificate of %(url)s is not trusted: %(reason)s. If it is signed by your "
        "own authority, name that with --cacert or ARMILLARY_CACERT."
    )


class ProxyFailed(exception.Unavailable):
    """The proxy of the environment did not connect; the request was not sent."""

    template = "The proxy for %(url)s failed: %(reason)s"


class NotAnArmillaryApi(exception.ArmillaryError):
    """The address belongs to a service other than an Armillary API."""

    template = "The service at %(url)s is not an Armillary API: %(reason)s"
