"""Which kinds of queues our services declare in RabbitMQ.

They are such that every release from 3.10 on takes them. The driver's own defaults make reply and
fanout queues that are transient but not exclusive, which newer releases refuse. Ours are quorum
queues for calls and casts, and one stream for each fanout, unless an operator sets something else;
those for replies are exclusive (``rabbit``).
"""

from __future__ import annotations

from typing import Any

import oslo_messaging
from oslo_config import cfg

GROUP = "oslo_messaging_rabbit"
CONTROL_EXCHANGE = "armillary"
"""Ours alone, so that a virtual host may be shared with other users of the same library."""

DEFAULTS: dict[str, Any] = {
    "rabbit_quorum_queue": True,
    "rabbit_transient_quorum_queue": True,
    "use_queue_manager": True,
    "rabbit_stream_fanout": True,
    "rabbit_qos_prefetch_count": 100,  # a stream has to have one
}


def set_defaults(conf: cfg.ConfigOpts) -> None:
    """Make these the defaults of one service, whose options are registered."""
    for name, value in DEFAULTS.items():
        conf.set_default(name, value, group=GROUP)


def set_sample_defaults() -> None:
    """Make these the defaults that the generated sample configuration shows."""
    # The public list of options is a copy: what the generator shows is the driver's own.
    from oslo_messaging._drivers import impl_rabbit

    cfg.set_defaults(impl_rabbit.rabbit_opts, **DEFAULTS)
    oslo_messaging.set_transport_defaults(CONTROL_EXCHANGE)
