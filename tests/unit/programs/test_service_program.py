"""A mistake in a service's configuration is one line with file, option and what is allowed; 78."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from oslo_config import cfg

from armillary import exception
from programs import service_program
from tests.fixtures.programs.python_programs import StartProgram

pytestmark = pytest.mark.sampled_tests(every=3)

URL = "transport_url = kombu+memory:////start"
MAIN = "import sys; from programs.{} import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def own_configuration(
    keep_logging: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Keep the usual places of files out, and leave configuration and umask as they were."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    umask = os.umask(0o022)
    yield
    os.umask(umask)
    cfg.CONF.reset()


def never(*_arguments: object) -> NoReturn:
    pytest.fail("a service with a mistake in its configuration is not made")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"[DEFAULT]\n{URL}\nworkers = many\n", "[DEFAULT] workers: invalid literal"),
        (
            f"[DEFAULT]\n{URL}\n[conductor]\nrole = master\n",
            "[conductor] role: Valid values are [super, cell], but found 'master'",
        ),
        (f"[DEFAULT]\n{URL}\n[api]\nthreads = 0\n", "[api] threads: Should be greater than"),
        (f"[DEFAULT]\n{URL}\nthis is nothing\n", "a.conf: line 3: "),
    ],
    ids=["type", "choice", "bound", "syntax"],
)
def test_a_mistake_in_a_file_is_one_line_and_78(
    text: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is made."""
    path = tmp_path / "a.conf"
    path.write_text(text)
    assert service_program.run("armillary-api", [f"--config-file={path}"], never) == 78
    said = capsys.readouterr().err
    assert said.startswith("armillary-api: ")
    assert str(path) in said
    assert expected in said
    assert said.count("\n") == 1


def test_a_missing_transport_url_is_said_with_its_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The messaging library's default would be any broker on this machine."""
    (tmp_path / "a.conf").touch()
    assert service_program.run("armillary-api", [f"--config-file={tmp_path}/a.conf"], never) == 78
    said = capsys.readouterr().err
    assert "[DEFAULT] transport_url is not set; expected rabbit://user:password@host" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("program", "text", "expected"),
    [
        (
            "scheduler",
            f"{URL}\n[filter_scheduler]\nenabled_filters = ComputeFilter,NoFilter\n",
            "[filter_scheduler] enabled_filters names the plugin 'NoFilter', which is not "
            "installed; available: AggregateCoreFilter, ",
        ),
        (
            "compute",
            f"{URL}\n[compute]\ndriver = kvm\n",
            "[compute] driver names the plugin 'kvm', which is not installed; available: "
            "libvirt, process, simulated",
        ),
    ],
    ids=["filter", "driver"],
)
def test_a_plugin_that_is_not_installed_is_named_with_its_file_and_the_others(
    program: str, text: str, expected: str, tmp_path: Path, start_program: StartProgram
) -> None:
    """It is found when the service is made; the program ends with 78 all the same."""
    path = tmp_path / "a.conf"
    path.write_text(f"[DEFAULT]\nstate_path = {tmp_path}\n{text}")
    service = start_program(MAIN.format(program), f"--config-file={path}")
    assert service.wait_for_end() == 78
    (line,) = (line for line in service.lines if "cannot start" in line)
    assert f"{path}: {expected}" in line


def test_the_file_of_an_option_without_a_group_is_named(tmp_path: Path) -> None:
    """As a servicegroup driver that is not installed."""
    path = tmp_path / "a.conf"
    path.write_text("[DEFAULT]\nservicegroup_driver = zookeeper\n")
    conf = cfg.ConfigOpts()
    conf.register_opt(cfg.StrOpt("servicegroup_driver"))
    conf([f"--config-file={path}"])
    error = exception.PluginNotFound(
        option="[DEFAULT] servicegroup_driver", name="zookeeper", available="db, mc"
    )
    assert service_program._file_of(conf, error) == f"{path}: "


@pytest.mark.parametrize("program", ["scheduler", "compute", "placement"])
def test_a_service_s_files_are_its_own_whatever_the_umask(
    program: str, tmp_path: Path, start_program: StartProgram
) -> None:
    """Its log, too, which the library makes that writes it."""
    (tmp_path / "state").mkdir(mode=0o700)
    path = tmp_path / "a.conf"
    path.write_text(
        f"[DEFAULT]\nstate_path = {tmp_path}/state\nlog_file = {tmp_path}/state/a.log\n{URL}\n"
        "[filter_scheduler]\nenabled_filters = NoFilter\n[compute]\ndriver = kvm\n"
        "[placement]\nrest_bind_host = 192.0.2.1\n"
    )
    code = f"import os; os.umask(0); {MAIN.format(program)}"
    service = start_program(code, f"--config-file={path}")
    assert service.wait_for_end() != 0
    found = [each for each in (tmp_path / "state").rglob("*") if not each.is_symlink()]
    assert tmp_path / "state/a.log" in found
    assert [str(each) for each in found if each.stat().st_mode & 0o077] == []


def test_a_transport_without_usable_form_ends_with_78(
    tmp_path: Path, start_program: StartProgram
) -> None:
    """The form that is expected is said."""
    path = tmp_path / "a.conf"
    path.write_text(f"[DEFAULT]\nstate_path = {tmp_path}\ntransport_url = nosuch://u:geheim@h\n")
    service = start_program(MAIN.format("scheduler"), f"--config-file={path}")
    assert service.wait_for_end() == 78
    assert "expected rabbit://user:***@host:port/vhost" in service.output
    assert "geheim" not in service.output
