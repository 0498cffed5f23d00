"""The token file: accepted tokens, until when, and what a changed file changes."""

import hashlib
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from armillary import exception
from armillary.identity.accounts import with_implied_roles
from armillary.identity.token_file import Identity, TokenFile

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def an_entry(token: str = "secret", **values: Any) -> dict[str, Any]:
    digest = hashlib.sha256(token.encode()).hexdigest()
    return {"sha256": digest, "user": "alice", "project": "p1", "roles": ["member"], **values}


def write(path: Path, *entries: dict[str, Any]) -> None:
    """Replace the file as editors do: another inode."""
    fresh = path.with_suffix(".new")
    fresh.write_text(yaml.safe_dump({"tokens": list(entries)}))
    fresh.replace(path)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "tokens.yaml"
    write(path, an_entry())
    return path


@pytest.fixture
def tokens(path: Path) -> TokenFile:
    return TokenFile(path, clock=lambda: NOW)


def test_a_known_token_is_its_users(tokens: TokenFile) -> None:
    """User, project and roles stand beside the hash."""
    found = tokens.find("secret")
    assert found is not None
    assert found.identity == Identity("alice", "p1", ("member",))


@pytest.mark.parametrize("token", ["", "Secret", "secret ", "\ud800", an_entry()["sha256"]])
def test_an_unknown_token_has_no_identity(token: str, tokens: TokenFile) -> None:
    """Nor is the hash itself a token."""
    assert tokens.find(token) is None


@pytest.mark.parametrize(
    ("expires", "is_valid"),
    [
        ("2030-01-01T00:00:01Z", True),
        ("2030-01-01T00:00:00Z", False),
        ("2030-01-01T00:30:00+01:00", False),
        (datetime(2030, 1, 1, 0, 0, 1), True),
        (None, True),
    ],
    ids=["later", "now", "other-zone", "yaml-time-without-zone", "never"],
)
def test_a_token_ends_when_it_expires(expires: Any, is_valid: bool, path: Path) -> None:
    """To the second, in any zone."""
    write(path, an_entry(expires=expires))
    found = TokenFile(path, clock=lambda: NOW).find("secret")
    assert (found is not None) is is_valid


def test_a_changed_file_counts_immediately(path: Path, tokens: TokenFile) -> None:
    """A revoked token is out, a new one in."""
    write(path, an_entry("other"))
    assert tokens.find("secret") is None
    assert tokens.find("other") is not None


def test_a_file_with_a_mistake_leaves_the_old_tokens_in_force(
    path: Path, tokens: TokenFile, caplog: pytest.LogCaptureFixture
) -> None:
    """An editor's slip locks no user out, and is logged once."""
    path.write_text("tokens: [")
    assert tokens.find("secret") is not None
    assert tokens.find("secret") is not None
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert str(path) in record.getMessage()


def test_a_file_that_is_gone_lets_no_user_in(
    path: Path, tokens: TokenFile, caplog: pytest.LogCaptureFixture
) -> None:
    """Until it is back; said once."""
    path.unlink()
    assert tokens.find("secret") is None
    assert tokens.find("secret") is None
    assert len([record for record in caplog.records if record.levelno == logging.ERROR]) == 1
    write(path, an_entry())
    assert tokens.find("secret") is not None


@pytest.mark.parametrize(
    ("content", "where"),
    [
        ("tokens: [", "the file"),
        ("- a", "not of type 'object'"),
        ("{}", "should be non-empty"),
        ("tokens: [{sha256: abc, user: a, project: p, roles: [r]}]", r"tokens\[0\].sha256"),
        ("tokens: [{token: abc}]", r"tokens\[0\]"),
    ],
    ids=["no-yaml", "no-mapping", "no-tokens", "no-hash", "unknown-field"],
)
def test_a_broken_file_stops_the_start(content: str, where: str, path: Path) -> None:
    """One line names option, file and place."""
    path.write_text(content)
    with pytest.raises(exception.ConfigurationError, match=where) as caught:
        TokenFile(path)
    assert "[api] token_file" in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("expires", ["tomorrow", 7, "2030-13-01"])
def test_an_expiry_must_be_a_time(expires: Any, path: Path) -> None:
    """The line names the entry."""
    write(path, an_entry(), an_entry("other", expires=expires))
    with pytest.raises(exception.ConfigurationError, match=r"tokens\[1\].expires"):
        TokenFile(path)


def test_a_missing_file_stops_the_start(tmp_path: Path) -> None:
    """Rather than letting no user in."""
    with pytest.raises(exception.ConfigurationError, match="cannot be read"):
        TokenFile(tmp_path / "nothing.yaml")


@pytest.mark.parametrize(
    ("roles", "all_roles"),
    [
        (("admin",), ["admin", "member", "reader"]),
        (("manager",), ["manager", "member", "reader"]),
        (("member",), ["member", "reader"]),
        (("reader",), ["reader"]),
        (("auditor",), ["auditor"]),
    ],
)
def test_roles_bring_lesser_roles(roles: tuple[str, ...], all_roles: list[str]) -> None:
    """Who may change a thing may see it."""
    assert with_implied_roles(roles) == all_roles
