"""The API over HTTP: every kind of answer and of silence, told in one line."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from armillary import exception
from armillary.backoff import Backoff
from programs.access.errors import (
    ApiNotFound,
    ApiRefused,
    ApiTimeout,
    ApiUnauthorized,
    ApiUnavailable,
    ApiUnreachable,
    NotAnArmillaryApi,
    ProxyFailed,
)
from programs.http_client import ApiClient

REQUEST_ID = "req-11111111-2222-3333-4444-555555555555"

Answer = Callable[[BaseHTTPRequestHandler], None]


class Site:
    """A server that answers as the test says."""

    def __init__(self) -> None:
        self.answer: Answer = reply(200, {})
        self.seen: list[BaseHTTPRequestHandler] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.seen.append(self)
                site.answer(self)

            do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - so the library calls them

            def log_message(self, *args: Any) -> None:
                """Say nothing."""

        class Server(HTTPServer):
            def handle_error(self, *args: Any) -> None:
                """Say nothing: clients go away in these tests."""

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


def reply(status: int, body: Any, **headers: str) -> Answer:
    """Return what answers with a JSON body, or with a text as it is."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return answer


@pytest.fixture
def site() -> Iterator[Site]:
    """Lend a server."""
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield site
    site.server.shutdown()
    thread.join()
    site.server.server_close()


@pytest.fixture
def client(site: Site) -> Iterator[ApiClient]:
    """Return a client of it."""
    client = ApiClient(site.url, "secret")
    yield client
    client.close()


def test_an_answer_is_its_json_object(site: Site, client: ApiClient) -> None:
    """Asked for below /v2.1, with the token and the query."""
    site.answer = reply(200, {"servers": []})
    assert client.get("servers", "detail", query={"name": "a b", "host": None}) == {"servers": []}
    assert site.seen[0].path == "/v2.1/servers/detail?name=a+b"
    assert site.seen[0].headers["X-Auth-Token"] == "secret"


def test_no_content_is_an_empty_object(site: Site, client: ApiClient) -> None:
    """As deletes answer."""
    site.answer = reply(204, "")
    client.delete("servers", "1")
    assert client.post("servers", body={}) == {}


def test_a_segment_cannot_leave_its_place(site: Site, client: ApiClient) -> None:
    """Names come from people."""
    client.get("flavors", "a/b?c#d")
    assert site.seen[0].path == "/v2.1/flavors/a%2Fb%3Fc%23d"
    for name in ("", ".", ".."):
        with pytest.raises(exception.NotFound):
            client.get("flavors", name)
    assert len(site.seen) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, ApiRefused), (404, ApiNotFound), (409, ApiRefused), (503, ApiUnavailable)],
)
def test_a_refusal_says_why_with_status_and_request_id(
    status: int, error: type[ApiRefused], site: Site, client: ApiClient
) -> None:
    """In the Compute API's shape of an error."""
    body = {"someFault": {"code": status, "message": "The flavor is too big."}}
    site.answer = reply(status, body, X_OpenStack_Request_Id=REQUEST_ID)
    with pytest.raises(error) as caught:
        client.get("servers")
    assert type(caught.value) is error
    assert caught.value.status == status
    assert str(caught.value) == f"The flavor is too big. (HTTP {status}, request {REQUEST_ID})"


def test_without_a_valid_token_one_learns_how_to_give_one(site: Site, client: ApiClient) -> None:
    """The exit code is that of a refusal."""
    site.answer = reply(401, {"unauthorized": {"message": "The request needs a valid token."}})
    with pytest.raises(ApiUnauthorized) as caught:
        client.get("servers")
    assert str(caught.value) == (
        "The request needs a valid token. (HTTP 401, request unknown). Give a valid token with "
        "--token or ARMILLARY_TOKEN; only the user who started 'armillary up' needs none."
    )


def test_a_refusal_in_another_shape_is_told_as_well_as_can_be(
    site: Site, client: ApiClient
) -> None:
    """A proxy answers as it likes."""
    site.answer = reply(502, "<html>")
    with pytest.raises(ApiUnavailable, match=r"Bad Gateway \(HTTP 502, request unknown\)"):
        client.get("servers")


