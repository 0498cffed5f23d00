"""Requests that no honest client sends, made from the declared routes of all HTTP APIs.

Each has one odd thing in a place where a service looks: a part of the path, a parameter, a field, a
header, a body that is none.
"""

import copy
import functools
import http.client
import itertools
import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from queue import SimpleQueue
from typing import Any

from api import validation as compute_validation
from api.identity.routes import ROUTES as IDENTITY
from api.image.routes import ROUTES as IMAGE
from api.routes import ROUTES as COMPUTE
from api.versions import MICROVERSIONS, OWN_FIELDS_HEADER
from armillary.http.dispatch import Routes, actions_of
from armillary.http.microversion import BEGINNING, HEADER, Version, entry_for, to_text
from armillary.http.validation import Schema, by_version
from placement.rest import validation as placement_validation
from placement.rest.routes import ROUTES as PLACEMENT
from placement.rest.versions import MAX as PLACEMENT_MAX
from tests.fixtures import waiting
from tests.fixtures.plugins import sampling

FORGED = "FORGED"
"""Begins what must not begin a line of a log, or name a header."""
ANSWER_BYTES_MAX = 4 * 2**20
STREAM = "text/event-stream"
AT_A_TIME = 4
BODY_METHODS = ("POST", "PUT", "PATCH")

ODD_NAMES = [
    "0", "-1", "1e999", "NaN", "null", str(2**31), str(2**63), str(2**64), "9" * 250, "1_000",
    "%2B1",
    "0x10", "%C2%B2", "%D9%A1", "%EF%BC%91", "1%0A", "%00", "a%00b", "%0A", "%20", "%7F", "%FF%FE",
    "%ED%A0%80", "%E2%80%AE", "%F0%9F%92%A5", f"a%0D%0A{FORGED}:%201", f"%0A{FORGED}%20ERROR", ".",
    "..", "..%2F..%2Fetc%2Fpasswd", "%2e%2e/%2e%2e/%2e%2e/etc/passwd", "%2Fetc%2Fpasswd", "a//b",
    "%27", "%27%3B%20DROP%20TABLE%20instances%3B%20--", "%27%20OR%20%271%27%3D%271", "%22%5C",
    "%25s%25n", "%7B0.__class__%7D", "%24%7Bjndi%3Aldap%3A%2F%2Fx%7D", "*", "%25", "_", "a,b",
    "a;b=c",
    "x" * 255, "x" * 256, "x" * 6000, "%E2%98%83" * 300, "A" * 32, "%5B%5D", "%7B%7D", "detail",
    "00000000-0000-0000-0000-000000000000", "00000000000000000000000000000000",
    "{00000000-0000-0000-0000-000000000000}", "00000000-0000-0000-0000-000000000000%0A",
]  # fmt: skip
"""Parts of a path as they are sent."""

ODD_QUERIES = [
    "{0}=", "{0}", "{0}=%00", "{0}=a&{0}=%00", "{0}=%00&{0}=%00", "{0}=-1",
    "{0}=9223372036854775808",
    "{0}=" + "9" * 400, "{0}=1e999", "{0}=NaN", "{0}=%C2%B2", "{0}=1_0", "{0}=1%0A", "{0}=true",
    "{0}=a&{0}=b", "{0}=1&{0}=2", "&".join(["{0}=a"] * 40), "&".join(["{0}=a"] * 900), "{0}[]=1",
    "{0}[a]=1", "{0}=[]", "{0}=%27%20OR%20%271%27%3D%271", "{0}=%27%3B--", "{0}=(a%2B)%2B%24",
    "{0}=(", "{0}=%5B", "{0}=%5C", "{0}=%25", "{0}=*", "{0}=%FF%FE", "{0}=%ED%A0%80",
    f"{{0}}=%0D%0A{FORGED}:%201", "{0}=..%2F..%2Fetc%2Fpasswd", "{0}=" + "x" * 300,
    "{0}=" + "x" * 7000, "{0}=in:", "{0}=in:%22", "{0}=in:,", "{0}=gt:", "{0}=!", "{0}=!in:",
    "{0}=:",
    "{0}=VCPU:9999999999999999999999", "{0}=VCPU:-1", "{0}=9999-12-31T23:59:59-23:59",
    "{0}=0001-01-01T00:00:00%2B14:00", "{0}=2030-02-30", "{0}=id:up", "{0}=__class__",
    "{0}=created_at:asc,created_at:asc", "{0}=00000000-0000-0000-0000-000000000000", "{0}=,",
    "{0}=" + ",".join(["a"] * 500), "{0}=%EF%BC%91", "a=1;{0}=2", "{0}=1#b", "%00={0}", "={0}",
]  # fmt: skip
"""Queries with the name of a parameter, as they are sent."""
COMMON_PARAMETERS = [
    "limit", "marker", "sort_key", "sort_dir", "changes-since", "all_tenants", "project_id", "name",
    "status", "fields", "page_reverse", "resources", "required1", "member_of_A",
]  # fmt: skip

