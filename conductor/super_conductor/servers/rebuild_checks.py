"""Preflight check of rebuilds: ask a scheduler whether a server's host can run another image."""

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import request_specs
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.instances.local_resources import local_resources_of
from objects.pci import pci
from objects.request_spec import REBUILD, Destination
from rpc.notifications import SILENT, Notifier
from scheduler.interface import SchedulerAPI


class RebuildChecks:
    """Dry-run requests to a scheduler; nothing is claimed."""

    def __init__(
        self,
        database: Database,
        scheduler: SchedulerAPI,
        aliases: list[str],
        notifier: Notifier = SILENT,
    ) -> None:
        self._database = database
        self._scheduler = scheduler
        self._aliases = aliases
        self._notifier = notifier

    def check(self, context: RequestContext, instance: Instance, image: ImageMeta) -> None:
        """Raise NoValidHost with the reason if the host cannot run the image."""
        spec = self._database.read(request_specs.get_spec, instance.uuid)
        spec.flavor, spec.image = instance.flavor, image
        spec.num_instances = 1
        spec.force_hosts, spec.force_nodes = [], []
        spec.requested_destination = Destination.from_values(
            host=instance.host, cell_uuid=instance.cell_uuid
        )
        spec.check_type = REBUILD
        aliases = pci.parse_aliases(self._aliases)
        for name, value in local_resources_of(instance.flavor, image, aliases).items():
            setattr(spec, name, value)
        try:
            self._scheduler.select_destinations(
                context, spec, [instance.uuid], fences=[0], dry_run=True, return_alternates=False
            )
        except exception.NoValidHost as error:
            reason = error.kwargs.get("reason") or error.message
            self._notifier.compute_task_failed(
                context, "rebuild_server", [instance.uuid], reason,
                state=instance.vm_state, spec=spec,
            )  # fmt: skip
            raise
