"""Files that are installed beside the code: units, samples, simulations, documentation."""

import sysconfig
from pathlib import Path

_TREE = Path(__file__).parents[3]


def installed(*parts: str) -> Path:
    """Return the path of a file below ``share/armillary``, or below ``etc`` of a source tree."""
    if (_TREE / "setup.cfg").exists():
        return _TREE.joinpath("etc", *parts)
    return Path(sysconfig.get_path("data"), "share", "armillary", *parts)
