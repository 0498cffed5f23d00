"""Entry point for oslo-config-generator, which writes the sample configuration."""

from __future__ import annotations

from oslo_config import cfg

from armillary import conf


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Return pairs of group and options; a group shared by two modules appears once."""
    groups: dict[str, list[cfg.Opt]] = {}
    for module in conf.option_modules():
        for group, options in module.list_opts().items():
            groups.setdefault(group, []).extend(options)
    return list(groups.items())
