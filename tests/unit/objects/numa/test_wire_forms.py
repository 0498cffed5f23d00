"""Wire forms of topologies: invalid ones are refused, additions of later versions are not."""

from typing import Any

import pytest

from armillary import exception
from objects import numa


@pytest.mark.parametrize(
    "plain",
    [{}, {"cells": None}, {"cells": [{}]}, {"cells": [{"id": "x"}]}, {"cells": [7]}, 7,
     {"cells": [{"id": 0, "memory_mb": 1, "pages": [{"size_kb": 4}]}]},
     {"cells": [{"id": 0, "memory_mb": 1, "cpus": 3, "vcpus": 3}]}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("kind", [numa.HostTopology, numa.InstanceTopology])
def test_other_things_are_not_a_topology(kind: Any, plain: Any) -> None:
    """One error, whatever is wrong with them."""
    if kind is numa.InstanceTopology and "pages" in str(plain):
        return
    with pytest.raises(exception.InvalidNUMATopology):
        kind.from_plain(plain)


def test_what_is_not_known_is_left_out() -> None:
    """So that a later version may say more."""
    plain = {"cells": [{"id": 0, "memory_mb": 1, "more": 1}], "more": 1}
    assert numa.HostTopology.from_plain(plain).cells == (numa.HostCell(0, memory_mb=1),)
    assert numa.InstanceTopology.from_plain(plain).cells == (numa.InstanceCell(0, memory_mb=1),)
