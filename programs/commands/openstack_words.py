"""OpenStack's spellings of our commands: what people type who come from there."""

ALIASES = {
    "compute service delete": "service delete",
    "compute service list": "service list",
    "compute service set": "service set",
    "console log show": "server console",
    "hypervisor list": "host list",
    "hypervisor show": "host show",
    "hypervisor stats show": "host statistics",
    "limits show": "quota show",
    "server event list": "server events",
    "server group create": "group create",
    "server group delete": "group delete",
    "server group list": "group list",
    "server group show": "group show",
    "server migrate confirm": "server confirm",
    "server migrate revert": "server revert",
    "server migration abort": "migration abort",
    "server migration confirm": "server confirm",
    "server migration force complete": "migration force-complete",
    "server migration list": "migration list",
    "server migration revert": "server revert",
    "server migration show": "migration show",
    "server resize confirm": "server confirm",
    "server resize revert": "server revert",
}
"""Words of a command -> ours, which takes the options of both."""
