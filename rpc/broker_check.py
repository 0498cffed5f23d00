"""Checks of a transport URL before it is stored: its form, and whether the broker lets us in."""

import contextlib
import re

import amqp
import oslo_messaging
from kombu.exceptions import OperationalError
from oslo_config import cfg

from armillary import exception
from armillary.logs.masking import mask_passwords
from rpc import rabbit
from rpc.notifications.event_feed import connection_to
from rpc.transport import register_options, transport_of


class BrokerRefused(exception.Unavailable):
    """The broker is not there, or does not let this account in."""

    template = (
        "No connection to %(url)s: %(reason)s. Correct the transport URL, or start the broker"
        "%(advice)s"
    )


EMBEDDED = "kombu+memory"
PORT_MAX = 65535
_BLANK = re.compile(r"[\s\x00-\x1f\x7f]")
EXPECTED = "expected rabbit://user:password@host:port/vhost"


def check_url(conf: cfg.ConfigOpts, text: str) -> None:
    """Raise Invalid unless a broker can have this URL."""
    register_options(conf)
    try:
        if not text.strip():
            raise _invalid(text, "it is empty")
        url = oslo_messaging.TransportURL.parse(conf, text.strip())
        scheme, hosts = url.transport, url.hosts
        for host in hosts:
            (host.hostname or "").encode("idna")
    except (oslo_messaging.InvalidTransportURL, ValueError) as error:
        raise _invalid(text, f"it cannot be read ({mask_passwords(error)})") from error
    if text.startswith(f"{EMBEDDED}:"):
        return
    if scheme != rabbit.SCHEME:
        raise _invalid(text, f"the scheme '{scheme}' is not supported")
    if _BLANK.search(text.strip()):
        raise _invalid(text, "it has a blank or a control character")
    if not hosts or not all(host.hostname for host in hosts):
        raise _invalid(text, "it names no host")
    for host in hosts:
        if not 0 < (host.port or 1) <= PORT_MAX:
            raise _invalid(text, f"{host.port} is not a port")
        if not host.username:
            raise _invalid(text, f"there is no user for {host.hostname}")
    try:
        transport_of(conf, text).cleanup()
    except exception.ConfigurationError as error:
        raise _invalid(text, f"its options cannot be used ({error.__cause__ or error})") from error


def try_broker(conf: cfg.ConfigOpts, text: str, *, advice: str = "") -> None:
    """Connect and log in once. Raises BrokerRefused with the reason, which ends with ``advice``.

    An embedded broker lives in the process that has it, and cannot be tried.
    """
    if text.startswith(f"{EMBEDDED}:"):
        return
    connection = connection_to(conf, text, heartbeat=0)
    try:
        connection.ensure_connection(max_retries=1, timeout=connection.connect_timeout)
    except (OSError, amqp.AMQPError, OperationalError) as error:
        url, reason = mask_passwords(text), mask_passwords(error)
        raise BrokerRefused(url=url, reason=reason.rstrip("."), advice=advice) from error
    finally:
        with contextlib.suppress(Exception):
            connection.release()


def _invalid(text: str, reason: str) -> exception.Invalid:
    return exception.Invalid(
        reason=f"the transport URL '{mask_passwords(text)}' is malformed: {reason}; {EXPECTED}"
    )
