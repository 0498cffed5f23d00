"""Configuration is read once, checked immediately, and a mistake is one line."""

import logging
import re
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_log import log as oslo_log

from armillary import conf as armillary_conf
from armillary import exception
from armillary.conf import base, former_names, loader
from armillary.context import RequestContext
from tests.fixtures.programs.python_programs import StartProgram

Write = Callable[[str], str]
ROOT = Path(__file__).parents[4]

pytestmark = pytest.mark.usefixtures("keep_logging")


@pytest.fixture(autouse=True)
def no_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    return cfg.ConfigOpts()


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes ``a.conf`` and returns the argument that names it."""

    def write(text: str) -> str:
        (tmp_path / "a.conf").write_text(text)
        return f"--config-file={tmp_path}/a.conf"

    return write


def test_defaults_need_no_file(conf: cfg.ConfigOpts) -> None:
    """The embedded set-up runs without configuration."""
    loader.load(conf, [], "armillary-api")
    assert conf.report_interval == 10


def test_a_file_is_read(conf: cfg.ConfigOpts, write: Write) -> None:
    """The one the command line names."""
    loader.load(conf, [write("[DEFAULT]\nreport_interval = 7\n")], "armillary-api")
    assert conf.report_interval == 7


def test_the_usual_places_are_read(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """File and folder, the folder last."""
    folder = tmp_path / "home" / "armillary"
    (folder / "armillary-api.conf.d").mkdir(parents=True)
    (folder / "armillary-api.conf").write_text("[DEFAULT]\nreport_interval = 7\nhost = a\n")
    (folder / "armillary-api.conf.d" / "1.conf").write_text("[DEFAULT]\nhost = b\n")
    loader.load(conf, [], "armillary-api")
    assert (conf.report_interval, conf.host) == (7, "b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "[DEFAULT]\nconcurrency_backend = gevent\n",
            r"a\.conf: \[DEFAULT\] concurrency_backend: Valid values are \[threading, eventlet\], "
            r"but found 'gevent'",
        ),
        (
            "[api_database]\nmax_pool_size = 0\n",
            r"a\.conf: \[api_database\] max_pool_size: Should be greater than or equal to 1",
        ),
        ("[DEFAULT]\nworkers = many\n", r"a\.conf: \[DEFAULT\] workers: .*'many'"),
        ("[DEFAULT]\ngraceful_shutdown_timeout = x\n", r"graceful_shutdown_timeout"),
        ("# one\nworkers = 1\n\n[api]\n", r"a\.conf: line 2: an option stands before the first"),
        ("[DEFAULT]\nthis is nothing\n", r"a\.conf: line 2: No ':' or '=' found in assignment"),
        (
            "[DEFAULT]\nbackdoor_socket = /run/a\n",
            r"backdoor_socket is set, but only concurrency_backend = eventlet can serve it",
        ),
        (
            "[DEFAULT]\nbackdoor_port = 4444\nconcurrency_backend = eventlet\n",
            r"backdoor_port is set: each account of this machine, and each web page",
        ),
        ("[DEFAULT]\ngraceful_shutdown_timeout = -1\n", r"is -1, but must not be negative"),
        ("[DEFAULT]\nhost = ::1\n", r"host is '::1', but a host name has"),
        ("[DEFAULT]\nhost = two words\n", r"host is 'two words', but a host name has"),
    ],
    ids=[
        "choice",
        "bound",
        "type",
        "library",
        "no-section",
        "syntax",
        "backdoor",
        "backdoor-on-a-port",
        "negative",
        "address",
        "words",
    ],
)
def test_a_mistake_is_one_line_with_file_and_option(
    text: str, expected: str, conf: cfg.ConfigOpts, write: Write
) -> None:
    """It says what is allowed, too."""
    with pytest.raises(exception.ConfigurationError, match=expected) as caught:
        loader.load(conf, [write(text)], "armillary-api")
    assert "\n" not in str(caught.value)


def test_a_machine_whose_name_is_malformed_is_told_so(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The default is its name, which may be anything."""
    monkeypatch.setattr(socket, "gethostname", lambda: "bad-")
    monkeypatch.delitem(sys.modules, "armillary.conf.base")
    monkeypatch.setattr("armillary.conf.base", base)  # what is imported meanwhile goes afterwards
    with pytest.raises(exception.ConfigurationError, match=r"\[DEFAULT\] host is 'bad-'"):
        loader.load(conf, [], "armillary-api")


