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
Fraction of requests that are traced. The service that a request reaches first decides for all the
others. If the request has a ``traceparent`` header of a client that continue_traces_of allows, the
client decides instead.
""",
        ),
        cfg.StrOpt(
            "continue_traces_of", default="authenticated",
            choices=[
                ("authenticated", "clients whose token was checked: not with noauth"),
                ("all", "any client that reaches the API"),
                ("none", "no client: each request begins a trace of its own"),
            ],
            help="""
Clients whose ``traceparent`` header is accepted. They decide which trace their requests belong to,
and whether they are sampled, whatever ``sample_ratio`` is.
""",
        ),
    ],
}
# fmt: on
