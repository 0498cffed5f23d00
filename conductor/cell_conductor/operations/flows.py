"""Table of all operations by name."""

from conductor.cell_conductor.operations import (
    evacuate,
    live,
    power,
    resize,
    shelve,
    snapshot,
    soft_delete,
)
from conductor.cell_conductor.operations.flow import Flow

FLOWS: dict[str, Flow] = {
    flow.operation: flow
    for flow in (
        power.STOP,
        power.START,
        power.REBOOT,
        soft_delete.SOFT_DELETE,
        soft_delete.RESTORE,
        snapshot.SNAPSHOT,
        snapshot.BACKUP,
        power.PAUSE,
        power.UNPAUSE,
        power.SUSPEND,
        power.RESUME,
        power.RESCUE,
        power.UNRESCUE,
        resize.RESIZE,
        resize.MIGRATE,
        resize.CONFIRM,
        resize.REVERT,
        power.REBUILD,
        live.LIVE_MIGRATE,
        evacuate.EVACUATE,
        shelve.SHELVE,
        shelve.SHELVE_OFFLOAD,
        shelve.UNSHELVE_HERE,
        shelve.UNSHELVE,
    )
}
