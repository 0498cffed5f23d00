"""Base class of the weighers of pools."""

from oslo_config import cfg

from scheduler.plugins.weight_setting import WeightSetting
from scheduler.weights import BaseHostWeigher

_SETTING = WeightSetting("[claims] weight_multipliers")


class PoolWeigher(BaseHostWeigher):
    """A weigher of pools; its multiplier is that of the kind, or of the option.

    ``[claims] weight_multipliers`` overrides it by ``KIND.WEIGHER``.
    """

    is_host_local = True

    def __init__(self, conf: cfg.ConfigOpts, *, kind: str, default_multiplier: float) -> None:
        super().__init__(conf)
        self._name = f"{kind}.{type(self).__name__}"
        self._default_multiplier = default_multiplier

    def multiplier(self) -> float:
        settings = _SETTING.parsed(self._conf.claims.weight_multipliers)
        return settings.get(self._name, self._default_multiplier)
