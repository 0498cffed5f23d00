"""The token of an API that a user starts alone, and how that user's commands find it."""

from pathlib import Path

import pytest

from programs.access import own_token

URL = "http://127.0.0.1:8774"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the environment of a user with nothing yet."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    return {"XDG_STATE_HOME": str(tmp_path / "home")}


@pytest.fixture
def token(home: dict[str, str], tmp_path: Path) -> str:
    """Publish a token at the usual address, and return it."""
    own_token.make(tmp_path)
    own_token.publish(tmp_path, "127.0.0.1", 8774)
    return (tmp_path / own_token.TOKEN_FILE).read_text().strip()


def test_it_is_found_by_the_address(home: dict[str, str], token: str) -> None:
    """The token is too long to guess."""
    assert own_token.find(URL, home) == token
    assert len(token) >= 43


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8775", "http://localhost:8774", "http://[::1]:8774",
        "http://armillary.example.org:8774", "http://../../api-token:8774", "http://127.0.0.1",
        "http://127.0.0.1:99999", "", "nonsense",
    ],
)  # fmt: skip
def test_no_other_address_gets_it(url: str, home: dict[str, str], token: str) -> None:
    """Another user's program may listen there."""
    assert own_token.find(url, home) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_token_that_others_may_read_is_not_used(
    mode: int, home: dict[str, str], token: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / own_token.TOKEN_FILE).chmod(mode)
    assert own_token.find(URL, home) is None
    assert "must belong to this user" in caplog.text


def test_every_address_includes_this_machine(home: dict[str, str], tmp_path: Path) -> None:
    own_token.make(tmp_path)
    own_token.publish(tmp_path, "0.0.0.0", 8774)
    assert own_token.find(URL, home) is not None


def test_it_is_withdrawn_at_the_end(home: dict[str, str], tmp_path: Path) -> None:
    """Unless a later start has taken the address."""
    first, second = tmp_path / "first", tmp_path / "second"
    for directory in (first, second):
        directory.mkdir()
        own_token.make(directory)
    with own_token.published(first) as links:
        links.append(own_token.publish(first, "127.0.0.1", 8774))
        with own_token.published(second) as later:
            later.append(own_token.publish(second, "127.0.0.1", 8774))
            links.append(later[0])
    assert own_token.find(URL, home) is None
    with own_token.published(first) as links:
        links.append(own_token.publish(first, "127.0.0.1", 8774))
        own_token.publish(second, "127.0.0.1", 8774)
    assert own_token.find(URL, home) == (second / own_token.TOKEN_FILE).read_text().strip()
