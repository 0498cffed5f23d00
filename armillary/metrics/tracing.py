"""OpenTelemetry traces: one request through all services, whichever threads and messages it takes.

Off unless ``[tracing] endpoint`` is set; the library is imported only then. A span's identity
travels as W3C ``traceparent``: in the header of an HTTP request, and in the context of a message,
which is stored with the work that a request caused.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from armillary import exception
from armillary.version import version_string

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

HEADER = "traceparent"
CLIENT, SERVER = "CLIENT", "SERVER"
FLUSH_SECONDS = 3
_OFF: AbstractContextManager[None] = contextlib.nullcontext()

_provider: TracerProvider | None = None


def start(conf: cfg.ConfigOpts, service: str, *, exporter: SpanExporter | None = None) -> None:
    """Trace from now on in this process, if ``[tracing] endpoint`` is set.

    Raises ConfigurationError if the library is not installed.
    """
    global _provider
    endpoint, ratio = conf.tracing.endpoint, conf.tracing.sample_ratio
    if not endpoint:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
    except ImportError as error:
        raise exception.ConfigurationError(
            "[tracing] endpoint is set, but OpenTelemetry is not installed; install it with "
            f"pip install 'armillary[tracing]' ({error})"
        ) from error
    about = {
        "service.name": service, "service.version": version_string(),
        "service.instance.id": conf.host,
    }  # fmt: skip
    _provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(ratio)), resource=Resource.create(about)
    )
    exporter = exporter or OTLPSpanExporter(endpoint=endpoint)
    _provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000))


def stop() -> None:
    """Send what is left, and trace no longer."""
    global _provider
    if _provider is not None:
        _provider.force_flush(FLUSH_SECONDS * 1000)
        _provider.shutdown()
        _provider = None


def is_on() -> bool:
    """Return whether this process traces."""
    return _provider is not None


def span(
    name: str, kind: str, parent: str | None = None, *, seconds_ago: float = 0, **attributes: str
) -> AbstractContextManager[Any]:
    """Return a span that is current within its block; ``attributes`` have ``_`` for dots.

    It belongs to the current span of this thread, else to ``parent``, a ``traceparent``. It began
    ``seconds_ago``. An error that leaves the block is noted by its class.
    """
    if _provider is None:
        return _OFF
    return _span(_provider, name, kind, parent, seconds_ago, attributes)


def traceparent() -> str | None:
    """Return the identity of this thread's current span, None without one."""
    if _provider is None:
        return None
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(HEADER)


@contextlib.contextmanager
def _span(
    provider: TracerProvider,
    name: str,
    kind: str,
    parent: str | None,
    seconds_ago: float,
    attributes: dict[str, str],
) -> Iterator[Any]:
    from opentelemetry import trace
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    given = None
    if parent is not None and not trace.get_current_span().get_span_context().is_valid:
        given = TraceContextTextMapPropagator().extract({HEADER: parent})
    with provider.get_tracer("armillary").start_as_current_span(
        name,
        context=given,
        kind=trace.SpanKind[kind],
        start_time=time.time_ns() - int(seconds_ago * 1e9),
        attributes={key.replace("_", "."): value for key, value in attributes.items()},
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        try:
            yield made
        except Exception as error:
            made.set_status(trace.StatusCode.ERROR, type(error).__name__)
            raise
