"""The root of all errors, and the families that map to HTTP statuses."""

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
