"""Policies: the scheduler configurations that a simulation compares."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from armillary.conf import loader

DEFAULT_NAME = "defaults"


@dataclass(frozen=True, slots=True)
class Policy:
    """A configuration and its name."""

    name: str
    conf: cfg.ConfigOpts
    warnings: Sequence[str] = ()


def read_policies(common: Sequence[Path], compared: Sequence[Path]) -> list[Policy]:
    """Return a policy per compared file, on top of the common ones; else one of the common ones.

    Default configuration files are not read: the result would depend on the machine. Raises
    ``ConfigurationError``.
    """
    if not compared:
        return [_policy(common[-1].stem if common else DEFAULT_NAME, common)]
    names = [path.stem for path in compared]
    if len(set(names)) < len(names):
        names = [f"{name} ({side})" for name, side in zip(names, "AB", strict=True)]
    return [_policy(name, [*common, path]) for name, path in zip(names, compared, strict=True)]


def _policy(name: str, files: Sequence[Path]) -> Policy:
    conf, warnings = loader.read_files([str(path) for path in files])
    return Policy(name, conf, warnings)