ODD_VALUES: list[Any] = [
    None, True, 0, -1, 1.5, 2**31, 2**63, 2**64, 10**30, -(2**63) - 1, 1e308, "", " ", "0", "1_0",
    "²", "\u0661", "a\n", "\n", f"a\r\n{FORGED}: 1", "\x7f", "\x1b[2J", "‮", "☃" * 300, "x" * 300,
    "x" * 70000, "..", "../../etc/passwd", "/etc/passwd", "file:///etc/passwd",
    "http://127.0.0.1:1/",
    "'; DROP TABLE instances; --", "' OR '1'='1", "%s%n", "{0.__class__}", "$(id)", "`id`",
    "(a+)+$", "9999-12-31T23:59:59-23:59", "00000000-0000-0000-0000-000000000000",
    [], {}, [[]], [None], [{}], {"": ""}, {"a": None}, {"__class__": "a"}, ["a"] * 3000,
    {str(number): number for number in range(3000)},
]  # fmt: skip
"""Values of a field that are sound JSON and clean text."""

_DEEP = "[" * 20_000 + "]" * 20_000
ODD_BODIES: dict[str, bytes] = {
    "empty": b"", "null": b"null", "a list": b"[]", "a number": b"7", "a text": b'"x"',
    "no end": b"{",
    "deep": _DEEP.encode(), "deep objects": b'{"a":' * 5_000 + b"1" + b"}" * 5_000,
    "a bit deep": b'{"server":' * 40 + b"{}" + b"}" * 40,
    "doubled": b'{"server": {}, "server": {}}',
    "doubled within": b'{"server": {"name": "a", "name": "b"}}', "NaN": b'{"server": NaN}',
    "infinite": b'{"server": -Infinity}', "too large": b'{"server": 1e999}',
    "many digits": b'{"server": ' + b"9" * 6_000 + b"}", "NUL": b'{"server": "\\u0000"}',
    "NUL in a name": b'{"a\\u0000b": 1}', "half a letter": b'{"server": "\\ud800"}',
    "half a letter in a name": b'{"\\udfff": 1}', "raw NUL": b'{"a": "\x00"}',
    "no UTF-8": b'\xff\xfe{"a": 1}',
    "a mark": b'\xef\xbb\xbf{"server": {}}', "UTF-16": '{"server": {}}'.encode("utf-16"),
    "two": b"{}{}", "a comment": b'/* */{"server": {}}',
    "long name": b'{"' + b"x" * 70_000 + b'": 1}',
    "long text": b'{"server": "' + b"x" * 400_000 + b'"}', "many": b"[" + b"{}," * 30_000 + b"{}]",
    "entities": b'<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><server>&b;</server>',
    "a form": b"server=1&name=2", "an escape": b'{"server": "\\x41"}',
}  # fmt: skip
ODD_TYPES = [
    "application/json", "application/json; charset=utf-7", "application/json;", "text/plain", ";",
    "application/xml", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
    "application/octet-stream", "application/openstack-images-v2.1-json-patch", "x" * 300, "",
    "a/b/c",
    "application/json, text/plain", "APPLICATION/JSON",
]  # fmt: skip
ODD_HEADERS: dict[str, list[str]] = {
    HEADER: [
        "compute", "compute 2", "compute 2.-1", "compute 2.9999999", "compute ²", "latest", ",",
        "\xff",
        "compute 2.1, compute 2.90", "placement 1.99", "placement latest, compute latest",
        "x" * 6000,
    ],
    "X-OpenStack-Nova-API-Version": ["2.999", "\xff", "latest; x", "-1.0"],
    "X-Auth-Token": ["", " ", "x", "x" * 6000, "arm1.W10.AAAA", "arm1..", "root", "admin",
    "\xff\xfe",
                     "' OR '1'='1", "u1:p1", "admin:admin", "gAAAAA" + "x" * 200],
    "X-Subject-Token": ["", "x" * 6000, "arm1.W10.AAAA", "\xff", "../.."],
    "X-Openstack-Request-Id": ["req-" + "x" * 300, "\xff", "req-1\tERROR", "' OR '1'='1"],
    "X-Roles": ["admin"], "X-Project-Id": ["ops"], "X-User-Id": ["root"],
    "X-Is-Admin-Project": ["True"],
    "X-Identity-Status": ["Confirmed"], "X-Service-Token": ["x"], "X-Service-Roles": ["admin"],
    "X-HTTP-Method-Override": ["DELETE"], "X-Original-URL": ["/v2.1/os-services"],
    "X-Forwarded-For": ["127.0.0.1", "x" * 300], "X-Forwarded-Host": ["evil.example"],
    "Forwarded": ["for=x;host=evil.example;proto=https", "host="],
    "Idempotency-Key": ["", "x", "x" * 300, "\xff", "' OR '1'='1", "a b", "../.."],
    "Accept": ["", ";,;", "text/html", "*/*;q=x", "application/json;q=-1", "x" * 6000, "\xff"],
    "Accept-Encoding": ["gzip;q=x", "br", "\xff", "identity;q=0, *;q=0"],
    "If-None-Match": ["*", "\xff", '"' + "x" * 300, "W/"], "If-Modified-Since": ["x", "\xff"],
    "Range": ["bytes=-1", "bytes=9999999999999999999999-", "bytes=a-b", "bytes=0-0,1-1", "\xff"],
    "Content-Range": ["bytes 5-1/2", "x"], "Content-Encoding": ["gzip", "x"], "Expect": ["x"],
    "Last-Event-ID": ["-1", "x", "9" * 400], "Cookie": ["armillary_console=x", "a" * 6000, "\xff",
    ";"],
    "Origin": ["https://evil.example", "null", "\xff"], "Referer": ["https://evil.example"],
    "traceparent": ["00-" + "0" * 32 + "-" + "0" * 16 + "-01", "x", "\xff"],
    OWN_FIELDS_HEADER: ["2", "x", "\xff"],
    "X-Image-Meta-Location": ["file:///etc/passwd"], "X-Console-Grant": ["x", "gAAAAA" + "x" * 200],
}  # fmt: skip
ODD_METHODS = [
    "TRACE",
    "CONNECT",
    "PROPFIND",
    "get",
    "X" * 300,
    "OPTIONS",
    "HEAD",
    "PATCH",
    "DELETE",
]

