"""Authentication strategies of the Placement REST API that trust the request."""

import falcon
from oslo_config import cfg

from armillary.http import authentication
from armillary.http.authentication import ADMIN, Authenticate, Caller


def make_authenticate(conf: cfg.ConfigOpts) -> Authenticate:
    """Return the function for ``[api] auth_strategy``. Raises ``ConfigurationError``."""
    trusting = {"noauth": of_noauth, "noauth2": of_trusted_token}
    return authentication.make_authenticate(conf, trusting=trusting)


def of_trusted_token(req: falcon.Request) -> Caller | None:
    """Trust the token ``USER`` or ``USER:PROJECT`` and the related headers.

    The user admin has the role admin and any other one none, unless ``X-Roles`` lists roles.
    """
    return _trusted(req, authentication.token_of(req))


def of_noauth(req: falcon.Request) -> Caller | None:
    """Trust a token in the same way; a request without one acts as the administrator."""
    anonymous = authentication.is_anonymous(req)
    return _trusted(req, ADMIN if anonymous else authentication.token_of(req) or ADMIN)


def _trusted(req: falcon.Request, token: str | None) -> Caller | None:
    named = authentication.named_in(token)
    if named is None:
        return None
    user, project = named
    roles = req.get_header("X-Roles")
    return Caller(
        user,
        req.get_header("X-Project-Id") or project,
        authentication.listed(roles) if roles else [ADMIN] if user == ADMIN else [],
        system_scope=req.get_header("OpenStack-System-Scope"),
    )
