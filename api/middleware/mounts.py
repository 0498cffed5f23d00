"""Several WSGI applications on one server, told apart by the first part of the path."""

from collections.abc import Callable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

WsgiApp = Callable[..., Any]


class Mounts:
    """Sends a request to the application mounted at its path, else to ``other``.

    A key of ``mounted``, such as ``/image``, is not part of the path that the application sees; one
    of ``shared`` is: the application has this path itself.
    """

    def __init__(
        self, other: WsgiApp, *, mounted: Mapping[str, WsgiApp], shared: Mapping[str, WsgiApp]
    ) -> None:
        self._other = other
        self._mounted = mounted
        self._shared = shared

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Any:
        path = environ.get("PATH_INFO", "")
        first = "/" + path.lstrip("/").partition("/")[0]
        app = self._mounted.get(first)
        if app is not None and path.startswith(first):
            environ["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + first
            environ["PATH_INFO"] = path.removeprefix(first) or "/"
            return app(environ, start_response)
        return self._shared.get(first, self._other)(environ, start_response)