_LEAK = re.compile(
    r'Traceback|File \\?"|\.py\b|site-packages|\bSELECT .* FROM\b|INSERT INTO|UPDATE \w+ SET'
    r"|psycopg|pymysql|sqlalchemy|sqlite|oslo_|kombu|amqp:|postgresql:|DETAIL: |relation "
    r"|(?<![\w.])/(?:home|root|tmp|usr|var|opt|work|proc)/|root:x:0|object at 0x|TypeError|KeyError"
)
"""What only developers and operators may see of a failure."""


@dataclass(frozen=True)
class Route:
    """One action of one path, as it is declared."""

    api: str
    method: str
    path: str
    version: Version
    query: Schema
    body: Schema | None

    @property
    def parameters(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.path)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class Request:
    """What is sent, to the letter."""

    api: str
    method: str
    target: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None

    def __str__(self) -> str:
        shown = {name: value[:60] for name, value in self.headers.items()}
        return f"{self.method} {self.target[:200]} {shown} {(self.body or b'')[:300]!r}"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    text: str


def _declared(api: str, prefix: str, routes: Routes[Any], newest: Version) -> Iterator[Route]:
    for path, methods in routes.items():
        for method, choice in methods.items():
            for action in actions_of(choice):
                version = action.until or newest
                query = entry_for(version, by_version(action.query))
                body = entry_for(version, by_version(action.body))
                yield Route(api, method, f"{prefix}{path}", version, query or {}, body)


