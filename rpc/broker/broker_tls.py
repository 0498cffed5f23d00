"""TLS to the broker with the options of oslo.messaging's driver, and with full verification.

oslo.messaging verifies the broker's name only if a CA file is set, and reports a missing file only
as repeated connection failures.
"""

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
) -> dict[str, object] | bool:
    """Return kombu's TLS settings for the brokers, False if TLS is off.

    The broker's certificate is verified by ``ssl_ca_file`` or else by the system's CAs, with its
    host name. With several brokers, each must prove the name of the first one tried: their
    certificates name all of them.
    """
    options = conf[GROUP]
    if not options.ssl:
        return False
    found: dict[str, object] = {
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
    """Raise ConfigurationError if TLS is on and one of its files cannot be used."""
    options = conf[GROUP]
    if not options.ssl:
        return
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if options.ssl_ca_file:
        _try("ssl_ca_file", options.ssl_ca_file, context.load_verify_locations)
    if options.ssl_key_file and not options.ssl_cert_file:
        raise exception.ConfigurationError(
            reason=f"[{GROUP}] ssl_key_file is set without ssl_cert_file, which it belongs to"
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
        reason = "the file does not exist" if not Path(path).exists() else error.strerror or error
        raise exception.ConfigurationError(
            reason=f"[{GROUP}] {option} {path} cannot be used: {reason}; it must be a PEM file "
            "that this service can read, and a key must match its certificate"
        ) from error
