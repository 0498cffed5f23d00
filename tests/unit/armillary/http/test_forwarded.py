"""Address of a client behind a reverse proxy, which appends to what the client sent."""

import pytest

from armillary.http.forwarded import client_address

PROXY = "192.0.2.1"
CLIENT = "198.51.100.7"


@pytest.mark.parametrize(
    ("headers", "address"),
    [
        ({}, PROXY),
        ({"HTTP_X_FORWARDED_FOR": CLIENT}, CLIENT),
        ({"HTTP_X_FORWARDED_FOR": f"203.0.113.9, {CLIENT}"}, CLIENT),
        ({"HTTP_X_FORWARDED_FOR": f"a forged line\r\n, {CLIENT}:4711"}, CLIENT),
        ({"HTTP_X_FORWARDED_FOR": "2001:db8::7"}, "2001:db8::7"),
        ({"HTTP_X_FORWARDED_FOR": f"{CLIENT}, unknown"}, PROXY),
        ({"HTTP_X_FORWARDED_FOR": f"{CLIENT},"}, PROXY),
        ({"HTTP_FORWARDED": f"for={CLIENT};proto=https"}, CLIENT),
        ({"HTTP_FORWARDED": f"for=203.0.113.9, proto=https; For={CLIENT}"}, CLIENT),
        ({"HTTP_FORWARDED": 'for="[2001:db8::7]:4711"'}, "2001:db8::7"),
        ({"HTTP_FORWARDED": 'for="203.0.113.9, for=_hidden"'}, PROXY),
        ({"HTTP_FORWARDED": f"for={CLIENT}, by=203.0.113.9"}, PROXY),
        ({"HTTP_FORWARDED": "for=203.0.113.9", "HTTP_X_FORWARDED_FOR": CLIENT}, PROXY),
        ({"HTTP_FORWARDED": "for=" + " " * 60_000 + 'y" x'}, PROXY),  # that took hours once
    ],
)
def test_the_last_entry_counts(headers: dict[str, str], address: str) -> None:
    assert client_address(headers, PROXY) == address
