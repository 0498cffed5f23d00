"""Read options such as ``cpu.percent=-1.0, numa.membw.current=2``: names, and what each counts."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence

LOG = logging.getLogger(__name__)


class WeightSetting:
    """Reads one option. An item that cannot be read is left out, and said in the log once."""

    def __init__(self, option: str) -> None:
        self._option = option
        self._last: tuple[tuple[str, ...], dict[str, float]] = ((), {})

    def parsed(self, items: Sequence[str]) -> dict[str, float]:
        """Return name -> ratio; of items with the same name the last counts."""
        key = tuple(items)
        last_key, ratios = self._last
        if key != last_key:  # the option was changed while the service runs
            ratios = dict(filter(None, map(self._item, key)))
            self._last = (key, ratios)
        return ratios

    def _item(self, item: str) -> tuple[str, float] | None:
        name, _equals, text = item.rpartition("=")
        try:
            ratio = float(text)
        except ValueError:
            ratio = math.nan
        if name.strip() and math.isfinite(ratio):
            return name.strip(), ratio
        LOG.warning("%s: %r is not NAME=NUMBER; it is left out", self._option, item)
        return None
