"""Power states of guests, and why one is paused or off, from libvirt's states and their reasons."""

from collections.abc import Mapping
from typing import Any

from compute_agent.virt.driver import PAUSED, RUNNING, SHUTDOWN, SUSPENDED

_PAUSES = {
    "VIR_DOMAIN_PAUSED_UNKNOWN": "the hypervisor paused it",
    "VIR_DOMAIN_PAUSED_USER": "it was paused on its host",
    "VIR_DOMAIN_PAUSED_IOERROR": "an error of its disk paused it; the file system may be full",
    "VIR_DOMAIN_PAUSED_WATCHDOG": "its watchdog paused it",
    "VIR_DOMAIN_PAUSED_CRASHED": "it was paused because it crashed",
    "VIR_DOMAIN_PAUSED_POSTCOPY_FAILED": "its live migration failed halfway",
    "VIR_DOMAIN_PAUSED_API_ERROR": "libvirt paused it after an error",
}
"""Why a guest is paused until it is resumed; other pauses end by themselves."""
_ENDS = {
    "VIR_DOMAIN_SHUTOFF_CRASHED": "it crashed, or its hypervisor was killed",
    "VIR_DOMAIN_SHUTOFF_FAILED": "its hypervisor could not start it",
}
"""Why a guest is off that neither shut down nor was ended by request."""


def is_running(library: Any, domain: Any) -> bool:
    """Return whether a guest runs here; an incoming migration does not count."""
    state, reason = domain.state(0)
    if state == library.VIR_DOMAIN_PAUSED:
        return bool(reason != library.VIR_DOMAIN_PAUSED_MIGRATION)
    return state not in (library.VIR_DOMAIN_SHUTOFF, library.VIR_DOMAIN_CRASHED)


def power_state(library: Any, domain: Any) -> str:
    """Return the power state of a guest, in the words of the driver interface."""
    if not is_running(library, domain):
        return SUSPENDED if domain.hasManagedSaveImage(0) else SHUTDOWN
    return PAUSED if _pause_reason(library, domain) is not None else RUNNING


def reason_of(library: Any, domain: Any, power_state: str) -> str | None:
    """Return why a guest is paused or off; None if it was asked to be, or is neither."""
    if power_state == PAUSED:
        return _pause_reason(library, domain)
    return _among(library, _ENDS, domain.state(0)[1]) if power_state == SHUTDOWN else None


def _pause_reason(library: Any, domain: Any) -> str | None:
    """Return why a guest is paused; None if it runs, or continues by itself."""
    state, reason = domain.state(0)
    if state == library.VIR_DOMAIN_PMSUSPENDED:
        return "it sleeps, by its own power management"
    if state != library.VIR_DOMAIN_PAUSED:
        return None
    return _among(library, _PAUSES, reason)


def _among(library: Any, reasons: Mapping[str, str], found: int) -> str | None:
    """Return the text of a reason by libvirt's number; None if it is not among these."""
    names = (name for name in reasons if getattr(library, name, None) == found)
    return reasons.get(next(names, ""))
