"""``armillary-compute`` whose simulated guests have serial consoles: each says whose it is.

A guest begins with its UUID, and answers each line in capitals.
"""

from collections.abc import Sequence
from typing import Any

from armillary import exception
from compute_agent.virt.driver import Feature, SerialStream
from compute_agent.virt.simulated.simulated_driver import SimulatedDriver
from programs import compute
from tests.fixtures.agent.serial_consoles import Terminal


def _open_serial_console(driver: SimulatedDriver, instance_uuid: str) -> SerialStream:
    guests = {guest.instance_uuid: guest for guest in driver.list_guests()}
    if instance_uuid not in guests or guests[instance_uuid].is_off:
        raise exception.OperationFailed(
            operation=Feature.SERIAL_CONSOLE.value, instance_uuid=instance_uuid, host=driver.host,
            reason="the guest is off",
        )  # fmt: skip
    return Terminal(greeting=instance_uuid.encode())


def main(argv: Sequence[str]) -> int:
    """Run the agent; return the exit code."""
    changed: Any = SimulatedDriver
    own = vars(SimulatedDriver)["features"].fget
    changed.features = property(lambda driver: own(driver) | {Feature.SERIAL_CONSOLE})
    changed.open_serial_console = _open_serial_console
    return compute.main(argv)
