"""RPC interfaces of a cell's conductor: its methods by subject, in ``declarations``."""

from armillary.context import RequestContext
from conductor.cell_conductor.declarations.agents import AgentsAPI
from conductor.cell_conductor.declarations.hosts import HostsAPI
from conductor.cell_conductor.declarations.instances import InstancesAPI
from conductor.cell_conductor.declarations.other_cells import OtherCellsAPI
from objects.base import ArmillaryObject, Primitive
from objects.hosts.host_states import HostStateBatch
from rpc.callers import AGENT, API, CONDUCTOR, SCHEDULER
from rpc.interface import Interface, call


class CellConductorAPI(InstancesAPI, OtherCellsAPI, HostsAPI, AgentsAPI):
    """A cell's conductor, on that cell's broker.

    Its callers are the super conductor and the cell's agents. A host speaks for itself only: every
    report names its host and is checked against the sender's agent.
    """

    TOPIC = "cell_conductor"
    SERVED_BY = "cell_conductor"

    @call(AGENT, SCHEDULER, CONDUCTOR, API)
    def object_backport_versions(
        self, context: RequestContext, objinst: ArmillaryObject, object_versions: dict[str, str]
    ) -> Primitive:
        """Return a newer object in wire form, in the versions that the caller knows."""


class HostStatesAPI(Interface):
    """A cell's host states, served by its conductors on the top broker, by the cell's UUID."""

    TOPIC = "host_states"
    SERVED_BY = "cell_conductor"
    ADDRESSED_BY = "cell_uuid"

    @call(SCHEDULER, CONDUCTOR)
    def get_host_states(
        self,
        context: RequestContext,
        cell_uuid: str,
        *,
        after_seq: int,
        timeout_seconds: float | None = None,
    ) -> HostStateBatch:
        """Return all rows changed after a sequence number; 0 returns all rows (``full``)."""