def test_no_server_there_says_how_to_start_one() -> None:
    """The newcomer's first error."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but without a listener
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ApiUnreachable) as caught:
            ApiClient(url).get("servers")
    assert str(caught.value) == (
        f"No Armillary API answers at {url}: connection refused. Start one with: armillary up. One "
        "that is elsewhere is named with --api-url or ARMILLARY_API_URL."
    )


def test_an_unknown_name_is_not_a_server_there() -> None:
    """It cannot be looked up."""
    with pytest.raises(ApiUnreachable):
        ApiClient("http://armillary.invalid").get("servers")


def test_silence_has_an_end_and_an_unknown_outcome(site: Site) -> None:
    """The request may have been carried out."""
    client = ApiClient(site.url, "secret", timeout_seconds=0.3)
    go_on = threading.Event()
    site.answer = lambda handler: reply(200, {})(handler) if go_on.wait(10) else None
    with pytest.raises(ApiTimeout, match=r"POST v2.1/servers .* no response within 0.3 s.*check"):
        client.post("servers", body={})
    go_on.set()
    client.close()


def test_a_broken_connection_has_an_unknown_outcome(site: Site, client: ApiClient) -> None:
    """It is not the same as no server there."""
    site.answer = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    with pytest.raises(ApiTimeout, match="the connection broke"):
        client.get("servers")


def test_a_post_is_repeated_with_its_key(site: Site) -> None:
    """The API sees by the key that it is the same request; another request has another one."""
    client = ApiClient(site.url, backoff=Backoff(0.01, 0.01))
    busy = {"conflictingRequest": {"code": 409, "message": "it is being handled"}}
    answers = [
        reply(503, {}),
        lambda handler: handler.connection.shutdown(socket.SHUT_RDWR),
        reply(409, busy, Retry_After="1"),
        reply(200, {"made": 1}),
    ]
    site.answer = lambda handler: answers.pop(0)(handler)
    assert client.post("servers", body={}) == {"made": 1}
    assert len({each.headers["Idempotency-Key"] for each in site.seen}) == 1
    site.answer = reply(504, {})
    with pytest.raises(ApiUnavailable):
        client.post("servers", body={})
    keys = [each.headers["Idempotency-Key"] for each in site.seen]
    assert (keys.count(keys[0]), keys.count(keys[-1])) == (4, 4)


@pytest.mark.parametrize("status", [400, 409, 500])
def test_a_refusal_is_not_repeated(site: Site, status: int) -> None:
    """The same request would be refused again."""
    site.answer = reply(status, {})
    with pytest.raises(ApiRefused):
        ApiClient(site.url).post("servers", body={})
    assert len(site.seen) == 1


@pytest.mark.parametrize("body", ["<html>", "[]", '"text"'])
def test_an_answer_that_is_not_an_object_is_not_armillarys(
    body: str, site: Site, client: ApiClient
) -> None:
    """Some other program has the port."""
    site.answer = reply(200, body)
    with pytest.raises(NotAnArmillaryApi, match="not a JSON object"):
        client.get("servers")


def test_a_token_is_not_sent_elsewhere(site: Site, client: ApiClient) -> None:
    """Redirections are not followed."""
    site.answer = reply(302, "", Location="http://192.0.2.1/")
    with pytest.raises(NotAnArmillaryApi, match=r"it redirects to http://192\.0\.2\.1/"):
        client.get("servers")
    assert len(site.seen) == 1


def test_tls_that_fails_is_said_so(site: Site) -> None:
    """A server without it is there, and it is not what was asked for."""
    with pytest.raises(NotAnArmillaryApi, match="does not speak TLS; an address without"):
        ApiClient(site.url.replace("http:", "https:")).get("servers")


def test_all_pages_come_from_this_server(site: Site, client: ApiClient) -> None:
    """Whatever host the links name, a proxy's perhaps; what stands beside the list is passed on."""
    pages = [
        {
            "things": [1, 2],
            "things_links": [{"rel": "next", "href": "https://elsewhere/v2.1/x?marker=2&limit=2"}],
        },
        {"things": [3], "extra": True},
    ]
    site.answer = lambda handler: reply(200, pages[len(site.seen) - 1])(handler)
    seen: list[Any] = []
    things: list[Any] = list(
        client.list_all("things", "things", query={"limit": 2}, on_page=seen.append)
    )
    assert things == [1, 2, 3]
    assert seen == pages
    assert [handler.path for handler in site.seen] == [
        "/v2.1/things?limit=2",
        "/v2.1/things?marker=2&limit=2",
    ]


@pytest.mark.parametrize("url", ["http://a:8774/", "http://a:8774/v2.1", " http://a:8774/v2.1/ "])
def test_the_version_may_be_part_of_the_address(url: str) -> None:
    """As other clients have it in their configuration."""
    assert ApiClient(url).url == "http://a:8774"


@pytest.mark.parametrize(
    "url",
    ["", "localhost:8774", "ftp://a", "http://", "http://a:99999", "http://a/?b", "http://[::1"],
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(exception.Invalid, match="is not an HTTP address"):
        ApiClient(url)


def test_an_address_holds_no_password() -> None:
    """It would stand in logs, and no API asks for it; the message does not repeat it."""
    with pytest.raises(exception.Invalid) as caught:
        ApiClient("http://alice:secret@a:8774")
    assert "secret" not in str(caught.value)


def test_a_token_that_no_header_can_carry_is_refused() -> None:
    """And it is not repeated in the message."""
    with pytest.raises(exception.Invalid) as caught:
        ApiClient("http://a", "top\nsecret")
    assert "secret" not in str(caught.value)


def test_no_proxy_stands_before_this_machine(
    site: Site, client: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Developers' machines have one in their environment."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert client.get("servers") == {}


def test_requests_to_others_go_through_the_proxy_of_the_environment(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the host is one of those that need none; the request names the whole address."""
    monkeypatch.setenv("http_proxy", site.url.replace("//", "//me:secret@"))
    monkeypatch.setenv("no_proxy", "near.invalid")
    assert ApiClient("http://far.invalid:8774").get("servers") == {}
    assert site.seen[0].path == "http://far.invalid:8774/v2.1/servers"
    assert site.seen[0].headers["Proxy-Authorization"].startswith("Basic ")
    with pytest.raises(ApiUnreachable):
        ApiClient("http://near.invalid").get("servers")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with pytest.raises(ProxyFailed, match="The proxy for http://far"):
        ApiClient("http://far.invalid").get("servers")


def test_a_stream_is_read_line_by_line(site: Site, client: ApiClient) -> None:
    """With the token and the query of every request."""
    site.answer = reply(200, "one\n\ntwo\n")
    lines = client.stream("armillary", "events", query={"host": "a"}, silence=5.0)
    assert list(lines) == ["one", "", "two"]
    assert site.seen[0].path == "/v2.1/armillary/events?host=a"
    assert site.seen[0].headers["X-Auth-Token"] == "secret"


def test_a_stream_that_is_refused_is_an_error(site: Site, client: ApiClient) -> None:
    """As any answer is."""
    site.answer = reply(503, {"serviceUnavailable": {"message": "too many follow", "code": 503}})
    with pytest.raises(ApiUnavailable, match="too many follow"):
        list(client.stream("armillary", "events", silence=5.0))
