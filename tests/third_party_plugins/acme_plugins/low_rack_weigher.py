"""Prefer hosts in racks with a low number."""

from oslo_config import cfg

from armillary.plugins.scheduler import BaseHostWeigher


class LowRackWeigher(BaseHostWeigher):
    """Prefers low racks; a negative multiplier prefers high ones."""

    multiplier_option = "low_rack_weight_multiplier"

    def __init__(self, conf):
        option = cfg.FloatOpt(self.multiplier_option, default=1.0, help="How much.")
        conf.register_opt(option, group="filter_scheduler")
        super().__init__(conf)

    def host_weight(self, host_state, spec):
        return -float(host_state.host[-1])
