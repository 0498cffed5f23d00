"""Address of this server in links, independent of what a client claims it to be."""

from wsgiref.types import WSGIEnvironment

LOCAL = "armillary.http.local_origin"
"""Key of a WSGI environment with the address of our server's socket, which no proxy changes."""
DEFAULT_PORTS = {"http": "80", "https": "443"}


def own_origin(environ: WSGIEnvironment) -> str:
    """Return scheme and address at which a request arrived, such as ``http://127.0.0.1:8774``.

    The header ``Host`` is not used: a cache or a user would be led to whatever a client put there.
    """
    scheme, name = str(environ["wsgi.url_scheme"]), str(environ["SERVER_NAME"])
    host, port = f"[{name}]" if ":" in name else name, str(environ["SERVER_PORT"])
    return f"{scheme}://{host}" + ("" if port == DEFAULT_PORTS.get(scheme) else f":{port}")
