"""Tests of what the API asks about key pairs, over messages."""

import contextlib
import dataclasses
import threading
from typing import Any

import pytest
from oslo_config import cfg

from armillary import exception
from armillary.conf import register_all
from armillary.db import Database
from conductor.super_conductor.db.catalogue import key_pairs
from conductor.super_conductor.endpoints.catalogue import KeyPairsEndpoint
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


def test_a_repeat_of_a_creation_may_bring_another_key(running: RunningConductor) -> None:
    """The private half of the first one was lost with its answer; no other request may."""
    api, context = running.api, a_user()
    first = dataclasses.replace(KEY, name="made")
    second = dataclasses.replace(first, public_key="ssh-ed25519 BBBB", fingerprint="22:33")
    api.create_key_pair(context, first)
    for asked, replace in ((context, False), (a_user(), True)):
        with pytest.raises(exception.KeyPairExists):
            api.create_key_pair(asked, second, replace=replace)
    assert api.create_key_pair(context, second, replace=True).public_key == second.public_key
    stored = api.get_key_pair(context, "u1", "made")
    assert (stored.public_key, stored.fingerprint) == (second.public_key, second.fingerprint)


def test_two_together_do_not_exceed_the_quota(
    any_api_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each counts what the other one stored before it, for the user's other project, too."""
    conf = cfg.ConfigOpts()
    register_all(conf)
    conf([], default_config_files=[], default_config_dirs=[])
    conf.set_override("key_pairs", 1, group="quota")
    endpoint = KeyPairsEndpoint(conf, any_api_database, lambda: 0.0)
    both_have_counted = threading.Barrier(2)
    count = key_pairs.list_key_pairs

    def count_together(*arguments: Any) -> list[KeyPair]:
        found = count(*arguments)
        with contextlib.suppress(threading.BrokenBarrierError):
            both_have_counted.wait(0.3)
        return found

    monkeypatch.setattr(key_pairs, "list_key_pairs", count_together)
    refused = []

    def create(name: str) -> None:
        try:
            pair = dataclasses.replace(KEY, name=name)
            endpoint.create_key_pair(a_user(name), pair, replace=False)
        except exception.QuotaExceeded:
            refused.append(name)

    threads = [threading.Thread(target=create, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(refused) == 1
