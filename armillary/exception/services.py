"""Errors of services: their configuration, messages and databases."""

from armillary.exception.families import ArmillaryError, Conflict, Invalid, Unavailable


class ConfigurationError(Invalid):
    """The service cannot start with this configuration; the message is one line for operators."""

    template = "Configuration error: %(reason)s"


class PluginNotFound(ConfigurationError):
    """A plugin is named in the configuration but not installed."""

    template = (
        "%(option)s names the plugin '%(name)s', which is not installed; available: %(available)s"
    )


class RpcTimeout(Unavailable):
    """The call timed out: its outcome is unknown, the work may have been done."""

    template = "No answer to %(method)s on %(topic)s within %(timeout_seconds)s s; outcome unknown."


class RpcNotConfirmed(RpcTimeout):
    """The broker did not confirm the message in time: it may have been sent or not."""

    template = "The broker did not confirm %(method)s on %(topic)s in time; outcome unknown."


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
    """Guests of a host may still run; ``seconds`` is how long to wait before the next check."""

    template = "Host %(host)s is not fenced yet: %(reason)s; next check in %(seconds).0f s"
