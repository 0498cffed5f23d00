"""Links to consoles, as text that users carry from the API to the proxy."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from cryptography.fernet import Fernet

from armillary import exception
from armillary.consoles import console_links
from armillary.consoles.console_links import ConsoleLink

LINK = ConsoleLink("c0ffee00-0000-4000-8000-000000000001", "192.0.2.7", 6084, "secret", 60)


@pytest.fixture
def key(tmp_path: Path) -> Fernet:
    console_links.make_key(tmp_path / "key")
    return console_links.read_key(tmp_path / "key")


def test_a_link_is_read_with_the_key_alone(key: Fernet) -> None:
    """Its text shows neither host nor token."""
    text = console_links.seal(LINK, key)
    assert console_links.open_sealed(text, key) == LINK
    assert "192.0.2.7" not in text
    with pytest.raises(exception.Invalid, match="unknown or too old"):
        console_links.open_sealed(text, Fernet(Fernet.generate_key()))


@pytest.mark.parametrize("text", ["", "é", "x" * 10_000], ids=["empty", "not ASCII", "long"])
def test_other_text_is_not_a_link(key: Fernet, text: str) -> None:
    with pytest.raises(exception.Invalid, match="unknown or too old"):
        console_links.open_sealed(text, key)


def test_a_link_ends_with_its_time(key: Fernet) -> None:
    old = console_links.seal(dataclasses.replace(LINK, seconds=-1), key)
    with pytest.raises(exception.Invalid, match="too old"):
        console_links.open_sealed(old, key)


def test_a_key_is_for_its_owner_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "key"
    console_links.make_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        console_links.make_key(path)


def test_a_file_that_is_not_a_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x")
    with pytest.raises(exception.ConfigurationError, match=r"key_file = .*key cannot be used"):
        console_links.read_key(tmp_path / "key")
