"""Address of this server in links, independent of what a client claims it to be."""

from __future__ import annotations

import falcon

_DEFAULT_PORTS = {"http": "80", "https": "443"}


def own_origin(req: falcon.Request) -> str:
    """Return scheme and address at which a request arrived, such as ``http://127.0.0.1:8774``.

    The header ``Host`` is not used: a cache or a user would be led to whatever a client put there.
    """
    name, port = str(req.env["SERVER_NAME"]), str(req.env["SERVER_PORT"])
    host = f"[{name}]" if ":" in name else name
    return f"{req.scheme}://{host}" + ("" if port == _DEFAULT_PORTS.get(req.scheme) else f":{port}")
