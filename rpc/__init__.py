"""Messages between processes: transports, clients, servers. Knows nothing about any service.

The only package that imports oslo.messaging. A manager marks what may be called with :func:`expose`
and what it raises on purpose with :func:`expected_exceptions`.
"""

from __future__ import annotations

from oslo_messaging import expected_exceptions, expose

__all__ = ["expected_exceptions", "expose"]
