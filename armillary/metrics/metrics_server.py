"""Port on which a process shows its metrics."""

import logging

import prometheus_client
from oslo_config import cfg

from armillary import exception
from armillary.http.trusted_hosts import TrustedHosts
from armillary.http.wsgi.server import HttpServer, is_loopback
from armillary.metrics import service_metrics

LOG = logging.getLogger(__name__)


def serve(conf: cfg.ConfigOpts, binary: str, worker: int) -> HttpServer | None:
    """Expose the metrics on ``[metrics] port`` plus the worker's number; port 0 exposes none.

    Raises ``ConfigurationError`` when a configured port is in use; a default port is left alone.
    """
    first = conf.metrics.port
    if first is None:
        first = _default_port(conf, binary)
    if not first:
        return None
    service_metrics.expose_all()
    host, port = str(conf.metrics.listen), first + worker
    app = prometheus_client.make_wsgi_app()
    if is_loopback(host):  # which any web page reaches by a name of its own (DNS rebinding)
        app = TrustedHosts(app, _refusal, more_advice="")
    server = HttpServer(app, host=host, port=port, threads=service_metrics.SCRAPES_MAX)
    try:
        server.start()
    except exception.ConfigurationError as error:
        if conf.metrics.port is not None:
            raise
        LOG.info("Metrics are not exposed, set [metrics] port for them: %s", error.message)
        return None
    return server


def _refusal(status: int, reason: str) -> tuple[dict[str, str], bytes]:
    return {"Content-Type": "text/plain; charset=utf-8"}, f"{reason}\n".encode()


def _default_port(conf: cfg.ConfigOpts, binary: str) -> int:
    if binary == "armillary-conductor":
        binary = f"{binary} {conf.conductor.role}"
    return service_metrics.DEFAULT_PORTS.get(binary, 0)
