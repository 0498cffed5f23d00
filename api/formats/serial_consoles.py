"""Links to serial consoles, as the API gives them to users."""

from pathlib import Path
from urllib.parse import urlencode

from oslo_config import cfg

from armillary.consoles import console_links
from armillary.consoles.console_links import ConsoleKeys, ConsoleLink
from objects.instances.serial_console import SerialConsole


class SerialConsoleLinks:
    """Makes links with the keys that ``armillary-serialproxy`` has, too.

    ``api_url`` is where the proxy asks about consoles; None: where the request for one arrived.
    """

    def __init__(self, base_url: str, keys: ConsoleKeys, api_url: str | None = None) -> None:
        self._base_url = base_url
        self._keys = keys
        self.api_url = api_url

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> "SerialConsoleLinks | None":
        """Return what the options say, None without consoles. Raises ConfigurationError."""
        options = conf.serial_console
        if not options.enabled:
            return None
        api_url = options.api_url or conf.api.compute_link_prefix
        return cls(options.base_url, ConsoleKeys(Path(options.key_file)), api_url)

    def url(self, instance_uuid: str, console: SerialConsole, *, api_url: str, grant: str) -> str:
        """Return the address under which the proxy leads to a console, once.

        The proxy asks the API at ``api_url`` about the grant, as long as the console is open.
        """
        link = ConsoleLink(
            instance_uuid, console.address, console.port, console.token, console.seconds,
            api_url, grant,
        )  # fmt: skip
        return f"{self._base_url}?{urlencode({'token': console_links.seal(link, self._keys)})}"