ROUTES: list[Route] = [
    *_declared("compute", "", COMPUTE, MICROVERSIONS.maximum),
    *_declared("identity", "/identity", IDENTITY, BEGINNING),
    *_declared("image", "/image", IMAGE, BEGINNING),
    *_declared("placement", "", PLACEMENT, PLACEMENT_MAX),
]


def _of_version(route: Route) -> dict[str, str]:
    if route.version == BEGINNING:
        return {}
    return {HEADER: f"{route.api} {to_text(route.version)}", OWN_FIELDS_HEADER: "1"}


Names = Mapping[str, str]
"""Part of a path, or field, by its name -> what there is of that kind."""
UNKNOWN = "0b0e4c1c-8f0d-4d63-a1a5-1b0f2f0c1d2e"


def request_to(route: Route, names: Names, **odd: str) -> Request:
    """Return a request about things that exist, apart from the parts that are given."""
    parts = {each: odd.get(each) or names.get(each, UNKNOWN) for each in route.parameters}
    target = re.sub(r"{(\w+)}", lambda found: parts[found[1]], route.path)
    request = Request(route.api, route.method, target, _of_version(route))
    return request if route.body is None else with_body(request, right(route.body, names))


def with_body(request: Request, value: Any) -> Request:
    """Return a request with a value of JSON."""
    headers = {**request.headers, "Content-Type": "application/json"}
    return replace(request, headers=headers, body=json.dumps(value).encode())


# Bodies that keep to their schema -------------------------------------------------------------

_TEXTS = [
    "a", "A", "1", "CUSTOM_A", "VCPU", "none", "soft", "enable", "192.0.2.1", "2001:db8::1", "/24",
    UNKNOWN, "2030-01-31T12:00:00Z", "Zm9v", "ACTIVE",
]  # fmt: skip
_FORMATS = {
    "uuid": UNKNOWN, "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "address": "192.0.2.1",
    "date-time": "2030-01-31T12:00:00Z",
}  # fmt: skip
_SAME = {
    "imageRef": "image_id", "image_ref": "image_id", "flavorRef": "flavor_id",
    "tenant": "project_id", "group": "server_group_id", "member": "project_id",
    "key_name": "keypair", "server_uuid": "server_id", "instance_uuid": "server_id",
}  # fmt: skip
"""Fields that name what parts of paths do."""
_OF_PATHS_ALONE = ("id", "name")
"""Fields that do not."""


