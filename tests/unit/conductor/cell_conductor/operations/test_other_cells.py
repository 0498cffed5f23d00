"""Messages of a cell to the super conductor: questions about moves that wait for it."""

from armillary.context import RequestContext, admin_context
from conductor.cell_conductor.operations import other_cells
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.move import cell_relay
from tests.fixtures.messages.direct_bus import Breaker, DirectBus


class EverySecond:
    """A super conductor that seeks hosts for every second move."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def list_moves(self, context: RequestContext, migration_uuids: list[str]) -> list[str]:
        self.asked.append(len(migration_uuids))
        return [uuid for uuid in migration_uuids if int(uuid) % 2]


def test_many_moves_are_asked_after_in_parts() -> None:
    """None larger than the super conductor takes."""
    top, bus = EverySecond(), DirectBus(Breaker())
    bus.serve("conductor", top)
    moves = [str(number) for number in range(2_500)]
    found = other_cells.known_moves(SuperConductorAPI(bus), admin_context(), moves)
    assert found == {uuid for uuid in moves if int(uuid) % 2}
    assert sum(top.asked) == len(moves)
    assert max(top.asked) <= cell_relay.ASKED_MAX
