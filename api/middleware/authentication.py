"""Authentication strategies of the Compute API."""

import falcon
from oslo_config import cfg

from armillary import exception
from armillary.http import authentication
from armillary.http.authentication import ADMIN, Authenticate, Caller
from armillary.identity.accounts import with_implied_roles
from armillary.identity.builtin import BuiltInIdentity


def make_authenticate(
    conf: cfg.ConfigOpts, *, identity: BuiltInIdentity | None = None
) -> Authenticate:
    """Return the function for ``[api] auth_strategy``. Raises ``ConfigurationError``."""
    if conf.api.auth_strategy == "noauth2":
        raise exception.ConfigurationError(
            reason="[api] auth_strategy = noauth2 is only for the Placement REST API; "
            "armillary-api accepts noauth, token_file and keystone"
        )
    return authentication.make_authenticate(conf, trusting={"noauth": of_noauth}, identity=identity)


def of_noauth(req: falcon.Request) -> Caller | None:
    """Trust every token: none is the administrator, ``USER:PROJECT`` is that user."""
    token = ADMIN if authentication.is_anonymous(req) else authentication.token_of(req)
    named = authentication.named_in(token)
    if named is None:
        return None
    user, project = named
    roles = with_implied_roles([ADMIN if user == ADMIN else "member"])
    return Caller(user, project, roles)