def right(schema: Schema, names: Names, field_name: str = "") -> Any:
    """Return a value that a schema takes, with all fields that it knows."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return next((each for each in schema["enum"] if each is not None), None)
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            first = {**schema[choice][0], **{k: v for k, v in schema.items() if k != choice}}
            required = [*schema.get("required", []), *schema[choice][0].get("required", [])]
            return right({**first, "required": required}, names, field_name)
    kinds = schema.get("type", "object" if "properties" in schema else "string")
    kind = kinds if isinstance(kinds, str) else kinds[0]
    return _MAKERS[kind](schema, names, field_name)


def _object(schema: Schema, names: Names, _name: str) -> dict[str, Any]:
    known = schema.get("properties", {})
    made = {each: right(part, names, each) for each, part in known.items()}
    for pattern, part in schema.get("patternProperties", {}).items():
        made[_text({"pattern": pattern}, names, "")] = right(part, names)
    others = schema.get("additionalProperties", True)
    if isinstance(others, Mapping) and others and len(made) < schema.get("maxProperties", 2):
        made[_text(schema.get("propertyNames", {}), names, "")] = right(others, names)
    return made


def _array(schema: Schema, names: Names, name: str) -> list[Any]:
    return [] if schema.get("maxItems") == 0 else [right(schema.get("items", {}), names, name)]


def _text(schema: Schema, names: Names, name: str) -> str:
    known = None if name in _OF_PATHS_ALONE else names.get(_SAME.get(name, name))
    texts = [*([known] if known else []), _FORMATS.get(schema.get("format", ""), "a"), *_TEXTS]
    low, high = schema.get("minLength", 0), schema.get("maxLength", 2000)
    pattern = schema.get("pattern", "")
    return next(each for each in texts if low <= len(each) <= high and re.search(pattern, each))


def _integer(schema: Schema, _names: Names, _name: str) -> int:
    return int(max(schema.get("minimum", 1), schema.get("exclusiveMinimum", 0), 1))


_MAKERS: dict[str, Callable[[Schema, Names, str], Any]] = {
    "object": _object, "array": _array, "string": _text, "integer": _integer,
    "number": _integer, "boolean": lambda *_: True, "null": lambda *_: None,
}  # fmt: skip


def lean(value: Any, schema: Schema) -> Any:
    """Return a value without the fields of its objects that may be missing."""
    known = schema.get("properties", {})
    if not isinstance(value, dict) or not known:
        return value
    required = schema.get("required", [])
    return {
        name: lean(part, known.get(name, {}))
        for name, part in value.items()
        if name in required or name not in known
    }


def check_right(route: Route, names: Names) -> None:
    """Raise an error unless the body for a route keeps to its schema."""
    assert route.body is not None
    if route.api == "placement":
        placement_validation.Check(route.body).body(right(route.body, names))
    else:
        compute_validation.Check(route.body).body(right(route.body, names))


def _places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield at
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            yield from _places(item, (*at, key))


def spoilt(body: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a body with another value in one place."""
    if not place:
        return value
    changed = copy.deepcopy(body)
    parent = functools.reduce(lambda inner, key: inner[key], place[:-1], changed)
    parent[place[-1]] = value
    return changed


# What is sent ---------------------------------------------------------------------------------


def some(cases: Iterable[Any], count: int, key: str) -> list[Any]:
    """Return this many of the cases; the commit decides which."""
    found = list(cases)
    return random.Random(f"{sampling.seed()} {key}").sample(found, min(count, len(found)))


def odd_paths(route: Route, names: Names, count: int) -> Iterator[Request]:
    """Yield requests with an odd name in one part of the path."""
    for part in route.parameters:
        for odd in some(ODD_NAMES, count, f"{route.name} {part}"):
            yield request_to(route, names, **{part: odd})


def odd_queries(route: Route, names: Names, count: int) -> Iterator[Request]:
    """Yield requests with an odd query: of a parameter that is declared, or of one of others."""
    request = request_to(route, names)
    own = [*route.query.get("properties", {})] or ["a"]
    known = [*own, *own, *own, *COMMON_PARAMETERS]
    for number, odd in enumerate(some(ODD_QUERIES, count, route.name)):
        (parameter,) = some(known, 1, f"{route.name} {number}")
        yield replace(request, target=f"{request.target}?{odd.replace('{0}', parameter)}")


