"""Placement with REST only: the engine and its periodic task, without a message broker."""

import logging
import threading
from collections.abc import Sequence

from oslo_config import cfg

from armillary import exception
from armillary.concurrency.periodic import PeriodicRunner, PeriodicTask
from armillary.db import Database
from armillary.http.open_access import require_authentication_or_loopback
from armillary.http.trusted_hosts import UNAUTHENTICATED, guarded
from armillary.http.wsgi.server import HttpServer
from armillary.http.wsgi.tls import tls_files
from armillary.http.wsgi_middleware import WsgiApp
from placement.db.preparation import prepare
from placement.engine import PlacementEngine
from placement.rest import errors
from placement.rest.app import make_app

LOG = logging.getLogger(__name__)

PRUNE_JITTER_SECONDS = 60.0


class RestManager:
    """Serve the REST API in one process; any number of processes can share one database."""

    def __init__(self, conf: cfg.ConfigOpts, *, database: Database, reuse_port: bool) -> None:
        self._conf = conf
        self._database = database
        self._stopping = threading.Event()
        self._engine = PlacementEngine(conf, database)
        self._server = make_server(conf, self._engine, reuse_port=reuse_port)

    def start(self) -> None:
        """Wait for the database, and prepare it.

        Raises ConfigurationError if the schema version of the database is not that of this release.
        """
        if not self._database.wait_until_available(self._stopping):
            return
        prepare(self._conf, self._database)

    def servers(self) -> Sequence[HttpServer]:
        """Return the server of this process, not yet started."""
        return [self._server]

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the pruning task."""
        return periodic_tasks(self._conf, self._engine)

    def stop(self, grace_seconds: float) -> None:
        """Stop waiting for the database; requests in progress end by themselves."""
        self._stopping.set()

    def reload(self) -> None:
        """Do nothing: mutable options are read when needed."""


def make_server(conf: cfg.ConfigOpts, engine: PlacementEngine, *, reuse_port: bool) -> HttpServer:
    """Return the API's server, not yet started.

    Raises ``ConfigurationError``, also for an API without authentication on a non-loopback address.
    """
    options = conf.placement
    require_authentication_or_loopback(conf, "[placement] rest_bind_host", options.rest_bind_host)
    return HttpServer(
        guarded(
            make_app(conf, engine),
            conf,
            bind_host=options.rest_bind_host,
            refusal=errors.refusal,
            service="placement",
            reads_from_anywhere=True,
        ),
        host=options.rest_bind_host,
        port=options.rest_bind_port,
        threads=options.rest_threads,
        reuse_port=reuse_port,
        refusal=errors.refusal,
        tls=tls_files(
            "placement",
            cert_file=options.rest_cert_file,
            key_file=options.rest_key_file,
            ca_file=options.rest_ca_file,
        ),
    )


def make_standalone_app(conf: cfg.ConfigOpts, database: Database) -> WsgiApp:
    """Return the application for an external WSGI server.

    Its periodic task runs in this process. The database may be unavailable at first. Raises
    ConfigurationError if it is available and its schema version is not that of this release.
    """
    engine = PlacementEngine(conf, database)
    app = make_app(conf, engine)
    try:
        prepare(conf, database)
    except exception.DatabaseUnavailable as error:
        LOG.warning("Requests are answered with status 503 for now: %s", error)
    PeriodicRunner(periodic_tasks(conf, engine)).start()
    if conf.api.auth_strategy not in UNAUTHENTICATED:
        return app
    return guarded(
        app,
        conf,
        bind_host=conf.placement.rest_bind_host,
        refusal=errors.refusal,
        service="placement",
        reads_from_anywhere=True,
    )


def periodic_tasks(conf: cfg.ConfigOpts, engine: PlacementEngine) -> list[PeriodicTask]:
    """Return the periodic tasks of a process with this engine."""
    interval = conf.placement.prune_interval_seconds
    prune = engine.pruner.prune
    return [PeriodicTask("prune-placement", interval, prune, jitter_seconds=PRUNE_JITTER_SECONDS)]
