"""Plugins are listed with their state, and a new one works as it is written."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from programs import manage

pytestmark = pytest.mark.sampled_tests(every=3)


def run(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    code = manage.make_app(stdout=out, stderr=out).run([*words])
    return code, out.getvalue()


def test_plugins_are_listed_with_their_state(keep_logging: None) -> None:
    """Each with its package, and whether the configuration enables it."""
    code, text = run("plugin", "list", "--kind", "filter", "-f", "json")
    assert code == 0
    state = {each["Name"]: (each["Enabled"], each["Problem"]) for each in json.loads(text)}
    assert state["ComputeFilter"] == ("yes", "")
    assert state["RetryFilter"] == ("no", "")


def test_each_plugin_has_a_line(keep_logging: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 80 columns; what has a kind of several words may take two."""
    monkeypatch.setenv("COLUMNS", "80")
    code, text = run("plugin", "list", "--kind", "weigher")
    names = [line.split()[1] for line in text.splitlines()]
    assert (code, names[0], "ServerGroupSoftAntiAffinityWeigher" in names) == (0, "Name", True)
    assert all(len(line) <= 80 for line in text.splitlines())


@pytest.mark.parametrize("name", ["RackFilter", "RackWeigher"])
def test_a_new_plugin_passes_its_own_test(name: str, tmp_path: Path, keep_logging: None) -> None:
    """And is not written over another one."""
    folder = tmp_path / "plugin"
    code, text = run("plugin", "create", name, "--directory", str(folder))
    assert code == 0, text
    assert f"pip install {folder}\n" in text
    assert f'"armillary.scheduler.{name[4:].lower()}s"' in (folder / "pyproject.toml").read_text()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", "."],
        cwd=folder, capture_output=True, text=True, check=False,
        env={
            "PYTHONPATH": f"{folder}:{Path(__file__).parents[4]}",
            "PATH": "/usr/bin:/bin",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    code, text = run("plugin", "create", name, "--directory", str(folder))
    assert code == 1
    assert "exists" in text


def test_a_package_beside_is_not_sought_in_the_index(
    tmp_path: Path, keep_logging: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where another one may have its name."""
    monkeypatch.chdir(tmp_path)
    code, text = run("plugin", "create", "RackFilter")
    assert (code, "pip install ./rack-filter\n" in text) == (0, True), text
