"""Configuration loading and logging setup of a program, with one line per mistake."""

import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from oslo_config import cfg
from oslo_log import log as oslo_log
from oslo_reports import opts as report_opts
from oslo_service import opts as service_opts
from oslo_service._options import eventlet_backdoor_opts

from armillary import concurrency, exception, version
from armillary.conf import file_parser, former_names, option_modules, places, register_all
from armillary.logs import log_lines
from armillary.logs.masking import mask_passwords
from armillary.names.identifiers import is_host_name

LOG = logging.getLogger(__name__)

PROJECT = "armillary"

QUIET_LOGGERS = [
    "amqp=WARNING", "amqplib=WARNING", "alembic=WARNING", "kombu=WARNING", "oslo_config=INFO",
    "oslo_db=INFO",
    "oslo_db.sqlalchemy.exc_filters=ERROR",  # it logs a traceback of each error that it passes on
    "oslo_messaging=INFO", "oslo_policy=INFO", "oslo_service.backend=WARNING", "requests=WARNING",
    "sqlalchemy=WARNING", "stevedore=WARNING", "urllib3=WARNING",
]  # fmt: skip
_DOWN_TIME_FACTOR = 2.5
_VALUE_ERROR = re.compile(
    r".*? from .*?detail='(?P<where>.*?)'\) is not valid: (?P<why>.*)", re.DOTALL
)


def load(conf: cfg.ConfigOpts, argv: Sequence[str], binary: str) -> None:
    """Fill ``conf`` from ``argv`` (without the program) and ``binary``'s files, and set up logging.

    The files are those of ``--config-file`` and ``--config-dir``. If neither is given, they are
    ``<binary>.conf`` and ``<binary>.conf.d/`` in /etc/armillary and ~/.config/armillary.
    ``--version`` and ``--help`` end the program. Raises ``ConfigurationError`` with one line that
    names the file, the option and the allowed values.
    """
    register_all(conf)
    _register_library_options(conf)
    _parse(conf, argv, binary)
    _set_up_logging(conf, binary)
    unknown = _unknown_options(places.config_files(argv, binary))
    for warning in (*_raise_down_time(conf), *unknown):
        LOG.warning("%s", warning)


def read_files(files: Sequence[str]) -> tuple[cfg.ConfigOpts, list[str]]:
    """Return a configuration from these files only, and a warning for each unknown option.

    For programs that are not services: leaves logging alone and reads no other file. Raises as
    ``load``.
    """
    argv = [f"--config-file={path}" for path in files]
    conf = _parse_apart(argv)
    unknown = _unknown_options(places.config_files(argv, "")) if files else ()
    return conf, [*_raise_down_time(conf), *unknown]


def mutate(conf: cfg.ConfigOpts) -> bool:
    """Reload the files and apply the options that may change at run time.

    If a file has a mistake, nothing changes: one log line names it, and the result is False.
    """
    mistake = _try_mutate(conf)
    if mistake is not None:  # not in an except clause, where oslo.log adds the error to the line
        LOG.error("Configuration not reloaded, the old values stay in use: %s", mistake)
    return mistake is None


def _try_mutate(conf: cfg.ConfigOpts) -> str | None:
    try:
        _parse_a_copy(conf)
        conf.mutate_config_files()
        for warning in _raise_down_time(conf):
            LOG.warning("%s", warning)
    except (exception.ConfigurationError, cfg.Error) as error:
        return _one_line(error)
    return None


def _register_library_options(conf: cfg.ConfigOpts) -> None:
    service_opts.register_service_opts(conf)
    report_opts.set_defaults(conf)
    oslo_log.set_defaults(default_log_levels=QUIET_LOGGERS)
    # also command line options: register them only once
    if not hasattr(conf, "default_log_levels"):
        oslo_log.register_options(conf)


def _parse(conf: cfg.ConfigOpts, argv: Sequence[str], binary: str) -> None:
    is_named = bool(places.named_places(argv))
    try:
        conf(
            list(argv),
            project=PROJECT,
            prog=binary,
            version=version.version_string(),
            default_config_files=(
                [] if is_named else [str(path) for path in places.default_config_files(binary)]
            ),
            default_config_dirs=(
                [] if is_named else [str(path) for path in places.default_config_dirs(binary)]
            ),
        )
    except (cfg.Error, OSError, UnicodeError) as error:
        raise exception.ConfigurationError(_mistake(error, argv, binary)) from error
    _check_values(conf)
    _check_relations(conf)
    if concurrency.is_bootstrapped():
        conf.set_override("concurrency_backend", concurrency.backend())
    _refuse_backdoor(conf)


def _refuse_backdoor(conf: cfg.ConfigOpts) -> None:
    """Refuse oslo.service's Python prompt where it is open to others, or cannot be served."""
    conf.register_opts(eventlet_backdoor_opts)
    if conf.backdoor_port is not None:
        raise exception.ConfigurationError(
            "[DEFAULT] backdoor_port is set: each account of this machine, and each web page in a "
            "browser on it, could run code in the service; set backdoor_socket instead, or send a "
            "process SIGUSR2 for a report with the stacks of all threads"
        )
    if conf.backdoor_socket is not None and conf.concurrency_backend == concurrency.THREADING:
        raise exception.ConfigurationError(
            "[DEFAULT] backdoor_socket is set, but only concurrency_backend = eventlet can serve "
            "it; with threads send a process SIGUSR2 for a report with the stacks of all threads"
        )


