"""The same requests to our Placement API and to the reference implementation, and what differs.

What depends on the implementation is left out: texts of errors, request ids, the order of lists,
when something was changed. ``DECIDED`` are the differences that we want, each with its reason.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from tests.conformance import wsgi_lines
from tests.fixtures.placement.placement_fuzz_world import EmptyWorld
from tests.fixtures.services import leave_out

TITLE = "openstack-placement"
HEADERS = ("openstack-api-version", "cache-control", "www-authenticate")
ERROR_FIELDS = ("status", "title", "code", "max_version", "min_version")
SHOWN_MAX = 2000
INCOMPLETE = "00000000-0000-0000-0000-000000000000"
"""Project and user of consumers that were written without any."""


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes = b""

    def to_plain(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "path": self.path,
            "headers": dict(self.headers),
            "body": base64.b64encode(self.body).decode(),
        }

    def __str__(self) -> str:
        headers = " ".join(f"{name}={value!r}" for name, value in self.headers.items())
        return f"{self.method} {self.path} {headers} {self.body!r}"[:SHOWN_MAX]


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Answer:
        number, _, reason = plain["status"].partition(" ")
        headers: dict[str, str] = {}
        for name, value in plain["headers"]:
            known = headers.get(name.lower())
            headers[name.lower()] = value if known is None else f"{known}, {value}"
        return cls(int(number), reason, headers, base64.b64decode(plain["body"]))

    @property
    def is_success(self) -> bool:
        return self.status < 400

    @property
    def json(self) -> Any:
        """The body, or None if it is not JSON."""
        if "json" not in self.headers.get("content-type", ""):
            return None
        return json.loads(self.body) if self.body else None

    def comparable(self) -> dict[str, Any]:
        """Return what must be equal in the answers of two implementations."""
        headers = self.headers
        found: dict[str, Any] = {name: headers.get(name) for name in HEADERS}
        allowed = headers.get("allow", "").split(",")
        found["allow"] = sorted(part.strip() for part in allowed)
        found["status"] = self.status
        found["location"] = headers.get("location")
        found["has_last_modified"] = "last-modified" in headers
        found["type"] = headers.get("content-type", "").partition(";")[0] if self.body else None
        found["body"] = self._comparable_body()
        return found

    def _comparable_body(self) -> Any:
        body = self.json
        if body is None:
            return bool(self.body)
        if self.status >= 400 and "errors" in body:
            return [{name: error.get(name) for name in ERROR_FIELDS} for error in body["errors"]]
        return _sorted(body)

    def __str__(self) -> str:
        return f"{self.status} {dict(self.headers)} {self.body!r}"[:SHOWN_MAX]


def _sorted(value: Any) -> Any:
    """Return a JSON value with its lists in one order: the API's lists are sets."""
    if isinstance(value, dict):
        return {key: _sorted(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(
            (_sorted(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True)
        )
    return value


@dataclass(frozen=True)
class Difference:
    """A request that was answered differently, and the requests before it."""

    request: Request
    ours: Answer
    theirs: Answer
    story: tuple[Request, ...] = ()

    def fields(self) -> dict[str, tuple[Any, Any]]:
        """Return what differs: name -> our value, the reference's."""
        ours, theirs = self.ours.comparable(), self.theirs.comparable()
        return {name: (ours[name], theirs[name]) for name in ours if ours[name] != theirs[name]}

    def __str__(self) -> str:
        lines = [str(self.request), f"  ours:   {self.ours}", f"  theirs: {self.theirs}"]
        lines += [
            f"  {name}: {ours!r:.1000} != {theirs!r:.1000}"
            for name, (ours, theirs) in self.fields().items()
        ]
        return "\n".join(lines)


def _is_another_401(one: Difference) -> bool:
    """A refused token gets the API's error document, a challenge and the version."""
    return one.ours.status == one.theirs.status == 401


def _is_json_where_accepted(one: Difference) -> bool:
    """An error is JSON for a client that accepts JSON as well as HTML."""
    is_type = one.fields().keys() <= {"type", "body"} and not one.ours.is_success
    return is_type and "json" in one.ours.headers["content-type"] and one.ours.json is not None


def _says_what_is_allowed(one: Difference) -> bool:
    """Status 405 always has the header Allow, with what the version allows."""
    return one.fields().keys() == {"allow"} and "allow" not in one.theirs.headers


def _checks_all_of_a_query(one: Difference) -> bool:
    """A query with an unknown or malformed name is refused, also if the rest selects nothing."""
    is_refused = one.request.method == "GET" and one.ours.status == 400
    return is_refused and one.theirs.status == 200 and '": []' in one.theirs.body.decode()


def _does_not_fail(one: Difference) -> bool:
    """What the reference answers with 500 is refused, or done."""
    return one.theirs.status == 500 and one.ours.status < 500


def _says_when_it_changed(one: Difference) -> bool:
    """An answer without inventories has the header Last-Modified, too."""
    return one.fields() == {"has_last_modified": (True, False)}


def _leaves_no_consumer(one: Difference) -> bool:
    """A refused or empty write makes no consumer; the reference may keep one, of generation 0."""
    if one.theirs.status == 409:
        return b"expected 0 but got" in one.theirs.body
    return b"expected null but got 0" in one.ours.body


def _keeps_owners(one: Difference) -> bool:
    """A write without project and user leaves a consumer those that it has.

    The reference replaces them by the placeholders of incomplete consumers.
    """
    if not one.request.path.startswith("/allocations/") or one.request.method != "GET":
        return False
    placeholders = {"project_id": INCOMPLETE, "user_id": INCOMPLETE}
    is_known = one.ours.is_success and one.theirs.is_success
    return is_known and {**one.ours.json, **placeholders} == one.theirs.json


def _refuses_reserved(one: Difference) -> bool:
    """A reshape cannot reserve more than the total either."""
    return one.request.path == "/reshaper" and b" is greater than total " in one.ours.body


def _checks_mappings(one: Difference) -> bool:
    """The providers in the mappings of a write are UUIDs, although nothing is done with them."""
    return one.ours.status == 400 and b"mappings" in one.ours.body


def _finds_more(one: Difference) -> bool:
    """Return whether we have all candidates of the reference, and others."""
    if "/allocation_candidates" not in one.request.path or not one.theirs.is_success:
        return False
    ours, theirs = _candidates(one.ours), _candidates(one.theirs)
    return theirs < ours


def _takes_groups_without_resources(one: Difference) -> bool:
    """A group without resources is served by any provider that its other parameters fit."""
    query = dict(parse_qsl(one.request.path.partition("?")[2]))
    groups = query["same_subtree"].split(",") if "same_subtree" in query else []
    return _finds_more(one) and any(f"resources{suffix}" not in query for suffix in groups)


def _forbids_for_what_serves(one: Difference) -> bool:
    """A forbidden trait rules out who has it; who has it does not keep others from sharing."""
    query = dict(parse_qsl(one.request.path.partition("?")[2]))
    return _finds_more(one) and "!" in query.get("required", "")


def _takes_what_was_asked(one: Difference) -> bool:
    """Groups that ask for one class take their sum; the reference may add some of it repeatedly.

    It then asks for too much, or lacks the candidates that have no room for that.
    """
    if "/allocation_candidates" not in one.request.path or not one.theirs.is_success:
        return False
    query = dict(parse_qsl(one.request.path.partition("?")[2]))
    asked, groups = Counter[str](), Counter[str]()
    for key, value in query.items():
        if key.startswith("resources"):
            amounts = dict(item.split(":") for item in value.split(","))
            groups.update(amounts.keys())
            asked.update({name: int(amount) for name, amount in amounts.items()})
    if max(groups.values()) < 2 or any(totals != asked for totals in _totals(one.ours)):
        return False
    return _finds_more(one) or any(totals != asked for totals in _totals(one.theirs))


def _totals(answer: Answer) -> Iterator[Counter[str]]:
    """Yield what each candidate takes of each class."""
    for candidate in answer.json["allocation_requests"] if answer.is_success else ():
        allocations = candidate["allocations"]
        parts = allocations.values() if isinstance(allocations, dict) else allocations
        totals = Counter[str]()
        for part in parts:
            totals.update(part["resources"])
        yield totals


def _candidates(answer: Answer) -> set[str]:
    body = _sorted(answer.json) if answer.is_success else {"allocation_requests": []}
    return {json.dumps(one, sort_keys=True) for one in body["allocation_requests"]}


DECIDED = (
    _takes_groups_without_resources, _takes_what_was_asked, _forbids_for_what_serves,
    _is_another_401, _is_json_where_accepted, _says_what_is_allowed, _checks_all_of_a_query,
    _checks_mappings, _does_not_fail, _refuses_reserved, _leaves_no_consumer, _says_when_it_changed,
    _keeps_owners,
)  # fmt: skip


class Reference:
    """A process with the reference implementation, in an environment of its own."""

    def __init__(self, folder: Path) -> None:
        python = Path(sys.prefix, "reference/bin/python")
        if not python.exists():
            leave_out(TITLE, "its environment was not made, run `make differential`")
        with (folder / "reference.log").open("w") as log:
            self._process = subprocess.Popen(
                [python, wsgi_lines.__file__, folder],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def ask(self, request: Request) -> Answer:
        return Answer.of(self._exchange(request.to_plain()))

    def renew(self) -> None:
        """Empty its database."""
        self._exchange("renew")

    def close(self) -> None:
        self._process.communicate()

    def _exchange(self, question: Any) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


@dataclass
class Pair:
    """Both implementations, with the same requests behind them."""

    reference: Reference
    world: EmptyWorld
    asked: list[Request] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    decided: list[Difference] = field(default_factory=list)

    def begin(self) -> None:
        """Empty both databases, and forget the differences."""
        self.reference.renew()
        self.world.renew()
        self.asked, self.differences, self.decided = [], [], []

    def _note(self, one: Difference) -> None:
        found = self.decided if any(decide(one) for decide in DECIDED) else self.differences
        found.append(one)

    @property
    def has_drifted(self) -> bool:
        """Whether one of them did what the other refused, so that their records differ."""
        return any(
            one.request.method != "GET" and (one.ours.is_success or one.theirs.is_success)
            for one in (*self.differences, *self.decided)
        )

    def ask(self, request: Request) -> Answer:
        """Send a request to both; return the reference's answer, and keep what differs."""
        theirs = self.reference.ask(request)
        ours = Answer.of(wsgi_lines.ask(self.world, request.to_plain()))
        if ours.comparable() != theirs.comparable():
            self._note(Difference(request, ours, theirs, tuple(self.asked)))
        self.asked.append(request)
        return theirs
