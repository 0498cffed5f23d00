"""Authentication as set by ``[api] auth_strategy``; sets ``req.context.caller``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import falcon

from armillary import exception
from armillary.context import RequestContext

HEADER = "X-Auth-Token"

Authenticate = Callable[[falcon.Request], dict[str, Any] | None]
"""Takes a request; returns the sender's part of a ``RequestContext``, or None."""


class Authentication:
    """Allow everyone on public paths, and only authenticated clients on all others.

    Raises ``Unauthorized``.
    """

    def __init__(self, authenticate: Authenticate, *, public_paths: Collection[str]) -> None:
        self._authenticate = authenticate
        self._public_paths = frozenset(public_paths)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        if req.path in self._public_paths:
            return
        facts = self._authenticate(req)
        if facts is None:
            raise exception.Unauthorized
        req.context.caller = RequestContext(
            **facts,
            request_id=req.context.request_id,
            global_request_id=req.context.global_request_id,
            overwrite=True,
        )
