"""Revoked tokens: bounded, shared, forgotten when they have expired."""

import json
from pathlib import Path

import pytest

from armillary.identity import revocations as revocations_module
from armillary.identity.revocations import Revocations


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "revoked.json"


def test_a_user_who_revokes_many_tokens_revokes_all(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file does not grow, and none of the revoked is valid again."""
    monkeypatch.setattr(revocations_module, "TOKENS_OF_USER_MAX", 5)
    now = [1000.0]
    revocations = Revocations(path, lambda: now[0])
    for number in range(6):
        revocations.add("alice", f"id-{number}", 2000)
    assert revocations.is_revoked("alice", "id-0", 900)
    assert revocations.is_revoked("alice", "another", 999)
    assert not revocations.is_revoked("alice", "later", 1001)
    assert not revocations.is_revoked("bob", "another", 999)
    assert len(path.read_text()) < 200


def test_expired_tokens_are_forgotten(path: Path) -> None:
    now = [1000.0]
    revocations = Revocations(path, lambda: now[0])
    revocations.add("alice", "old", 1500)
    now[0] = 1600.0
    revocations.add("alice", "new", 2000)
    assert json.loads(path.read_text())["tokens"] == {"alice": {"new": 2000}}


def test_an_unreadable_file_makes_no_token_valid(path: Path) -> None:
    """Rather none than a revoked one."""
    path.write_text("{")
    assert Revocations(path, lambda: 1000.0).is_revoked("alice", "id", 900)
