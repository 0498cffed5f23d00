"""Access to the serial console of one guest, as its agent grants it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SerialConsole:
    """Address and port of the agent, and a token that it accepts once within ``seconds``."""

    address: str
    port: int
    token: str
    seconds: int
