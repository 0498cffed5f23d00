"""Authentication strategies of the Compute API."""

from __future__ import annotations

import falcon
from oslo_config import cfg

from armillary import exception
from armillary.http import authentication
from armillary.http.authentication import ADMIN, HEADER, Authenticate, Caller
from armillary.http.tokens import with_implied_roles


def make_authenticate(conf: cfg.ConfigOpts) -> Authenticate:
    """Return the function for ``[api] auth_strategy``. Raises ``ConfigurationError``."""
    if conf.api.auth_strategy not in ("noauth", "token_file"):
        raise exception.ConfigurationError(
            reason=f"[api] auth_strategy = {conf.api.auth_strategy} is only for the Placement REST "
            "API; armillary-api accepts noauth and token_file"
        )
    return authentication.make_authenticate(conf, trusting={"noauth": of_noauth})


def of_noauth(req: falcon.Request) -> Caller | None:
    """Trust every token: none is the administrator, ``USER:PROJECT`` is that user."""
    token = authentication.token_of(req) if req.get_header(HEADER) else ADMIN
    named = authentication.named_in(token)
    if named is None:
        return None
    user, project = named
    roles = with_implied_roles([ADMIN if user == ADMIN else "member"])
    return Caller(user, project, roles)
