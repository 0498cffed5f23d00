"""Requests that a guest answers immediately: consoles, diagnostics, password, crash dump."""

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.servers.server_views import ServerReader
from objects.cell_mapping import CELL0_UUID
from objects.instances.diagnostics import Diagnostics
from objects.instances.operation_rules import check_unlocked
from objects.instances.serial_console import SerialConsole
from objects.instances.server_topology import ServerTopology


class GuestRequests:
    """Passes requests on to the server's cell; see ``SuperConductorAPI``."""

    def __init__(self, cells: Cells, servers: ServerReader) -> None:
        self._cells = cells
        self._servers = servers

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, *, lines: int | None
    ) -> str:
        """Return a server's last console output; see ``SuperConductorAPI``."""
        return self._cells.call(
            self._cell_of_guest(context, instance_uuid, "show its console"),
            lambda cell: cell.get_console_output(context, instance_uuid, lines=lines),
        )

    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        """Return what is measured of a server; see ``SuperConductorAPI``."""
        return self._cells.call(
            self._cell_of_guest(context, instance_uuid, "show diagnostics"),
            lambda cell: cell.get_diagnostics(context, instance_uuid),
        )

    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        """Return a server's NUMA topology; see ``SuperConductorAPI``."""
        cell_uuid = self._servers.get_server(context, instance_uuid).cell_uuid
        if cell_uuid in (None, CELL0_UUID):
            return ServerTopology()
        return self._cells.call(
            str(cell_uuid), lambda cell: cell.get_topology(context, instance_uuid)
        )

    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        """Return how to reach a server's serial console; see ``SuperConductorAPI``."""
        return self._cells.call(
            self._cell_of_guest(context, instance_uuid, "connect to its console"),
            lambda cell: cell.create_serial_console(context, instance_uuid),
        )

    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, *, password: str
    ) -> None:
        """Set the administrator's password in a server; see ``SuperConductorAPI``."""
        self._cells.call(
            self._cell_to_change(context, instance_uuid, "change its password"),
            lambda cell: cell.set_admin_password(context, instance_uuid, password=password),
        )

    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str) -> None:
        """Have a server's kernel dump its memory; see ``SuperConductorAPI``."""
        self._cells.call(
            self._cell_to_change(context, instance_uuid, "trigger a crash dump"),
            lambda cell: cell.trigger_crash_dump(context, instance_uuid),
        )

    def _cell_to_change(self, context: RequestContext, instance_uuid: str, operation: str) -> str:
        """Return the cell of a server's guest. Raises InstanceInvalidState, InstanceLocked."""
        cell_uuid = self._cell_of_guest(context, instance_uuid, operation)
        check_unlocked(context, self._servers.get_server(context, instance_uuid))
        return cell_uuid

    def _cell_of_guest(self, context: RequestContext, instance_uuid: str, operation: str) -> str:
        """Return the cell of a server that may have a guest. Raises InstanceInvalidState."""
        cell_uuid = self._servers.get_server(context, instance_uuid).cell_uuid
        if cell_uuid in (None, CELL0_UUID):
            raise exception.InstanceInvalidState(
                instance_uuid=instance_uuid, operation=operation, reason="it is on no host yet"
            )
        return str(cell_uuid)
