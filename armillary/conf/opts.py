"""Entry points for oslo-config-generator, which writes the sample configuration of each program."""

import functools

from oslo_config import cfg

from armillary import conf
from armillary.conf import roles


def list_opts(program: str) -> list[tuple[str, list[cfg.Opt]]]:
    """Return pairs of group and options that a program reads, each group once."""
    groups: dict[str, list[cfg.Opt]] = {}
    for module in conf.option_modules():
        for group, options in module.OPTIONS.items():
            groups.setdefault(group, []).extend(
                each for each in options if program in roles.readers_of(group, each.dest)
            )
    return [(group, options) for group, options in groups.items() if options]


list_api_opts = functools.partial(list_opts, roles.API)
list_compute_opts = functools.partial(list_opts, roles.COMPUTE)
list_conductor_opts = functools.partial(list_opts, roles.CONDUCTOR)
list_placement_opts = functools.partial(list_opts, roles.PLACEMENT)
list_scheduler_opts = functools.partial(list_opts, roles.SCHEDULER)
