"""Traces: which spans there are, what they belong to, and what it takes."""

import sys
from collections.abc import Iterator
from typing import Any

import falcon
import pytest
from falcon import testing
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from oslo_config import cfg

from armillary import exception
from armillary.conf import api as api_conf
from armillary.conf import base as base_conf
from armillary.conf import register
from armillary.conf import tracing as tracing_conf
from armillary.context import RequestContext
from armillary.http.request_id import RequestId
from armillary.http.traces import Traces
from armillary.metrics import tracing
from rpc.wire.serializer import ObjectSerializer

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    register(conf, base_conf, tracing_conf, api_conf)
    conf([], default_config_files=[], default_config_dirs=[])
    conf.set_override("endpoint", "http://127.0.0.1:1/v1/traces", "tracing")
    return conf


@pytest.fixture
def exporter(conf: cfg.ConfigOpts) -> Iterator[InMemorySpanExporter]:
    """Trace, and return what keeps the spans."""
    exporter = InMemorySpanExporter()
    tracing.start(conf, "armillary-api", exporter=exporter)
    yield exporter
    tracing.stop()


def ended(exporter: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    """Return the spans by name; tracing ends."""
    tracing.stop()
    return {span.name: span for span in exporter.get_finished_spans()}


def trace_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def test_nothing_is_traced_unless_it_is_configured(conf: cfg.ConfigOpts) -> None:
    """Messages say nothing of traces then."""
    conf.set_override("endpoint", None, "tracing")
    tracing.start(conf, "armillary-api")
    with tracing.span("scheduler select", tracing.CLIENT):
        assert (tracing.is_on(), tracing.traceparent()) == (False, None)


def test_a_missing_library_is_told_at_the_start(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(exception.ConfigurationError, match="pip install 'armillary"):
        tracing.start(conf, "armillary-api")


def test_a_message_carries_the_span_that_sends_it(exporter: InMemorySpanExporter) -> None:
    """The receiver's span belongs to it, and what it causes elsewhere later to the receiver's."""
    serializer = ObjectSerializer()
    with tracing.span("scheduler select", tracing.CLIENT, PARENT):
        sent = serializer.serialize_context(RequestContext(traceparent="stale"))
    received = serializer.deserialize_context(sent)
    with tracing.span("placement claim", tracing.CLIENT, received.traceparent):
        pass
    spans = ended(exporter)
    first, second = spans["scheduler select"], spans["placement claim"]
    assert trace_of(first) == trace_of(second) == TRACE
    assert second.parent is not None
    assert first.context is not None
    assert second.parent.span_id == first.context.span_id


def test_an_error_is_noted_without_its_text(exporter: InMemorySpanExporter) -> None:
    """It could name hosts and users."""
    with pytest.raises(ValueError, match="secret"), tracing.span("a b", tracing.SERVER):
        raise ValueError("secret")
    span = ended(exporter)["a b"]
    assert (span.status.is_ok, span.status.description) == (False, "ValueError")
    assert "secret" not in span.to_json()


class Authentication:
    """Middleware: any token proves its sender, but one."""

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: Any, params: Any
    ) -> None:
        token = req.get_header("X-Auth-Token")
        if token == "wrong":
            raise falcon.HTTPUnauthorized
        if token:
            req.context.caller = RequestContext(user_id=token)


def traced(conf: cfg.ConfigOpts, token: str | None, path: str = "/servers/web") -> str | None:
    """Return the trace that a request with a ``traceparent`` has, None if nothing handled it."""

    class Site:
        def on_get(self, req: falcon.Request, resp: falcon.Response, name: str) -> None:
            resp.text = tracing.traceparent()

    middleware: list[Any] = [RequestId(), Authentication(), Traces(conf)]
    app = falcon.App(middleware=middleware)
    app.add_route("/servers/{name}", Site())
    headers = {"traceparent": PARENT} | ({"X-Auth-Token": token} if token else {})
    answer = testing.TestClient(app).simulate_get(path, headers=headers)
    assert tracing.traceparent() is None
    return answer.text.split("-")[1] if answer.status_code == 200 else None


def test_a_request_continues_the_trace_of_its_client(
    conf: cfg.ConfigOpts, exporter: InMemorySpanExporter
) -> None:
    """Its span has the route, not the path."""
    conf.set_override("auth_strategy", "token_file", "api")
    handled = traced(conf, "me")
    span = ended(exporter)["GET /servers/{name}"]
    assert trace_of(span) == TRACE == handled
    assert (span.attributes or {})["http.response.status_code"] == 200


@pytest.mark.parametrize(
    ("continued", "strategy", "token", "expected"),
    [
        ("authenticated", "token_file", "me", True),
        ("authenticated", "token_file", None, False),
        ("authenticated", "noauth2", "me", False),
        ("all", "token_file", None, True),
        ("none", "token_file", "me", False),
    ],
)
def test_an_anonymous_client_decides_about_no_trace(
    conf: cfg.ConfigOpts,
    exporter: InMemorySpanExporter,
    continued: str,
    strategy: str,
    token: str | None,
    expected: bool,
) -> None:
    """Neither about its id, nor whether it is sampled; unless it is configured."""
    conf.set_override("continue_traces_of", continued, "tracing")
    conf.set_override("auth_strategy", strategy, "api")
    handled = traced(conf, token)
    assert (handled == TRACE) is expected
    assert trace_of(ended(exporter)["GET /servers/{name}"]) == handled


@pytest.mark.parametrize(
    ("token", "path", "name", "status"),
    [("wrong", "/servers/web", "GET /servers/{name}", 401), ("me", "/x", "GET unknown path", 404)],
)
def test_a_refused_request_begins_a_trace(
    conf: cfg.ConfigOpts,
    exporter: InMemorySpanExporter,
    token: str,
    path: str,
    name: str,
    status: int,
) -> None:
    """Of its own; with the time that the refusal took."""
    assert traced(conf, token, path) is None
    span = ended(exporter)[name]
    assert trace_of(span) != TRACE
    assert (span.attributes or {})["http.response.status_code"] == status
    assert span.start_time is not None
    assert span.end_time is not None
    assert span.start_time < span.end_time
