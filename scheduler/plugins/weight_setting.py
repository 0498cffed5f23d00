"""Parser of options such as ``cpu.percent=-1.0, numa.membw.current=2``: names with ratios."""

import logging
import math
from collections.abc import Sequence

from objects.extra_specs.aggregate_metadata import NUMBER_MAX

LOG = logging.getLogger(__name__)


class WeightSetting:
    """Parses one option. An invalid item is ignored and logged once."""

    def __init__(self, option: str) -> None:
        self._option = option
        self._last: tuple[tuple[str, ...], dict[str, float]] = ((), {})

    def parsed(self, items: Sequence[str]) -> dict[str, float]:
        """Return name -> ratio; the last of several items with the same name applies."""
        key = tuple(items)
        last_key, ratios = self._last
        if key != last_key:  # the option was changed at run time
            ratios = dict(filter(None, map(self._item, key)))
            self._last = (key, ratios)
        return ratios

    def _item(self, item: str) -> tuple[str, float] | None:
        name, _equals, text = item.rpartition("=")
        try:
            ratio = float(text)
        except ValueError:
            ratio = math.nan
        if name.strip() and abs(ratio) < NUMBER_MAX:
            return name.strip(), ratio
        LOG.warning("%s: %r is not NAME=NUMBER and is ignored", self._option, item)
        return None
