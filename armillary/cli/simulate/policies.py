"""The configuration that a simulation runs with: what a scheduler's own files would say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from oslo_config import cfg

from armillary.conf import loader

DEFAULT_NAME = "defaults"


@dataclass(frozen=True, slots=True)
class Policy:
    """A configuration, and what to call it."""

    name: str
    conf: cfg.ConfigOpts
    warnings: Sequence[str] = ()


def read_policies(common: Sequence[Path], compared: Sequence[Path]) -> list[Policy]:
    """Return a policy for each compared file, on top of the common ones; else one of those alone.

    Files that a service would read by itself are not read: the answer would depend on where it is
    asked. Raises ``ConfigurationError``.
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
