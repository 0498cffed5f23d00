"""Files of keys: made once, read again when they change."""

import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from armillary.keys.key_file import KeyFile

OLD, NEW = "o" * 40, "n" * 40


def test_processes_that_start_together_share_one_key(tmp_path: Path) -> None:
    """Whichever was first; only its owner may read it."""
    path = tmp_path / "state" / "keys"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: KeyFile(path).current_or_made(), range(8)))
    assert all(keys == found[0] and len(keys) == 1 for keys in found)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["keys"]


def test_a_rotation_is_seen_without_a_restart(tmp_path: Path) -> None:
    """The new key comes first; a short line, such as a comment, is none."""
    path = tmp_path / "keys"
    path.write_text(f"{OLD}\n")
    file = KeyFile(path)
    assert file.current() == [OLD.encode()]
    path.write_text(f"# new\n{NEW}\n{OLD}\n")
    assert file.current() == [NEW.encode(), OLD.encode()]
    path.unlink()
    assert file.current() == []
