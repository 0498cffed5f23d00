"""Access without authentication: refused on a network, warned of everywhere."""

import logging

from oslo_config import cfg

from armillary import exception
from armillary.http.trusted_hosts import UNAUTHENTICATED
from armillary.http.wsgi.server import is_loopback

LOG = logging.getLogger(__name__)

_INSTEAD = "keystone or token_file"
"""Strategies with authentication."""


def require_authentication_or_loopback(conf: cfg.ConfigOpts, option: str, bind_host: str) -> None:
    """Raise ``ConfigurationError`` if every client on the network would have full access.

    ``option`` is the name of the option with the address. Any access without authentication is
    logged as a warning.
    """
    strategy = conf.api.auth_strategy
    if strategy not in UNAUTHENTICATED:
        return
    if is_loopback(bind_host):
        LOG.warning(
            "[api] auth_strategy = %s: every user and program of this machine that reaches %s may "
            "do everything, as an administrator; use %s",
            strategy, bind_host, _INSTEAD,
        )  # fmt: skip
        return
    if conf.api.allow_network_without_authentication:
        LOG.warning(
            "[api] auth_strategy = %s on %s with allow_network_without_authentication: EVERY "
            "CLIENT ON THE NETWORK may do everything, as an administrator; use %s",
            strategy, bind_host, _INSTEAD,
        )  # fmt: skip
        return
    raise exception.ConfigurationError(
        reason=f"{option} {bind_host} with [api] auth_strategy {strategy} would give every client "
        f"that reaches it full access; use auth_strategy = {_INSTEAD}, or a loopback address: "
        "127.0.0.1, ::1, localhost"
    )
