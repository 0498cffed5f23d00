"""Tests of keeping the context of a request with its work."""

import json

from conductor.common import stored_contexts
from tests.fixtures.control_plane import an_admin


def test_a_context_comes_back_as_it_was() -> None:
    """Who asked, in which request, with which rights."""
    before = an_admin()
    after = stored_contexts.from_plain(json.loads(json.dumps(stored_contexts.to_plain(before))))
    for name in ("user_id", "project_id", "request_id", "roles", "is_admin"):
        assert getattr(after, name) == getattr(before, name)


def test_a_token_does_not() -> None:
    """It does not have to be looked up later."""
    context = an_admin()
    context.auth_token = "secret"
    assert "secret" not in str(stored_contexts.to_plain(context))
