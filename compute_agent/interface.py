"""RPC interface of compute agents."""

from collections.abc import Sequence

from armillary.context import RequestContext
from objects.hosts.image_fetches import ImageFetches
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import ImageTicket
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics
from objects.instances.instance_command import InstanceCommand
from objects.instances.serial_console import SerialConsole
from objects.instances.server_topology import ServerTopology
from objects.request_spec import RequestSpec
from rpc.callers import CELL_HERE
from rpc.interface import Interface, call, cast

ASKED_SECONDS_MAX = 4.0
"""How long a user waits for what an agent reads immediately; the super conductor waits 5 s by
default for the cell, and would count a cell as silent for an agent that is."""


class ComputeAPI(Interface):
    """An agent, on its cell's broker, by its name (``Service.agent``).

    Builds, deletes and commands are casts: the agent reports the results.
    """

    TOPIC = "compute"
    SERVED_BY = "compute"
    ADDRESSED_BY = "agent"

    @cast(CELL_HERE)
    def build_instances(
        self,
        context: RequestContext,
        agent: str,
        instances: Sequence[Instance],
        request_specs: Sequence[RequestSpec],
    ) -> None:
        """Build on ``host`` / ``node`` of each instance, as its attempt ``attempt``.

        There is one spec per instance. The agent answers with builds_succeeded or build_failed. A
        repeated attempt is built once and reported again; an attempt lower than one already seen is
        ignored.
        """

    @cast(CELL_HERE)
    def delete_instance(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str
    ) -> None:
        """Destroy the instance on ``host``.

        The agent reports instance_deleted even if there is none.
        """

    @cast(CELL_HERE)
    def forget_attempt(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str, attempt: int
    ) -> None:
        """Destroy the remains of an attempt that moved to another host.

        Nothing is reported.
        """

    @cast(CELL_HERE)
    def execute(self, context: RequestContext, agent: str, command: InstanceCommand) -> None:
        """Execute one step of an operation on ``command.host``; the agent sends command_answered.

        A repeated command is executed once and answered again; one with a lower sequence number
        than already seen for the instance on that host is ignored.
        """

    @cast(CELL_HERE)
    def abort_command(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str, sequence: int
    ) -> None:
        """Abort a live migration if still possible; its own command is answered.

        It may arrive before that command. If it gets lost, a repeated command says it, too.
        """

    @cast(CELL_HERE)
    def force_command(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str, sequence: int
    ) -> None:
        """Complete a live migration immediately, with the guest paused meanwhile.

        It may arrive before that command. If it gets lost, a repeated command says it, too.
        """

    @call(CELL_HERE)
    def cache_images(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        images: Sequence[ImageMeta],
        tickets: Sequence[ImageTicket],
    ) -> ImageFetches:
        """Begin to fetch images on a host, before servers are built from them.

        The same request again returns how far the host is, and brings new ``tickets`` for images of
        our own image service. Raises HostNotFound,
        OperationUnsupported, Unavailable.
        """

    @call(CELL_HERE, timeout_seconds=ASKED_SECONDS_MAX)
    def get_console_output(
        self,
        context: RequestContext,
        agent: str,
        instance_uuid: str,
        host: str,
        *,
        lines: int | None,
    ) -> str:
        """Return the end of a guest's console output. Raises what the driver raises."""

    @call(CELL_HERE, timeout_seconds=ASKED_SECONDS_MAX)
    def get_diagnostics(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str
    ) -> Diagnostics:
        """Return what the driver measures of a guest. Raises what the driver raises."""

    @call(CELL_HERE, timeout_seconds=ASKED_SECONDS_MAX)
    def get_topology(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str
    ) -> ServerTopology:
        """Return the NUMA topology of an instance as it was fitted to its host."""

    @call(CELL_HERE, timeout_seconds=ASKED_SECONDS_MAX)
    def create_serial_console(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str
    ) -> SerialConsole:
        """Return how to reach a guest's serial console, once. Raises OperationUnsupported."""

    @call(CELL_HERE)
    def set_admin_password(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str, *, password: str
    ) -> None:
        """Set the administrator's password in a running guest, once for a request.

        Raises what the driver raises.
        """

    @call(CELL_HERE)
    def trigger_crash_dump(
        self, context: RequestContext, agent: str, instance_uuid: str, host: str
    ) -> None:
        """Have a guest's kernel dump its memory, once for a request.

        Raises what the driver raises.
        """
