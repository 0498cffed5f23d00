"""Odd requests at the identity API: each is answered, none with a server error or a token."""

import json
from typing import Any

from hypothesis import strategies as st

from tests.fixtures.checks.fuzzing import ODD, altered, fuzzed
from tests.unit.api.identity.conftest import Client, asked, log_in, of_project

TOKENS = "/identity/v3/auth/tokens"
BY_TOKEN = {"auth": {"identity": {"methods": ["token"], "token": {"id": "arm1.W10.AAAA"}}}}


@fuzzed(altered(asked(password="wrong", scope=of_project("stars"))) | altered(BY_TOKEN) | ODD)
def test_odd_logins_are_refused(web: Client, value: Any) -> None:
    result = web.simulate_post(TOKENS, body=json.dumps(value), content_type="application/json")
    assert 400 <= result.status_code < 500


PIECES = st.text("AZaz09-_=.\x00\xff", max_size=30)


@fuzzed(st.one_of(PIECES, st.lists(PIECES, min_size=3, max_size=3).map("arm1.".join)))
def test_odd_tokens_are_refused(web: Client, value: str) -> None:
    """As the token of a request, and as the one that it is about."""
    sent = value.encode("latin-1", "replace").decode("latin-1").replace("\x00", "")
    assert web.simulate_get(TOKENS, headers={"X-Auth-Token": sent}).status_code == 401
    mine = {"X-Auth-Token": log_in(web), "X-Subject-Token": sent}
    assert web.simulate_get(TOKENS, headers=mine).status_code == 404
