"""All hosts as columns for the view of the fleet."""

import numpy as np

from objects.hosts.fleet import HostColumns
from scheduler.hosts.host_table import HostTable


def of(hosts: HostTable) -> HostColumns:
    """Return the columns of a table."""
    cells, numbers = np.unique(np.array(hosts.cell_uuid, object), return_inverse=True)
    return HostColumns.from_values(
        node_uuids=list(hosts.uuid),
        hosts=list(hosts.host),
        cells=cells.tolist(),
        cell=numbers.astype(np.int64),
        up=np.asarray(hosts.service_up, np.bool_),
        disabled=np.asarray(hosts.service_disabled, np.bool_),
        servers=np.asarray(hosts.num_instances, np.int64),
    )