def _parse_a_copy(conf: cfg.ConfigOpts) -> None:
    """Raise what ``load`` would raise for the current content of ``conf``'s files."""
    files = [f"--config-file={path}" for path in conf.config_file or ()]
    folders = [f"--config-dir={path}" for path in conf.config_dir or ()]
    _parse_apart([*files, *folders])


def _parse_apart(argv: Sequence[str]) -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    register_all(conf)
    service_opts.register_service_opts(conf)
    try:
        conf(list(argv), project=PROJECT, default_config_files=[], default_config_dirs=[])
    except (cfg.Error, OSError, UnicodeError) as error:
        raise exception.ConfigurationError(_mistake(error, argv, "")) from error
    _check_values(conf)
    _check_relations(conf)
    return conf


def _mistake(error: Exception, argv: Sequence[str], binary: str) -> str:
    """Return what is wrong with the files; of one that cannot be parsed also the line."""
    if not isinstance(error, cfg.ConfigFileParseError | UnicodeError):
        return _one_line(error)
    for path in places.config_files(argv, binary):
        try:
            file_parser.parse(path, {})
        except (OSError, ValueError) as mistake:
            return f"{path}: {_one_line(mistake)}"
    return _one_line(error)  # a byte order mark, which our parser takes


def _check_values(conf: cfg.ConfigOpts) -> None:
    """Read every value once: oslo.config validates a value only when it is read."""
    for group, option in _own_options():
        where = conf if group == "DEFAULT" else conf[group]
        try:
            where[option.dest]
        except (cfg.ConfigSourceValueError, cfg.TemplateSubstitutionError) as error:
            raise exception.ConfigurationError(_value_error(group, option, error)) from error
    try:
        conf.graceful_shutdown_timeout  # noqa: B018 - the same look
    except cfg.ConfigSourceValueError as error:
        raise exception.ConfigurationError(_one_line(error)) from error


def _check_relations(conf: cfg.ConfigOpts) -> None:
    if not is_host_name(conf.host):
        raise exception.ConfigurationError(
            f"[DEFAULT] host is {conf.host!a:.100}, but a host name has at most 255 letters, "
            "digits and . _ : @ -, and begins and ends with a letter, a digit or _"
        )
    if conf.graceful_shutdown_timeout < 0:  # registered by oslo.service without bounds
        raise exception.ConfigurationError(
            f"[DEFAULT] graceful_shutdown_timeout is {conf.graceful_shutdown_timeout}, but "
            "must not be negative; use 0 to wait without limit"
        )


def _raise_down_time(conf: cfg.ConfigOpts) -> list[str]:
    """Raise a ``service_down_time`` that lets services flap; return a warning for it, if any."""
    conf.clear_override("service_down_time")
    asked, interval = conf.service_down_time, conf.report_interval
    if asked > interval:
        return []
    raised = int(interval * _DOWN_TIME_FACTOR)
    conf.set_override("service_down_time", raised)
    return [
        f"[DEFAULT] service_down_time ({asked}) is not greater than report_interval ({interval}), "
        f"so services would flap between up and down; {raised} is used instead"
    ]


def _own_options() -> Iterator[tuple[str, cfg.Opt]]:
    for module in option_modules():
        for group, options in module.OPTIONS.items():
            for option in options:
                yield group, option


def _value_error(group: str, option: cfg.Opt, error: Exception) -> str:
    match = _VALUE_ERROR.match(str(error))
    if match is None:
        return f"[{group}] {option.name}: {_one_line(error)}"
    why = "the value is not valid" if option.secret else _one_line(match["why"])
    return f"{match['where']}: [{group}] {option.name}: {why}"


def _unknown_options(files: Sequence[Path]) -> Iterator[str]:
    """Yield a warning for each former name, and each unknown option in Armillary's own sections."""
    known: dict[str, set[str]] = {}
    for group, option in _own_options():
        names = known.setdefault(group, set())
        names.update((option.name, option.dest))
    for path in files:
        sections: dict[str, dict[str, list[str]]] = {}
        cfg.ConfigParser(str(path), sections).parse()
        for warning in former_names.warnings_of(
            {
                group: [name.replace("-", "_") for name in values]
                for group, values in sections.items()
            }
        ):
            yield f"{path}: {warning}"
        for group, values in sections.items():
            # other libraries register options in DEFAULT, too
            if group == "DEFAULT" or group not in known:
                continue
            for name in sorted(values.keys() - known[group]):
                if former_names.is_known((group, name.replace("-", "_"))):
                    continue
                yield (
                    f"{path}: Unknown option [{group}] {name}; it is ignored unless a plugin "
                    "registers it"
                )


def _set_up_logging(conf: cfg.ConfigOpts, binary: str) -> None:
    if not (conf.log_file or conf.log_dir or conf.use_journal):
        conf.set_default("use_stderr", True)  # standard output is for results
    try:
        # oslo.log's fix for eventlet guards logging by a pipe that forks share: a worker that is
        # killed while it logs would block its parent and siblings for ever. The fix is for native
        # threads, which eventlet processes here do not use.
        oslo_log.setup(conf, binary, version.version_string(), fix_eventlet=False)
    except (oslo_log.LogConfigError, cfg.Error, OSError) as error:
        raise exception.ConfigurationError(f"logging: {_one_line(error)}") from error
    log_lines.protect(logging.getLogger())


def _one_line(error: object) -> str:
    return " ".join(mask_passwords(error).split())
