"""One-time links: what is kept of them, and how many."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from api.console import links
from api.console.links import ConsoleLinks
from api.console.sessions import Seal
from armillary import exception

TOKEN = "a-secret-token"


def made(folder: Path, now: list[float]) -> ConsoleLinks:
    """Return the links of one process; others may use the same folder."""
    return ConsoleLinks(
        Seal(folder / "keys"), folder / "links", lifetime_seconds=60, clock=lambda: now[0]
    )


def code_of(links: ConsoleLinks) -> str:
    path, _expires_at = links.make(TOKEN, "u1")
    return path.partition("#")[2]


def test_of_many_that_redeem_a_link_one_gets_the_token(tmp_path: Path) -> None:
    """Also if they come at the same time, to several processes."""
    code = code_of(made(tmp_path, [1e9]))
    tries = [made(tmp_path, [1e9]) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda each: each.redeem(code), tries))
    assert (found.count(TOKEN), found.count(None)) == (1, 7)


def test_what_is_kept_reveals_neither_code_nor_token(tmp_path: Path) -> None:
    """And only its owner reads it."""
    code = code_of(made(tmp_path, [1e9]))
    (kept,) = (tmp_path / "links").iterdir()
    assert code not in kept.name
    assert TOKEN not in kept.read_text()
    for path in (kept, tmp_path / "keys"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_links_that_wait_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that have expired make room, and those of one user take none from others."""
    monkeypatch.setattr(links, "LINKS_OF_USER_MAX", 2)
    now = [(tmp_path.stat().st_mtime)]
    mine = made(tmp_path, now)
    mine.make(TOKEN, "u1")
    mine.make("another-token", "u1")
    with pytest.raises(exception.Conflict, match="are not opened yet"):
        mine.make(TOKEN, "u1")
    mine.make(TOKEN, "u2")
    now[0] += 3600
    mine.make(TOKEN, "u1")
    assert len(list((tmp_path / "links").iterdir())) == 1
