"""Random requests to the Placement API: a story of one seed, and what its requests are about.

Most are what a client would send, with the generations that the last answers told; some have a
mistake, an odd header, an odd path, an old microversion.
"""

import copy
import json
import random
from dataclasses import dataclass
from typing import Any

from tests.conformance.differential import Answer, Pair, Request

Version = tuple[int, int]
LATEST: Version = (1, 39)


def a_uuid(number: int) -> str:
    """Return one of few UUIDs."""
    return f"d1ff0000-0000-4000-8000-{number:012}"


PROVIDERS = [a_uuid(number) for number in range(1, 8)]
CONSUMERS = [a_uuid(number) for number in range(20, 25)]
AGGREGATES = [a_uuid(number) for number in range(40, 43)]
ABSENT = a_uuid(99)
CLASSES = ["VCPU", "MEMORY_MB", "DISK_GB", "CUSTOM_GOLD", "CUSTOM_RARE"]
TRAITS = ["HW_CPU_X86_AVX2", "STORAGE_DISK_SSD", "CUSTOM_FAST", "CUSTOM_RARE"]
SHARING = "MISC_SHARES_VIA_AGGREGATE"
PROJECTS = ["p1", "p2", "projékt-☃", "x" * 255]

WRONG: list[Any] = [
    None,
    True,
    -1,
    0,
    1,
    1.0,
    1.5,
    2**31 - 1,
    2**31,
    2**33,
    "",
    "1",
    "x" * 300,
    "☃",
    "CUSTOM_",
    [],
    {},
    [[]],
    {"a": 1},
    [None],
    [{}, 1, "x"],
]
ODD_HEADERS: dict[str, list[str | None]] = {
    "OpenStack-API-Version": [
        "placement latest",
        "placement 1.40",
        "placement 2.0",
        "placement 0.9",
        "placement 1",
        "placement",
        "compute 2.1",
        "placement one",
        None,
    ],
    "X-Auth-Token": ["u1:p1", "user", None],
    "Content-Type": [
        "application/json; charset=utf-8",
        "text/plain",
        "application/octet-stream",
        None,
    ],
    "Accept": [
        "*/*",
        "text/plain",
        "text/html",
        "application/xml",
        "application/*",
        "text/html, application/json",
        "text/html;q=0.9, application/json;q=0.1",
        "image/png, */*;q=0.1",
        None,
    ],
}


@dataclass
class Story:
    """One sequence of requests, of a seed."""

    pair: Pair
    rng: random.Random
    oddness: float = 0.15
    version: Version = LATEST
    roles: str = "admin,service"

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        version: Version | None = None,
        is_plain: bool = False,
    ) -> Answer:
        """Send a request; unless it ``is_plain``, it may get a mistake."""
        major, minor = version or self.version
        headers = {
            "X-Auth-Token": "admin",
            "X-Roles": self.roles,
            "Accept": "application/json",
            "OpenStack-API-Version": f"placement {major}.{minor}",
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
            if not is_plain and self.chance(self.oddness):
                body = self.with_a_mistake(body)
        raw = b"" if body is None else json.dumps(body).encode()
        if not is_plain and self.chance(self.oddness / 2):
            name = self.rng.choice(list(ODD_HEADERS))
            value = self.rng.choice(ODD_HEADERS[name])
            headers.pop(name, None)
            if value is not None:
                headers[name] = value
        if not is_plain and self.chance(self.oddness / 4):
            path = self.odd_path(path)
        if not is_plain and self.chance(self.oddness / 10):
            raw = self.rng.choice([b"{", b"", b"null", b"[]", b"\xff", b'{"a": NaN}'])
        return self.pair.ask(Request(method, path, headers, raw))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *choices: Any) -> Any:
        return self.rng.choice(choices)

    def some(self, choices: list[str], most: int) -> list[str]:
        return self.rng.sample(choices, self.rng.randint(0, min(most, len(choices))))

    def odd_path(self, path: str) -> str:
        path, mark, query = path.partition("?")
        choice = self.pick("slash", "query", "case", "more", "double")
        if choice == "slash":
            return f"{path}/{mark}{query}"
        if choice == "query":
            more = self.pick("foo=bar", "limit=1", "name=x", "", "=", "foo")
            return f"{path}?{query}&{more}" if query else f"{path}?{more}"
        if choice == "case":
            return f"{path.upper()}{mark}{query}"
        if choice == "more":
            return f"{path}/{self.pick('x', 'inventories', '%E2%98%83')}{mark}{query}"
        return f"/{path}{mark}{query}"

    def with_a_mistake(self, body: Any) -> Any:
        """Change one place of a body, drop it, or put something in beside it."""
        holder = {"body": copy.deepcopy(body)}
        container, key = self.rng.choice(_places(holder))
        wrong = self.rng.choice(WRONG)
        what = self.pick("change", "change", "drop", "add")
        if what == "change" or container is holder:
            container[key] = wrong
        elif what == "drop":
            del container[key]
        elif isinstance(container, dict):
            container[self.pick("", "more", "VCPU", ABSENT, "x" * 300)] = wrong
        else:
            container.append(wrong)
        return holder["body"]

    def generation(self, provider: str) -> int:
        """Return the generation of a provider, seldom a wrong one."""
        if self.chance(0.08):
            return self.rng.randint(0, 5)
        found = self.send("GET", f"/resource_providers/{provider}", is_plain=True)
        return found.json["generation"] if found.status == 200 else 0

    def consumer_generation(self, consumer: str) -> int | None:
        if self.chance(0.08):
            return self.pick(None, 0, 1, 2)
        found = self.send("GET", f"/allocations/{consumer}", is_plain=True)
        return found.json.get("consumer_generation") if found.status == 200 else None

    def holds(self, consumer: str) -> bool:
        """Return whether a consumer has allocations."""
        found = self.send("GET", f"/allocations/{consumer}", is_plain=True)
        return bool(found.json["allocations"])

    def any_version(self) -> Version:
        return LATEST if self.chance(0.5) else (1, self.rng.randint(0, LATEST[1]))


def _places(container: Any) -> list[tuple[Any, Any]]:
    pairs = container.items() if isinstance(container, dict) else enumerate(container)
    found = []
    for key, value in pairs:
        found.append((container, key))
        if isinstance(value, dict | list):
            found += _places(value)
    return found


def set_inventories(story: Story, provider: str, inventories: dict[str, Any]) -> None:
    generation = story.send("GET", f"/resource_providers/{provider}", is_plain=True).json[
        "generation"
    ]
    body = {"resource_provider_generation": generation, "inventories": inventories}
    story.send("PUT", f"/resource_providers/{provider}/inventories", body, is_plain=True)


def figures(story: Story, *, least_total: int = 1) -> dict[str, Any]:
    """Return one inventory."""
    found: dict[str, Any] = {"total": max(least_total, story.pick(1, 2, 4, 8, 16, 100))}
    more: dict[str, list[Any]] = {
        "reserved": [0, 1, 2, 16],
        "min_unit": [1, 2],
        "max_unit": [1, 4, 16, 2**31 - 1],
        "step_size": [1, 2, 3],
        "allocation_ratio": [1.0, 1.5, 16, 0.5, 0.001],
    }
    for name in story.some([*more], 2):
        found[name] = story.rng.choice(more[name])
    ratio = found.get("allocation_ratio", 1)
    if ratio < 1 and (found["total"] - found.get("reserved", 0)) * ratio < 1:
        del found["allocation_ratio"]  # without capacity the reference decides by its sign
    return found
