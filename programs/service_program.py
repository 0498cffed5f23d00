"""Start-up shared by all services: read the configuration, then run the manager."""

import sys
from collections.abc import Callable, Sequence

from oslo_config import cfg

from armillary import exception
from armillary.conf import loader
from armillary.files.umask import tighten_umask
from armillary.service import Manager, launch
from programs import EXIT_CONFIGURATION
from programs.bus_factory import bus_maker
from rpc.transport import MakeBus, configured_url


def run(
    binary: str,
    argv: Sequence[str],
    make: Callable[[cfg.ConfigOpts, str, MakeBus], Manager],
    workers: Callable[[cfg.ConfigOpts], int | None] = lambda conf: None,
) -> int:
    """Run one service as worker processes and return the exit code.

    ``make`` gets the configuration, ``[DEFAULT] transport_url`` and a bus factory. A configuration
    error is reported in one line on standard error.
    """
    tighten_umask()
    conf = cfg.CONF
    try:
        loader.load(conf, argv, binary)
        transport_url = configured_url(conf)
    except exception.ConfigurationError as error:
        print(f"{binary}: {error}", file=sys.stderr)  # noqa: T201 - the log may not be set up
        return EXIT_CONFIGURATION

    def make_manager() -> Manager:
        try:
            return make(conf, transport_url, bus_maker(conf, binary))
        except exception.PluginNotFound as error:
            raise exception.ConfigurationError(f"{_file_of(conf, error)}{error}") from error

    return launch(conf, binary, make_manager, workers=workers(conf))


def _file_of(conf: cfg.ConfigOpts, error: exception.PluginNotFound) -> str:
    """Return the file that names the plugin and a colon, or an empty string if none does."""
    group, name = error.kwargs["option"].strip("[").split("] ")
    found = conf.get_location(name, None if group == "DEFAULT" else group)
    if found is None or not found.location.is_user_controlled:
        return ""
    return f"{found.detail}: "
