"""RPC endpoint of the agent: commands and questions of the cell conductor."""

from collections.abc import Mapping, Sequence

from armillary import exception
from armillary.context import RequestContext
from armillary.names.identifiers import checked_uuid
from compute_agent.consoles.console_port import ConsolePort
from compute_agent.journal.command_log import Signal
from compute_agent.journal.journal import Journal
from compute_agent.parts import Work
from compute_agent.virt.driver import ComputeDriver, Feature
from compute_agent.work.guest_requests import GuestRequests
from objects.hosts.image_fetches import ImageFetches
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import ImageTicket
from objects.instance import Instance
from objects.instances.diagnostics import Diagnostics
from objects.instances.instance_command import InstanceCommand
from objects.instances.serial_console import SerialConsole
from objects.instances.server_topology import ServerTopology
from objects.request_spec import RequestSpec


class ComputeEndpoint:
    """Answers as ``ComputeAPI`` declares; ``consoles`` is None if they are off."""

    def __init__(
        self,
        journal: Journal,
        drivers: Mapping[str, ComputeDriver],
        work: Work,
        consoles: ConsolePort | None,
    ) -> None:
        self._journal = journal
        self._drivers = drivers
        self._work = work
        self._consoles = consoles
        self._guest_requests = GuestRequests()

    def build_instances(
        self,
        context: RequestContext,
        instances: Sequence[Instance],
        request_specs: Sequence[RequestSpec],
    ) -> None:
        self._work.instances.build_all(context, list(zip(instances, request_specs, strict=True)))

    def delete_instance(self, context: RequestContext, instance_uuid: str, host: str) -> None:
        self._work.instances.delete(checked_uuid("instance_uuid", instance_uuid), host)

    def forget_attempt(
        self, context: RequestContext, instance_uuid: str, host: str, attempt: int
    ) -> None:
        self._work.instances.forget(checked_uuid("instance_uuid", instance_uuid), host, attempt)

    def execute(self, context: RequestContext, command: InstanceCommand) -> None:
        self._work.commands.take(context, command)

    def abort_command(
        self, context: RequestContext, instance_uuid: str, host: str, sequence: int
    ) -> None:
        uuid = checked_uuid("instance_uuid", instance_uuid)
        self._work.commands.signal(uuid, host, sequence, Signal.ABORT)

    def force_command(
        self, context: RequestContext, instance_uuid: str, host: str, sequence: int
    ) -> None:
        uuid = checked_uuid("instance_uuid", instance_uuid)
        self._work.commands.signal(uuid, host, sequence, Signal.FORCE)

    def cache_images(
        self,
        context: RequestContext,
        host: str,
        images: Sequence[ImageMeta],
        tickets: Sequence[ImageTicket],
    ) -> ImageFetches:
        return self._work.images.ask(context, host, images, tickets)

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, host: str, lines: int | None
    ) -> str:
        uuid = checked_uuid("instance_uuid", instance_uuid)
        return self._driver_of(host).get_console_output(uuid, lines=lines)

    def get_diagnostics(
        self, context: RequestContext, instance_uuid: str, host: str
    ) -> Diagnostics:
        uuid = checked_uuid("instance_uuid", instance_uuid)
        return self._driver_of(host).get_diagnostics(uuid)

    def get_topology(
        self, context: RequestContext, instance_uuid: str, host: str
    ) -> ServerTopology:
        entry = self._journal.find(host, checked_uuid("instance_uuid", instance_uuid))
        place = None if entry is None else entry.place
        return ServerTopology.of(None if place is None else place.numa_topology)

    def create_serial_console(
        self, context: RequestContext, instance_uuid: str, host: str
    ) -> SerialConsole:
        uuid = checked_uuid("instance_uuid", instance_uuid)
        if Feature.SERIAL_CONSOLE not in self._driver_of(host).features:
            raise exception.OperationUnsupported(
                host=host, operation=Feature.SERIAL_CONSOLE.value,
                reason="its driver does not support it",
            )  # fmt: skip
        if self._consoles is None:
            raise exception.OperationUnsupported(
                host=host, operation=Feature.SERIAL_CONSOLE.value,
                reason="[serial_console] enabled is not set there",
            )  # fmt: skip
        return self._consoles.grant(host, uuid)

    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, host: str, password: str
    ) -> None:
        uuid = checked_uuid("instance_uuid", instance_uuid)
        driver = self._driver_of(host)
        self._guest_requests.run_once(
            uuid, str(context.request_id), lambda: driver.set_admin_password(uuid, password)
        )

    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str, host: str) -> None:
        uuid = checked_uuid("instance_uuid", instance_uuid)
        driver = self._driver_of(host)
        self._guest_requests.run_once(
            uuid, str(context.request_id), lambda: driver.trigger_crash_dump(uuid)
        )

    def _driver_of(self, host: str) -> ComputeDriver:
        driver = self._drivers.get(host)
        if driver is None:
            raise exception.HostNotFound(host=host)
        return driver
