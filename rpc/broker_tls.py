"""TLS to the broker, by the options of oslo.messaging's driver, and never without looking closely.

The library checks the broker's name only beside an authority of one's own, and finds out that a
file is missing when it connects, again and again.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import oslo_messaging
from oslo_config import cfg

from armillary import exception

GROUP = "oslo_messaging_rabbit"


def settings(
    conf: cfg.ConfigOpts, hosts: Sequence[oslo_messaging.TransportHost]
) -> dict[str, Any] | bool:
    """Return kombu's TLS settings for some brokers, False where TLS is off.

    The broker has to prove its name, to an authority of ``ssl_ca_file`` or else of this machine.
    One of several brokers has to prove the name of the one that was tried first: their certificates
    name all of them.
    """
    options = conf[GROUP]
    if not options.ssl:
        return False
    found: dict[str, Any] = {
        "cert_reqs": ssl.CERT_REQUIRED,
        "server_hostname": hosts[0].hostname if len(hosts) == 1 else None,  # None: kombu's own
    }
    files = {
        "ca_certs": options.ssl_ca_file,
        "certfile": options.ssl_cert_file,
        "keyfile": options.ssl_key_file,
    }
    return found | {name: path for name, path in files.items() if path}


def check(conf: cfg.ConfigOpts) -> None:
    """Raise ConfigurationError where TLS is on and one of its files is of no use."""
    options = conf[GROUP]
    if not options.ssl:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if options.ssl_ca_file:
        _try("ssl_ca_file", options.ssl_ca_file, context.load_verify_locations)
    if options.ssl_key_file and not options.ssl_cert_file:
        raise exception.ConfigurationError(
            reason=f"[{GROUP}] ssl_key_file is set and ssl_cert_file, which it belongs to, is not"
        )
    if options.ssl_cert_file:
        key = options.ssl_key_file or None
        _try(
            "ssl_cert_file", options.ssl_cert_file, lambda path: context.load_cert_chain(path, key)
        )


def _try(option: str, path: str, load: Any) -> None:
    try:
        load(path)
    except (OSError, ssl.SSLError) as error:
        reason = "there is no such file" if not Path(path).exists() else error.strerror or error
        raise exception.ConfigurationError(
            reason=f"[{GROUP}] {option} {path} cannot be used: {reason}; a PEM file that this "
            "service may read is expected, and a key that fits its certificate"
        ) from error
