"""RPC between processes: transports, clients and servers, independent of any service.

The only package that imports oslo.messaging. A manager marks callable methods with :func:`expose`
and the exceptions that they raise on purpose with :func:`expected_exceptions`.
"""

from __future__ import annotations

from oslo_messaging import expected_exceptions, expose

__all__ = ["expected_exceptions", "expose"]
