"""Leave out hosts in racks with an odd number."""

from armillary.plugins.scheduler import BaseHostFilter


class EvenRackFilter(BaseHostFilter):
    """Pass hosts whose name ends with an even number."""

    def host_passes(self, host_state, spec):
        return int(host_state.host[-1]) % 2 == 0

    def explain(self, host_state, spec):
        return f"rack {host_state.host[-1]} is odd"