def odd_fields(route: Route, names: Names, count: int) -> Iterator[Request]:
    """Yield requests with a body that is odd in one place; every other has only what it must."""
    assert route.body is not None
    whole = right(route.body, names)
    request = request_to(route, names)
    for body in (whole, lean(whole, route.body)):
        cases = itertools.product(_places(body), range(len(ODD_VALUES)))
        for place, number in some(cases, count // 2, f"{route.name} {body}"):
            yield with_body(request, spoilt(body, place, ODD_VALUES[number]))


def odd_bodies(route: Route, names: Names, count: int) -> Iterator[Request]:
    """Yield requests with bodies that are none, or of another type than they say."""
    request = request_to(route, names)
    for name in some(ODD_BODIES, count, route.name):
        (kind,) = some([*ODD_TYPES, *["application/json"] * 15], 1, f"{route.name} {name}")
        headers = {**request.headers, "Content-Type": kind}
        yield replace(request, headers=headers, body=ODD_BODIES[name])


def odd_headers(route: Route, names: Names) -> Iterator[Request]:
    """Yield requests with one odd header."""
    request = request_to(route, names)
    for name, values in ODD_HEADERS.items():
        for value in values:
            yield replace(request, headers={**request.headers, name: value})


def odd_methods(route: Route, names: Names) -> Iterator[Request]:
    """Yield requests by methods that the path may not have."""
    request = replace(request_to(route, names), body=None)
    yield from (replace(request, method=method) for method in ODD_METHODS)


class Client:
    """Sends requests as one account, several at a time, each by connections of its own."""

    def __init__(self, addresses: Mapping[str, str], token: str) -> None:
        self._addresses = addresses
        self._token = token
        self._free: SimpleQueue[dict[str, http.client.HTTPConnection]] = SimpleQueue()
        for _ in range(AT_A_TIME):
            self._free.put({})

    def close(self) -> None:
        for _ in range(AT_A_TIME):
            for connection in self._free.get().values():
                connection.close()

    def send(self, request: Request) -> Answer:
        """Return the answer. Raises OSError or an HTTPException if there is none."""
        connections = self._free.get()
        try:
            return self._send_by(connections, request)
        finally:
            self._free.put(connections)

    def _send_by(
        self, connections: dict[str, http.client.HTTPConnection], request: Request
    ) -> Answer:
        address = self._addresses[request.api]
        if address not in connections:
            connections[address] = http.client.HTTPConnection(address, timeout=waiting.seconds(60))
        connection = connections[address]
        try:
            return self._exchange(connection, request)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            connection.close()  # it was ended when the last answer had come
            return self._exchange(connection, request)
        except BaseException:
            connection.close()
            raise

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Answer:
        connection.putrequest(request.method, request.target, skip_accept_encoding=True)
        headers = {"X-Auth-Token": self._token, **request.headers}
        if request.body is not None:
            headers["Content-Length"] = str(len(request.body))
        for name, value in headers.items():
            connection.putheader(
                name, value.encode("utf-8" if value.isascii() else "latin-1", "replace")
            )
        connection.endheaders(request.body)
        response = connection.getresponse()
        found = dict(response.getheaders())
        is_stream = found.get("Content-Type", found.get("content-type", "")).startswith(STREAM)
        data = b"" if is_stream else response.read(ANSWER_BYTES_MAX)
        if is_stream or not response.isclosed():
            connection.close()
        return Answer(response.status, found, data.decode("utf-8", "replace"))

    def complaints(self, requests: Iterable[Request], *, secrets: Sequence[str] = ()) -> list[str]:
        """Send requests; return what is wrong with the answers."""
        with ThreadPoolExecutor(AT_A_TIME) as clients:
            found = clients.map(lambda each: self._complaint(each, secrets), requests)
            return [each for each in found if each is not None]

    def _complaint(self, request: Request, secrets: Sequence[str]) -> str | None:
        try:
            answer = self.send(request)
        except (OSError, http.client.HTTPException) as error:
            return f"{request}: no answer: {error!r}"
        wrong = fault_of(answer, secrets)
        return (
            None if wrong is None else f"{request}: {answer.status}: {wrong}: {answer.text[:400]}"
        )


def fault_of(answer: Answer, secrets: Sequence[str] = ()) -> str | None:
    """Return what is wrong with an answer to a hostile request."""
    if answer.status >= 500 and answer.status != http.HTTPStatus.NOT_IMPLEMENTED:
        return "a failure of ours"
    if any(FORGED in name for name in answer.headers):
        return "a forged header"
    if any(secret in answer.text for secret in secrets):
        return "shows what is another project's"
    if answer.status >= 400 and (leak := _LEAK.search(answer.text)):
        return f"tells inner details: {leak[0]}"
    return None
