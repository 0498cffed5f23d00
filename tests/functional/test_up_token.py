"""``armillary up`` with its defaults: whom it serves, and whom it does not."""

import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from programs.access import own_token
from programs.commands.app import URL_VARIABLE, ClientApp
from programs.demo.control_plane import LOG_FILE, ControlPlane
from tests.fixtures import waiting
from tests.fixtures.access.clouds import services_of
from tests.fixtures.checks.documented_output import assert_among, example
from tests.fixtures.deployment import error_lines

pytestmark = pytest.mark.sampled_file(every=3)

IMAGE: dict[str, Any] = {"image": {"name": "evil", "properties": {"process_command": "id"}}}


@pytest.fixture
def state_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    made = tmp_path / "state"
    made.mkdir()
    return made


@pytest.fixture
def url(state_dir: Path) -> Iterator[str]:
    """Return the API's address of a deployment that a user has just started."""
    plane = ControlPlane(state_dir, ["name=sim-1:vcpus=2:memory_mb=1024:disk_gb=10"], "")
    plane.arguments.append("--no-process-host")
    umask = os.umask(0)
    try:
        plane.start()
    finally:
        os.umask(umask)
    try:
        yield plane.wait_for_url(60)
    finally:
        plane.stop(30)
    assert not list((own_token.user_directory() / own_token.ADDRESSES_DIRECTORY).iterdir())


def run(url: str, environment: dict[str, str], *words: str) -> tuple[int, str]:
    """Return exit code and output of a command in another shell."""
    out = io.StringIO()
    app = ClientApp(out, out, {URL_VARIABLE: url, **environment})
    return app.run([*words] or ["server", "list"]), out.getvalue()


def test_only_the_user_who_started_it_is_served(url: str, state_dir: Path, tmp_path: Path) -> None:
    """Neither another account of the machine nor a web page can build a server.

    Their requests carry no token, or one that they made up; the page's also names a foreign host.
    The user's own commands find the token by themselves. Even with a umask of 0 no file below the
    state directory, databases and journals with their WAL included, can be read by others. A start
    logs no error.
    """
    images = f"{url}/v2.1/images"
    for headers in ({}, {"X-Auth-Token": "admin"}, {"X-Auth-Token": "admin:admin"}):
        assert (
            requests.post(
                images, json=IMAGE, headers=headers, timeout=waiting.seconds(30)
            ).status_code
            == 401
        )
    token = (state_dir / own_token.TOKEN_FILE).read_text().strip()
    for foreign in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
        headers = {"X-Auth-Token": token, **foreign}
        assert (
            requests.post(
                images, json=IMAGE, headers=headers, timeout=waiting.seconds(30)
            ).status_code
            == 403
        )
    found = [path for path in state_dir.rglob("*") if not path.is_symlink()]
    assert {"api-token", "clouds.yaml", "api.sqlite-wal", "compute-journal.sqlite"} <= {
        path.name for path in found
    }
    assert [path for path in found if path.stat().st_mode & 0o077] == []
    assert error_lines(state_dir / LOG_FILE) == []
    greeting = (state_dir / LOG_FILE).read_text()
    assert f"export {URL_VARIABLE}={url}\n" in greeting
    assert_among(example("docs/operating/console.md"), greeting)
    assert run(url, dict(os.environ))[0] == 0
    code, said = run(url, dict(os.environ), "resource", "provider", "list")
    assert (code, "sim-1" in said) == (0, True)  # at the address that the catalogue has
    code, said = run(url, {"XDG_STATE_HOME": str(tmp_path / "another-user")})
    assert code == 1
    assert "401" in said
    assert services_of(state_dir / "clouds.yaml") == {"identity", "compute", "image", "placement"}
