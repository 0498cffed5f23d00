"""A whole control plane with what ``nova import-config`` makes of a nova.conf."""

from pathlib import Path

import pytest

from programs.demo.control_plane import ControlPlane
from programs.operator.nova import nova_files, translation

pytestmark = pytest.mark.sampled_file(every=3)

FILES = sorted((Path(__file__).parents[1] / "fixtures" / "nova_confs").glob("*.conf"))
SITE = """
[DEFAULT]
my_ip = 127.0.0.1
[api]
bind_host = 127.0.0.1
workers = 1
[scheduler]
workers = 1
[conductor]
workers = 1
[compute]
driver = simulated
"""
"""What is particular to this machine."""


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_all_services_start_with_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once the addresses are those of this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    translated = translation.translate(nova_files.read(path))
    files = tmp_path / "imported.conf", tmp_path / "site.conf"
    files[0].write_text("\n".join(translation.lines_of(translated)))
    files[1].write_text(SITE)
    plane = ControlPlane(tmp_path / "state", ["name=sim-1:vcpus=2:memory_mb=1024:disk_gb=10"], "")
    plane.arguments += ["--no-process-host", *(f"--config-file={file}" for file in files)]
    (tmp_path / "state").mkdir()
    plane.start()
    try:
        assert plane.wait_for_url(60)
    finally:
        plane.stop(30)
