"""Names of hosts that a cell may be the first to use, by the enrolment of the cells' keys.

A host is mapped to the cell that names it first. The key of a cell's conductor could therefore take
the names of hosts that another cell will have. An operator prevents that by enrolling cells for
patterns of host names (``armillary-manage key trust --host``). Where signatures are required, a
cell gets other hosts only after an operator has approved them (``cell approve-host``), which maps
them to the cell.
"""

from collections.abc import Sequence

from rpc.signing.trust import CELL_CONDUCTOR
from rpc.signing.trust_file import TrustFile


class CellEnrolments:
    """The enrolments in this process's trust lists; without lists every cell may have any host.

    ``is_required`` if every message has to be signed.
    """

    def __init__(self, trusted: Sequence[TrustFile] = (), *, is_required: bool = False) -> None:
        self._trusted = trusted
        self._is_required = is_required

    def may_have(self, cell_uuid: str, host: str) -> bool:
        """Return whether an unmapped host may be mapped to a cell.

        A cell that is enrolled for patterns may have hosts that fit one of them, and no other cell
        may have those; what fits the patterns of two cells, neither has before an operator has
        approved it. A cell that is enrolled for none may have no host while signatures are
        required, else those that no other cell is enrolled for.
        """
        enrolled = [
            identity
            for trusted in self._trusted
            for identity in trusted.current().identities.values()
            if identity.role == CELL_CONDUCTOR and identity.hosts
        ]
        fitting = {one.scope for one in enrolled if one.as_signer().is_enrolled_for(host)}
        if any(one.scope == cell_uuid for one in enrolled):
            return fitting == {cell_uuid}
        return not self._is_required and not fitting
