"""The page on backups: what its ``tar`` keeps and leaves out."""

from __future__ import annotations

import re
import subprocess
import tarfile
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/operating/backup.md"
KEPT = {
    "etc/armillary/deployment.yaml",
    "var/lib/armillary/api/signing.key",
    "var/lib/armillary-compute/signing.key",
    "var/lib/armillary-manage/signing.key",
}
LEFT_OUT = {"var/lib/armillary/api/nonces/1", "var/lib/armillary/api/locks/1"}


def test_the_archive_has_every_key_and_no_nonces(tmp_path: Path) -> None:
    """The command ends without a complaint."""
    for name in KEPT | LEFT_OUT:
        path = tmp_path / "machine" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    found = re.search(r"^    (tar -czf .*?[^\\])$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert found is not None
    command = found[1].replace("\\\n", " ").replace("-C /", "-C machine")
    ran = subprocess.run(command.split(), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    with tarfile.open(tmp_path / "files.tar.gz") as archive:
        names = {member.name for member in archive if member.isfile()}
    assert names == KEPT
