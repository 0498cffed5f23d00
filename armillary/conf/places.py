"""Locations of configuration files: those named on the command line, or a program's defaults.

Imports only the standard library: ``armillary.concurrency`` uses it before anything else is loaded.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path


def binary_name(program: str) -> str:
    """Return the name of a program's configuration: its file name without the suffix."""
    return Path(program).stem


def default_config_files(binary: str) -> list[Path]:
    """Return the existing configuration files of ``binary``, the system's before the user's."""
    return [path for base in _bases() if (path := base / f"{binary}.conf").is_file()]


def default_config_dirs(binary: str) -> list[Path]:
    """Return the existing drop-in directories of ``binary``, the system's before the user's."""
    return [path for base in _bases() if (path := base / f"{binary}.conf.d").is_dir()]


def config_files(argv: Sequence[str], binary: str) -> list[Path]:
    """Return all files to read, in order: a later one overrides an earlier one."""
    files: list[Path] = []
    for path in named_places(argv) or default_places(binary):
        files.extend(sorted(path.glob("*.conf")) if path.is_dir() else [path])
    return files


def default_places(binary: str) -> list[Path]:
    """Return the default files, then the default drop-in directories."""
    return default_config_files(binary) + default_config_dirs(binary)


def named_places(argv: Sequence[str]) -> list[Path]:
    """Return the paths of ``--config-file`` and ``--config-dir``; they replace the defaults."""
    arguments = iter(argv)
    values = (value for argument in arguments for value in _named(argument, arguments))
    return [Path(value).expanduser() for value in values]


def _bases() -> tuple[Path, Path]:
    user = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path("/etc/armillary"), Path(user).expanduser() / "armillary"


def _named(argument: str, following: Iterator[str]) -> Iterator[str]:
    option, has_value, value = argument.partition("=")
    if option in ("--config-file", "--config-dir"):
        yield value if has_value else next(following, "")
