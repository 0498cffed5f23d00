"""Links to consoles, as text that users carry from the API to the proxy."""

import dataclasses
from pathlib import Path

import pytest

from armillary import exception
from armillary.consoles import console_links
from armillary.consoles.console_links import ConsoleKeys, ConsoleLink

LINK = ConsoleLink(
    "c0ffee00-0000-4000-8000-000000000001", "192.0.2.7", 6084, "secret", 60,
    "http://192.0.2.1:8774", "a grant",
)  # fmt: skip


@pytest.fixture
def keys(tmp_path: Path) -> ConsoleKeys:
    console_links.make_key(tmp_path / "key")
    return ConsoleKeys(tmp_path / "key")


def test_a_link_is_read_with_the_key_alone(keys: ConsoleKeys, tmp_path: Path) -> None:
    """Its text shows neither host nor token."""
    text = console_links.seal(LINK, keys)
    assert console_links.open_sealed(text, keys) == LINK
    assert "192.0.2.7" not in text
    console_links.make_key(tmp_path / "other")
    with pytest.raises(exception.Invalid, match="unknown or too old"):
        console_links.open_sealed(text, ConsoleKeys(tmp_path / "other"))


@pytest.mark.parametrize("text", ["", "é", "x" * 10_000], ids=["empty", "not ASCII", "long"])
def test_other_text_is_not_a_link(keys: ConsoleKeys, text: str) -> None:
    with pytest.raises(exception.Invalid, match="unknown or too old"):
        console_links.open_sealed(text, keys)


def test_a_link_ends_with_its_time(keys: ConsoleKeys) -> None:
    old = console_links.seal(dataclasses.replace(LINK, seconds=-1), keys)
    with pytest.raises(exception.Invalid, match="too old"):
        console_links.open_sealed(old, keys)


def test_a_key_is_for_its_owner_and_made_once(tmp_path: Path) -> None:
    path = tmp_path / "key"
    console_links.make_key(path)
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        console_links.make_key(path)


def test_a_file_that_is_not_a_key_is_named(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("x")
    with pytest.raises(exception.ConfigurationError, match=r"key_file = .*key cannot be used"):
        ConsoleKeys(tmp_path / "key")


def test_a_key_is_replaced_without_a_restart(keys: ConsoleKeys, tmp_path: Path) -> None:
    """The first line seals, the others open until they are removed."""
    former = console_links.seal(LINK, keys)
    old = (tmp_path / "key").read_text()
    console_links.make_key(tmp_path / "new")
    new = (tmp_path / "new").read_text()
    (tmp_path / "key").write_text(new + old)
    assert console_links.open_sealed(former, keys) == LINK
    later = console_links.seal(LINK, keys)
    (tmp_path / "key.new").write_text(new)
    (tmp_path / "key.new").rename(tmp_path / "key")
    assert console_links.open_sealed(later, keys) == LINK
    with pytest.raises(exception.Invalid, match="unknown or too old"):
        console_links.open_sealed(former, keys)


def test_a_key_of_another_form_opens_nothing(keys: ConsoleKeys, tmp_path: Path) -> None:
    """A mistake in the file is named; no link counts meanwhile."""
    text = console_links.seal(LINK, keys)
    (tmp_path / "key").write_text("x" * 44)
    with pytest.raises(exception.ConfigurationError, match="cannot be used"):
        console_links.open_sealed(text, keys)
