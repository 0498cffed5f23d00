"""Tests of what the API asks about key pairs, over messages."""

import pytest

from armillary import exception
from objects.key_pair import KeyPair
from tests.fixtures.control_plane import RunningConductor, a_user

KEY = KeyPair("u1", "key", "ssh-ed25519 AAAA", "00:11")


def test_a_key_pair_comes_and_goes(running: RunningConductor) -> None:
    """Each call is answered with what is stored, and each user has names of his own."""
    api, context = running.api, a_user()
    made = api.create_key_pair(context, KEY)
    assert (made.public_key, made.created_at is None) == (KEY.public_key, False)
    assert api.list_key_pairs(context, "u1") == [made] == [api.get_key_pair(context, "u1", "key")]
    assert api.list_key_pairs(context, "u2") == []
    with pytest.raises(exception.KeyPairExists):
        api.create_key_pair(a_user(), KEY)
    with pytest.raises(exception.KeyPairNotFound):
        api.delete_key_pair(context, "u2", "key")
    api.delete_key_pair(context, "u1", "key")
    assert api.list_key_pairs(context, "u1") == []
