"""Access to the APIs of this process: who sends a request, and what the policy allows."""

from __future__ import annotations

from dataclasses import dataclass

from oslo_config import cfg

from api.middleware.authentication import make_authenticate
from api.policies.base import IS_ADMIN
from api.policies.rules import RULES
from armillary.context import RequestContext
from armillary.http.authentication import Authenticate
from armillary.http.open_access import require_authentication_or_loopback
from armillary.identity.builtin import BuiltInIdentity
from armillary.policy import Enforcer


@dataclass(frozen=True, slots=True)
class Access:
    """Shared by the applications of one process.

    ``identity`` is the built-in one, None if requests are authenticated otherwise.
    """

    policy: Enforcer
    authenticate: Authenticate
    identity: BuiltInIdentity | None

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Access:
        """Return what the configuration says.

        Raises ``ConfigurationError`` for an invalid token file or policy, and for no authentication
        on a non-loopback address.
        """
        require_authentication_or_loopback(conf, "[api] bind_host", conf.api.bind_host)
        is_built_in = conf.api.auth_strategy == "token_file"
        identity = BuiltInIdentity.from_conf(conf) if is_built_in else None
        return cls(Enforcer(conf, RULES), make_authenticate(conf, identity=identity), identity)

    def is_admin(self, context: RequestContext) -> bool:
        """Return whether a request is an administrator's."""
        return self.policy.is_allowed(IS_ADMIN, {}, context)
