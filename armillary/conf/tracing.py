"""Options of [tracing]: OpenTelemetry traces."""

from oslo_config import cfg

# fmt: off
OPTIONS: dict[str, list[cfg.Opt]] = {
    "tracing": [
        cfg.URIOpt(
            "endpoint", schemes=["http", "https"],
            help="""
Address of an OpenTelemetry collector that takes traces over HTTP, such as
``http://127.0.0.1:4318/v1/traces``. Without one nothing is traced. The service needs the extra
``tracing``: ``pip install 'armillary[tracing]'``. Headers for the collector are those of the
environment variable ``OTEL_EXPORTER_OTLP_HEADERS``.
""",
        ),
        cfg.FloatOpt(
            "sample_ratio", default=1.0, min=0.0, max=1.0,
            help="""
Fraction of requests that are traced. The service that a request reaches first decides for all
others; one that comes with a ``traceparent`` header follows that.
""",
        ),
    ],
}
# fmt: on
