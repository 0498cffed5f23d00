"""Links to serial consoles, as the API gives them to users."""

from pathlib import Path
from urllib.parse import urlencode

from oslo_config import cfg

from armillary.consoles import console_links
from armillary.consoles.console_links import ConsoleKeys, ConsoleLink
from objects.instances.serial_console import SerialConsole


class SerialConsoleLinks:
    """Makes links with the keys that ``armillary-serialproxy`` has, too."""

    def __init__(self, base_url: str, keys: ConsoleKeys) -> None:
        self._base_url = base_url
        self._keys = keys

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> "SerialConsoleLinks | None":
        """Return what the options say, None without consoles. Raises ConfigurationError."""
        options = conf.serial_console
        if not options.enabled:
            return None
        return cls(options.base_url, ConsoleKeys(Path(options.key_file)))

    def url(self, instance_uuid: str, console: SerialConsole) -> str:
        """Return the address under which the proxy leads to a console, once."""
        link = ConsoleLink(
            instance_uuid, console.address, console.port, console.token, console.seconds
        )
        return f"{self._base_url}?{urlencode({'token': console_links.seal(link, self._keys)})}"