def test_a_file_in_another_encoding_is_named(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """A remark that an editor wrote in another encoding."""
    path = tmp_path / "b.conf"
    path.write_bytes(b"[DEFAULT]\n# gr\xfc\xdfe\n")
    with pytest.raises(exception.ConfigurationError, match=r"b\.conf: it is not UTF-8 \("):
        loader.load(conf, [f"--config-file={path}"], "armillary-api")


def test_a_file_that_is_missing_is_named(conf: cfg.ConfigOpts) -> None:
    """A misspelt path must not mean defaults."""
    with pytest.raises(exception.ConfigurationError, match=r"/no/such\.conf"):
        loader.load(conf, ["--config-file=/no/such.conf"], "armillary-api")


def test_a_folder_that_is_missing_is_named(conf: cfg.ConfigOpts) -> None:
    """The same for --config-dir."""
    with pytest.raises(exception.ConfigurationError, match="/no/such"):
        loader.load(conf, ["--config-dir=/no/such"], "armillary-api")


def test_a_broken_line_with_a_password_is_told_without_it(
    conf: cfg.ConfigOpts, write: Write
) -> None:
    """oslo.config would quote the line."""
    broken = write("[api_database]\n postgresql://u:geheim@h/x\n")
    with pytest.raises(exception.ConfigurationError) as caught:
        loader.load(conf, [broken], "armillary-api")
    assert "geheim" not in str(caught.value)


def test_a_misspelt_option_is_warned_of(
    conf: cfg.ConfigOpts, write: Write, capfd: pytest.CaptureFixture[str]
) -> None:
    """oslo.config would ignore it silently; a plugin may have its options in our sections."""
    text = "[api_database]\nmax_pol_size = 3\nmax_pool_size = 3\n[other]\nx = 1\n"
    loader.load(conf, [write(text)], "armillary-api")
    warnings = [line for line in capfd.readouterr().err.splitlines() if "WARNING" in line]
    assert len(warnings) == 1
    assert "a.conf: Unknown option [api_database] max_pol_size;" in warnings[0]


def test_log_lines_carry_request_and_instance(
    conf: cfg.ConfigOpts, capfd: pytest.CaptureFixture[str]
) -> None:
    """On standard error, as standard output is for results."""
    loader.load(conf, [], "armillary-api")
    context = RequestContext(request_id="req-1", instance_uuid="i-1")
    oslo_log.getLogger("armillary.test").info("hello", extra={"context": context})
    captured = capfd.readouterr()
    assert re.search(r"INFO armillary\.test \[.*req-1.*\] \[instance: i-1\] hello", captured.err)
    assert not captured.out


def test_a_log_file_is_used(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """Then standard error stays quiet."""
    loader.load(conf, [f"--log-file={tmp_path}/a.log"], "armillary-api")
    logging.getLogger("armillary.test").warning("hello")
    assert "hello" in (tmp_path / "a.log").read_text()
    assert not conf.use_stderr


def test_a_log_file_that_cannot_be_written_is_a_configuration_error(conf: cfg.ConfigOpts) -> None:
    """One line again."""
    with pytest.raises(exception.ConfigurationError, match=r"logging: .*/no/such"):
        loader.load(conf, ["--log-file=/no/such/a.log"], "armillary-api")


def test_version_is_told(conf: cfg.ConfigOpts, capsys: pytest.CaptureFixture[str]) -> None:
    """--version prints it and ends."""
    with pytest.raises(SystemExit) as caught:
        loader.load(conf, ["--version"], "armillary-api")
    assert caught.value.code == 0
    assert re.match(r"\d", capsys.readouterr().out)


def test_loading_twice_works(conf: cfg.ConfigOpts, write: Write) -> None:
    """Tests and tools load another file into the same object."""
    loader.load(conf, [write("[DEFAULT]\nreport_interval = 7\n")], "armillary-api")
    loader.load(conf, [write("[DEFAULT]\nreport_interval = 8\n")], "armillary-api")
    assert conf.report_interval == 8


def test_mutate_takes_over_what_may_change(conf: cfg.ConfigOpts, write: Write) -> None:
    """A mutable option changes, the others wait for a restart."""
    loader.load(conf, [write("[DEFAULT]\nservice_down_time = 61\nworkers = 2\n")], "armillary-api")
    write("[DEFAULT]\nservice_down_time = 62\nworkers = 3\n")
    assert loader.mutate(conf)
    assert (conf.service_down_time, conf.workers) == (62, 2)


@pytest.mark.parametrize(
    "text",
    ["[DEFAULT]\nservice_down_time = x\n", "service_down_time\n", "[DEFAULT]\nworkers = -1\n"],
    ids=["value", "syntax", "immutable"],
)
def test_mutate_refuses_a_file_with_a_mistake(
    text: str, conf: cfg.ConfigOpts, write: Write, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing changes, and one line says why."""
    loader.load(conf, [write("[DEFAULT]\nservice_down_time = 61\n")], "armillary-api")
    logging.getLogger().addHandler(caplog.handler)
    write(text)
    assert not loader.mutate(conf)
    assert conf.service_down_time == 61
    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert len(errors) == 1
    assert "a.conf" in errors[0].getMessage()


def test_mutate_refuses_a_file_that_is_gone(
    conf: cfg.ConfigOpts, write: Write, tmp_path: Path
) -> None:
    """A file that is being replaced keeps the old values."""
    loader.load(conf, [write("[DEFAULT]\nservice_down_time = 61\n")], "armillary-api")
    (tmp_path / "a.conf").unlink()
    assert not loader.mutate(conf)
    assert conf.service_down_time == 61


@pytest.mark.parametrize(("down_time", "effective"), [(60, 150), (59, 150), (61, 61)])
def test_a_down_time_that_lets_services_flap_is_raised(
    down_time: int,
    effective: int,
    conf: cfg.ConfigOpts,
    write: Write,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """To 2.5 intervals, with a warning; a later reload reads the file again."""
    text = "[DEFAULT]\nreport_interval = 60\nservice_down_time = {}\n"
    loader.load(conf, [write(text.format(90))], "armillary-api")
    logging.getLogger().addHandler(caplog.handler)
    write(text.format(down_time))
    assert loader.mutate(conf)
    assert conf.service_down_time == effective
    warned = [each for each in caplog.messages if f"service_down_time ({down_time})" in each]
    assert len(warned) == (effective != down_time)
    write(text.format(90))
    assert loader.mutate(conf)
    assert conf.service_down_time == 90


KILLED_WHILE_IT_LOGS = """
import os
from armillary import concurrency
concurrency.bootstrap([])
import logging
from oslo_config import cfg
from armillary.conf import base, loader
loader.load(cfg.CONF, [], "armillary-test")
pid = os.fork()
if pid == 0:
    logging.getLogger().handlers[0].acquire()
    os._exit(0)
os.waitpid(pid, 0)
logging.getLogger("x").warning("still here")
"""


@pytest.mark.parametrize("backend", ["threading", "eventlet"])
def test_a_process_that_dies_while_it_logs_stops_no_other(
    backend: str, fork_program: StartProgram
) -> None:
    """Locks of the log are each process's own."""
    program = fork_program(KILLED_WHILE_IT_LOGS, ARMILLARY_CONCURRENCY_BACKEND=backend)
    program.wait_for("still here")
    assert program.wait_for_end() == 0


def test_files_are_read_apart(tmp_path: Path) -> None:
    """For programs that are not services: the usual places and logging do not count."""
    folder = tmp_path / "home" / "armillary"
    folder.mkdir(parents=True)
    (folder / "armillary.conf").write_text("[DEFAULT]\nreport_interval = 7\n")
    (tmp_path / "a.conf").write_text("[scheduler]\nmax_attempts = 5\nmax_attemps = 6\n")
    handlers = list(logging.getLogger().handlers)
    conf, (warning,) = loader.read_files([str(tmp_path / "a.conf")])
    assert (conf.scheduler.max_attempts, conf.report_interval) == (5, 10)
    assert "[scheduler] max_attemps" in warning
    assert logging.getLogger().handlers == handlers


def test_former_names_are_understood_and_warned_of(tmp_path: Path) -> None:
    """One warning each; a replaced option says what there is in its place."""
    (tmp_path / "a.conf").write_text(
        "[DEFAULT]\nscheduler_default_filters = ComputeFilter\ncompute_driver = fake.FakeDriver\n"
        "metadata-workers = 2\n[scheduler]\ndiscover_hosts_in_cells_interval = 30\n"
    )
    conf, warnings = loader.read_files([str(tmp_path / "a.conf")])
    assert conf.filter_scheduler.enabled_filters == ["ComputeFilter"]
    assert conf.conductor.discover_hosts_interval_seconds == 30
    assert conf.compute.driver != "fake.FakeDriver"
    said = [warning.partition(": ")[2] for warning in warnings]
    assert said == [
        "[DEFAULT] compute_driver has no effect: set [compute] driver",
        "[DEFAULT] metadata_workers has no effect: there is no metadata service",
        "[DEFAULT] scheduler_default_filters is deprecated: it is called [filter_scheduler] "
        "enabled_filters now",
        "[scheduler] discover_hosts_in_cells_interval is deprecated: it is called [conductor] "
        "discover_hosts_interval_seconds now",
    ]


def test_former_names_lead_to_options_that_there_are(conf: cfg.ConfigOpts) -> None:
    """And no replaced name is that of an option."""
    armillary_conf.register_all(conf)

    def there(name: former_names.Name) -> bool:
        group, option = name
        if group != "DEFAULT" and group not in conf:
            return False
        return option in (conf if group == "DEFAULT" else conf[group])

    assert [new for new in former_names.RENAMED.values() if not there(new)] == []
    assert [old for old in former_names.REPLACED if there(old)] == []


def test_replaced_options_are_listed_for_operators() -> None:
    page = (ROOT / "docs/operating/from-nova.md").read_text()
    names = {name for _group, name in former_names.REPLACED}
    assert [name for name in sorted(names) if f"{name}`" not in page] == []


def test_a_mistake_in_a_file_that_is_read_apart_is_refused(tmp_path: Path) -> None:
    """As everywhere else."""
    (tmp_path / "a.conf").write_text("[scheduler]\nmax_attempts = 0\n")
    with pytest.raises(exception.ConfigurationError, match=r"a\.conf: \[scheduler\] max_attempts"):
        loader.read_files([str(tmp_path / "a.conf")])
